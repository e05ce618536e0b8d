// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "brute_force.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

// The four nearest of 2000 points on a grid for each of 100 queries, which have many equal distances; a plain search of the
// host compares.

constexpr int k = 4, queries_count = 100, points_count = 2000;
using Exec = Kokkos::DefaultExecutionSpace;

struct Point {
  int x, y, z;
};

struct SquaredDistance {
  KOKKOS_FUNCTION int operator()(Point const& a, Point const& b) const {
    int const x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return x * x + y * y + z * z;
  }
};

// [callback]
struct Store {
  Kokkos::View<int* [k], Exec> neighbors, distances;
  KOKKOS_FUNCTION void operator()(int query, int place, int point, int distance) const {
    neighbors(query, place) = point;
    distances(query, place) = distance;
  }
};
// [end]

struct Fill {
  Kokkos::View<Point*, Exec> points;
  KOKKOS_FUNCTION void operator()(int i) const {
    points(i) = {i * 7919 % 31, i * 104729 % 37, i * 611953 % 41};
  }
};

template <class Points>
std::vector<int> plain_search(Point const& query, Points const& points) {
  std::vector<int> order(points.extent(0));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return SquaredDistance{}(query, points(a)) < SquaredDistance{}(query, points(b));
  });
  order.resize(k);
  return order;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  Kokkos::View<Point*, Exec> const points("points", points_count),
      queries("queries", queries_count);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, points_count), Fill{points});
  Kokkos::deep_copy(exec, queries,
                    Kokkos::subview(points, Kokkos::pair(1000, 1000 + queries_count)));
  Store const store{Kokkos::View<int* [k], Exec>("neighbors", queries_count),
                    Kokkos::View<int* [k], Exec>("distances", queries_count)};
  // [search]
  nearest<k>(exec, queries, points, SquaredDistance{}, store);
  // [end]
  exec.fence();

  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), store.neighbors);
  auto const squares = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), store.distances);
  auto const all = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), points);
  int differing = 0;
  for (int q = 0; q < queries_count; ++q) {
    Point const query = all(1000 + q);
    auto const expected = plain_search(query, all);
    for (int j = 0; j < k; ++j) {
      int const point = expected[static_cast<std::size_t>(j)];
      differing += found(q, j) != point || squares(q, j) != SquaredDistance{}(query, all(point));
    }
  }
  std::printf("%d queries, %d points: %d neighbors differ from a plain search\n", queries_count,
              points_count, differing);
  return differing == 0 ? 0 : 1;
}
