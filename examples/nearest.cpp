// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>
#include <ktopk/team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstdlib>

// Nearest neighbors in one kernel: a thread has a query, and keeps the ten nearest points that it has seen. No matrix of
// distances is written. Beside it what is usual: tiles of that matrix, and top_k of each; and a list by hand, into which each
// nearer point is inserted. All give the same neighbors.
// nearest [queries] [points]

using Exec = Kokkos::DefaultExecutionSpace;
constexpr int dimensions = 16, k = 10;
using Points = Kokkos::View<float* [dimensions], Kokkos::LayoutRight, Exec::memory_space>;
using Neighbors = Kokkos::View<int* [k], Kokkos::LayoutRight, Exec::memory_space>;
using Nearest = ktopk::TopK<float, int, k>;
KOKKOS_INLINE_FUNCTION constexpr ktopk::Options nearest_first() {
  return {.order = ktopk::Order::smallest};
}

struct Query {
  float at[dimensions];
  KOKKOS_FUNCTION Query(Points const& points, int q) {
    for (int d = 0; d < dimensions; ++d) at[d] = points(q, d);
  }
  KOKKOS_FUNCTION float distance(Points const& points, int p) const {
    float sum = 0;
    for (int d = 0; d < dimensions; ++d) {
      float const difference = at[d] - points(p, d);
      sum += difference * difference;
    }
    return sum;
  }
};

struct Fused {
  Points queries, points;
  Neighbors neighbors;
  KOKKOS_FUNCTION void operator()(int q) const {
    Query const query(queries, q);
    auto best = Nearest::none(nearest_first());
    for (int p = 0; p < static_cast<int>(points.extent(0)); ++p)
      best.offer(query.distance(points, p), p);
    for (int i = 0; i < k; ++i) neighbors(q, i) = best.indices[i];
  }
};

/// What is written without ktopk.
struct ByHand {
  Points queries, points;
  Neighbors neighbors;
  KOKKOS_FUNCTION void operator()(int q) const {
    Query const query(queries, q);
    float distances[k];
    int found[k];
    for (float& distance : distances) distance = Kokkos::Experimental::infinity_v<float>;
    for (int p = 0; p < static_cast<int>(points.extent(0)); ++p) {
      float const distance = query.distance(points, p);
      int slot = k;
      for (; slot > 0 && distance < distances[slot - 1]; --slot) {
        if (slot == k) continue;
        distances[slot] = distances[slot - 1];
        found[slot] = found[slot - 1];
      }
      if (slot == k) continue;
      distances[slot] = distance;
      found[slot] = p;
    }
    for (int i = 0; i < k; ++i) neighbors(q, i) = found[i];
  }
};

struct Tile {
  Points queries, points;
  Kokkos::View<float**, Kokkos::LayoutRight, Exec::memory_space> distances;
  int first;
  KOKKOS_FUNCTION void operator()(int q, int p) const {
    distances(q, p) = Query(queries, first + q).distance(points, p);
  }
};

void in_tiles(Exec const& exec, Points const& queries, Points const& points,
              Neighbors const& neighbors) {
  int const all = static_cast<int>(queries.extent(0)), n = static_cast<int>(points.extent(0));
  int const rows = all < 256 ? all : 256;
  Kokkos::View<float**, Kokkos::LayoutRight, Exec::memory_space> const tile("tile", rows, n);
  using Range = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>;
  for (int first = 0; first < all; first += rows) {
    int const count = first + rows < all ? rows : all - first;
    Kokkos::parallel_for("tile", Range(exec, {0, 0}, {count, n}),
                         Tile{queries, points, tile, first});
    ktopk::top_k(exec, Kokkos::subview(tile, Kokkos::pair(0, count), Kokkos::ALL), ktopk::nothing,
                 Kokkos::subview(neighbors, Kokkos::pair(first, first + count), Kokkos::ALL),
                 nearest_first());
  }
}

struct Fill {
  Points points;
  unsigned seed;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int d = 0; d < dimensions; ++d) {
      unsigned x =
          (static_cast<unsigned>(i) * dimensions + static_cast<unsigned>(d) + seed) * 2654435761u;
      x = (x ^ (x >> 15)) * 2246822519u;
      points(i, d) = static_cast<float>((x ^ (x >> 13)) >> 8) * 0x1p-24f;
    }
  }
};

template <class Call>
double milliseconds(Call const& call) {
  call();
  Kokkos::fence();
  Kokkos::Timer const timer;
  call();
  Kokkos::fence();
  return timer.seconds() * 1000;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const m = argc > 1 ? std::atoi(argv[1]) : 500, n = argc > 2 ? std::atoi(argv[2]) : 5000;
  Points const queries("queries", m), points("points", n);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, m), Fill{queries, 7});
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), Fill{points, 1u << 30});

  Neighbors const fused("fused", m), tiled("tiled", m), by_hand("by hand", m);
  double const fused_ms = milliseconds([&] {
    Kokkos::parallel_for("nearest", Kokkos::RangePolicy<Exec>(exec, 0, m),
                         Fused{queries, points, fused});
  });
  double const by_hand_ms = milliseconds([&] {
    Kokkos::parallel_for("by hand", Kokkos::RangePolicy<Exec>(exec, 0, m),
                         ByHand{queries, points, by_hand});
  });
  double const tiled_ms = milliseconds([&] { in_tiles(exec, queries, points, tiled); });

  auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), fused);
  auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tiled);
  auto const c = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), by_hand);
  int different = 0;
  for (int q = 0; q < m; ++q)
    for (int i = 0; i < k; ++i) different += a(q, i) == b(q, i) && a(q, i) == c(q, i) ? 0 : 1;
  std::printf(
      "%d queries, %d points: one kernel %.2f ms, tiles and top_k %.2f ms, a list by hand %.2f ms, "
      "%d neighbors differ\n",
      m, n, fused_ms, tiled_ms, by_hand_ms, different);
  return different == 0 ? 0 : 1;
}
