// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team.hpp>

#include "show.hpp"

constexpr int k = 3;
using Nearest = ktopk::TopK<int, int, k>;
using Points = Kokkos::View<int* [2]>;

KOKKOS_FUNCTION int distance(Points const& a, int i, Points const& b, int j) {
  int const x = a(i, 0) - b(j, 0), y = a(i, 1) - b(j, 1);
  return x * x + y * y;
}

int main() {
  Kokkos::ScopeGuard const kokkos;
  int const m = 4, n = 1000;
  Points const queries("queries", m), points("points", n);
  Kokkos::View<int* [k]> const neighbors("neighbors", m), squares("squares", m);
  Kokkos::parallel_for(
      n, KOKKOS_LAMBDA(int i) {
        points(i, 0) = i * 7919 % 1009;
        points(i, 1) = i * 104729 % 1013;
        if (i < m) queries(i, 0) = queries(i, 1) = 200 * (i + 1);
      });

  // A thread has a query, and keeps the nearest of all points.
  Kokkos::parallel_for(
      m, KOKKOS_LAMBDA(int q) {
        auto best = Nearest::none({.order = ktopk::Order::smallest});
        for (int p = 0; p < n; ++p) best.offer(distance(queries, q, points, p), p);
        for (int j = 0; j < k; ++j) {
          neighbors(q, j) = best.indices[j];
          squares(q, j) = best.values[j];
        }
      });

  show("neighbors", neighbors);
  show("squared distances", squares);
}
