// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/team.hpp>

#include <Kokkos_Core.hpp>

// A search by brute force, with the arguments of one of ArborX: points, queries, and a callback for each neighbor. The
// distance is a functor, too. It has one kernel, and writes no distances.

template <int K, class Queries, class Points, class Distance, class Callback>
struct NearestSearch {
  Queries queries;
  Points points;
  Distance distance;
  Callback callback;

  KOKKOS_FUNCTION void operator()(int q) const {
    using Key = decltype(distance(queries(q), points(0)));
    auto const query = queries(q);
    auto best = ktopk::TopK<Key, int, K>::none({.order = ktopk::Order::smallest});
    for (int p = 0; p < static_cast<int>(points.extent(0)); ++p) {
      Key const key = distance(query, points(p));
      // Most points are farther than all that are kept. This comparison is faster than offer, which follows the options.
      if (!(key > best.values[K - 1])) best.offer(key, p);
    }
    for (int j = 0; j < best.count; ++j) callback(q, j, best.indices[j], best.values[j]);
  }
};

/// Calls callback(query, place, point, distance) for the K nearest points of each query, place by place. Of equal distances
/// the first point comes first. Enqueues one kernel, allocates nothing and does not fence.
template <int K, class Exec, class Queries, class Points, class Distance, class Callback>
void nearest(Exec const& exec, Queries const& queries, Points const& points,
             Distance const& distance, Callback const& callback) {
  using Search = NearestSearch<K, Queries, Points, Distance, Callback>;
  auto const count = static_cast<int>(queries.extent(0));
  Kokkos::parallel_for("nearest", Kokkos::RangePolicy<Exec>(exec, 0, count),
                       Search{queries, points, distance, callback});
}
