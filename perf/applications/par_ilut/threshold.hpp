// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/order_statistics.hpp>

#include <Kokkos_Core.hpp>

// The two ways to select the threshold of par_ilut.

// [ktopk]
/// The magnitude of this rank among `values`; rank 0 is the least.
template <class Exec, class Values>
auto threshold_by_ktopk(Exec const& exec, Values const& values, std::int64_t rank) {
  using T = typename Values::non_const_value_type;
  Kokkos::View<T, typename Values::memory_space> const threshold("threshold");
  ktopk::kth(exec, values, rank + 1, threshold,
             {.order = ktopk::Order::smallest, .by = ktopk::By::magnitude});
  T value{};
  Kokkos::deep_copy(value, threshold);
  return Kokkos::fabs(value);
}
// [end]

/// Whose threshold par_ilut takes, how long it waited for all of them, and how they compared. `undefined`: there was a NaN
/// among the values, for which std::nth_element is not defined.
struct Selection {
  enum class Way { theirs, ktopk, both } way = Way::theirs;
  double seconds = 0;
  int calls = 0, differing = 0, undefined = 0;
};
inline Selection selection;

template <class Values>
struct IsNan {
  Values values;
  KOKKOS_FUNCTION void operator()(int i, int& count) const { count += Kokkos::isnan(values(i)); }
};

template <class Exec, class Values>
bool has_nan(Exec const& exec, Values const& values) {
  int count = 0;
  Kokkos::parallel_reduce(Kokkos::RangePolicy<Exec>(exec, 0, static_cast<int>(values.extent(0))),
                          IsNan<Values>{values}, count);
  return count > 0;
}

/// In place of `threshold_select`, which `theirs` calls.
template <class Exec, class Values, class Theirs>
auto selected_threshold(Exec const& exec, Values const& values, std::int64_t rank,
                        Theirs const& theirs) {
  Kokkos::fence();
  Kokkos::Timer const timer;
  bool const is_theirs = selection.way == Selection::Way::theirs;
  auto const threshold = is_theirs ? theirs() : threshold_by_ktopk(exec, values, rank);
  selection.seconds += timer.seconds();
  ++selection.calls;
  if (selection.way == Selection::Way::both) {
    if (has_nan(exec, values))
      ++selection.undefined;
    else if (theirs() != threshold)
      ++selection.differing;
  }
  return threshold;
}
