// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "brute_force.hpp"

#include <ArborX.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

// The ten nearest points in three dimensions by ArborX::BruteForce and by the search of examples/brute_force.hpp, in turn;
// the least time of each. Fails if a neighbor of one is not as near as that of the other. brute_force [queries] [points] [runs]

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
constexpr int k = 10;
using Point = ArborX::Point<3, float>;
using Points = Kokkos::View<Point*, Memory>;
using Neighbors = Kokkos::View<int* [k], Memory>;

/// That of ArborX: a root of a sum of squares.
struct Distance {
  KOKKOS_FUNCTION float operator()(Point const& a, Point const& b) const {
    return ArborX::distance(a, b);
  }
};

struct SquaredDistance {
  KOKKOS_FUNCTION float operator()(Point const& a, Point const& b) const {
    float sum = 0;
    for (int d = 0; d < 3; ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
    return sum;
  }
};

struct Store {
  Neighbors neighbors;
  KOKKOS_FUNCTION void operator()(int query, int place, int point, float) const {
    neighbors(query, place) = point;
  }
};

/// The callback of ArborX is told the neighbor alone, nearest first.
struct StoreNext {
  Neighbors neighbors;
  Kokkos::View<int*, Memory> filled;
  template <class Predicate, class Value>
  KOKKOS_FUNCTION void operator()(Predicate const& predicate, Value const& value) const {
    int const query = ArborX::getData(predicate);
    neighbors(query, filled(query)++) = static_cast<int>(value.index);
  }
};

struct Predicates {
  Points queries;
};

template <>
struct ArborX::AccessTraits<Predicates> {
  using memory_space = Memory;
  static KOKKOS_FUNCTION std::size_t size(Predicates const& all) { return all.queries.extent(0); }
  static KOKKOS_FUNCTION auto get(Predicates const& all, std::size_t i) {
    return ArborX::attach(ArborX::nearest(all.queries(i), k), static_cast<int>(i));
  }
};

struct Fill {
  Points points;
  unsigned seed;
  KOKKOS_FUNCTION void operator()(int i) const {
    for (int d = 0; d < 3; ++d) {
      unsigned x = (static_cast<unsigned>(i) * 3 + static_cast<unsigned>(d) + seed) * 2654435761u;
      x = (x ^ (x >> 15)) * 2246822519u;
      points(i)[d] = static_cast<float>((x ^ (x >> 13)) >> 8) * 0x1p-24f;
    }
  }
};

struct CountFarther {
  Points queries, points;
  Neighbors ours, theirs;
  KOKKOS_FUNCTION void operator()(int q, int& count) const {
    for (int j = 0; j < k; ++j) {
      float const one = Distance{}(queries(q), points(ours(q, j)));
      count += one != Distance{}(queries(q), points(theirs(q, j)));
    }
  }
};

template <class Call>
double milliseconds(Exec const& exec, Call const& call) {
  exec.fence();
  Kokkos::Timer const timer;
  call();
  exec.fence();
  return timer.seconds() * 1000;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const m = argc > 1 ? std::atoi(argv[1]) : 1000, n = argc > 2 ? std::atoi(argv[2]) : 10000;
  int const runs = argc > 3 ? std::atoi(argv[3]) : 5;
  if (m < 1 || n < k || runs < 1) {
    std::fprintf(stderr, "brute_force: a query, %d points and a run at least, not %d, %d and %d\n",
                 k, m, n, runs);
    return 2;
  }
  Points const queries("queries", m), points("points", n);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, m), Fill{queries, 7});
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), Fill{points, 1u << 30});
  Neighbors const ours("ours", m), theirs("theirs", m);
  Kokkos::View<int*, Memory> const filled("filled", m);
  ArborX::BruteForce const brute_force(exec, ArborX::Experimental::attach_indices(points));

  double of_arborx = 1e30, with_roots = 1e30, with_squares = 1e30;
  int farther = 0;
  for (int run = 0; run < runs; ++run) {
    Kokkos::deep_copy(exec, filled, 0);
    of_arborx = std::min(of_arborx, milliseconds(exec, [&] {
                           brute_force.query(exec, Predicates{queries}, StoreNext{theirs, filled});
                         }));
    int count = 0;
    auto const compare = [&] {
      Kokkos::parallel_reduce("compare", Kokkos::RangePolicy<Exec>(exec, 0, m),
                              CountFarther{queries, points, ours, theirs}, count);
      farther += count;
    };
    with_roots = std::min(with_roots, milliseconds(exec, [&] {
                            nearest<k>(exec, queries, points, Distance{}, Store{ours});
                          }));
    compare();
    with_squares = std::min(with_squares, milliseconds(exec, [&] {
                              nearest<k>(exec, queries, points, SquaredDistance{}, Store{ours});
                            }));
    compare();
  }
  std::printf(
      "%d queries, %d points, k = %d: ArborX %.2f ms, ktopk %.2f, of squares %.2f; %d neighbors "
      "differ in distance\n",
      m, n, k, of_arborx, with_roots, with_squares, farther);
  return farther == 0 ? 0 : 1;
}
