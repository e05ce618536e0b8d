// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"
#include "peer_names.hpp"
#include "workloads.hpp"

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#ifdef KTOPK_PERF_GNU_PARALLEL
#include <parallel/algorithm>
#endif

#include <algorithm>
#include <concepts>
#include <functional>

namespace ktopk::perf {

// What others offer. Every peer gets a scratch copy of the keys, which it may destroy, and puts the k largest of each row in
// front of the row (values alone: positions, which ktopk finds too, would cost it more).

/// The key types that peers are measured with: few, since each of them is long to compile.
template <class T>
inline constexpr bool peers_take =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t>;

template <class T>
void nth_element_row(T* row, Case const& c) {
  if (c.k < c.n) std::nth_element(row, row + c.k, row + c.n, std::greater<T>());
  if (c.sorted == Sorted::yes) std::sort(row, row + c.k, std::greater<T>());
}

template <class T>
void partial_sort_row(T* row, Case const& c) {
  std::partial_sort(row, row + c.k, row + c.n, std::greater<T>());
}

/// The k best so far are a heap whose top is the worst of them: std::priority_queue's own steps, without its allocations.
template <class T>
void priority_queue_row(T* row, Case const& c) {
  T* const end = row + c.k;
  std::make_heap(row, end, std::greater<T>());
  for (T* key = end; key != row + c.n; ++key) {
    if (!(*key > *row)) continue;
    std::pop_heap(row, end, std::greater<T>());
    end[-1] = *key;
    std::push_heap(row, end, std::greater<T>());
  }
  if (c.sorted == Sorted::yes) std::sort_heap(row, end, std::greater<T>());
}

#ifdef KTOPK_PERF_GNU_PARALLEL
template <class T>
void gnu_parallel_row(T* row, Case const& c) {
  if (c.k < c.n) __gnu_parallel::nth_element(row, row + c.k, row + c.n, std::greater<T>());
  if (c.sorted == Sorted::yes) __gnu_parallel::sort(row, row + c.k, std::greater<T>());
}
#endif

/// A row is one thread's work; many rows are shared out.
template <class Exec, class T, class Row>
void over_rows(Exec const& exec, KeyView<Exec, T> const& scratch, Case const& c,
               Row const& select_row) {
  if (c.rows == 1) return select_row(scratch.data(), c);
  Kokkos::parallel_for("ktopk::perf::peer", Kokkos::RangePolicy<Exec>(exec, 0, c.rows),
                       [&](std::int64_t row) { select_row(&scratch(row, 0), c); });
}

/// Kokkos has no descending sort of a View: ascending, and the k last are the best.
template <class Exec, class T>
void sort_and_choose(Exec const& exec, KeyView<Exec, T> const& scratch, Case const& c,
                     KeyView<Exec, T> const& chosen) {
  for (std::int64_t row = 0; row < c.rows; ++row) {
    auto const keys = Kokkos::subview(scratch, row, Kokkos::ALL);
    Kokkos::sort(exec, keys);
    Kokkos::deep_copy(exec, Kokkos::subview(chosen, row, Kokkos::ALL),
                      Kokkos::subview(keys, Kokkos::make_pair(c.n - c.k, c.n)));
  }
}

template <class Exec, class T>
void run_host_peer(Exec const& exec, Case const& c, KeyView<Exec, T> const& scratch) {
  if (c.method == "std::nth_element")
    return over_rows<Exec, T>(exec, scratch, c, nth_element_row<T>);
  if (c.method == "std::partial_sort")
    return over_rows<Exec, T>(exec, scratch, c, partial_sort_row<T>);
  if (c.method == "priority_queue")
    return over_rows<Exec, T>(exec, scratch, c, priority_queue_row<T>);
#ifdef KTOPK_PERF_GNU_PARALLEL
  for (std::int64_t row = 0; row < c.rows; ++row) gnu_parallel_row(&scratch(row, 0), c);
#endif
}

}  // namespace ktopk::perf
