// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/select.hpp>

#include "../portable/group/group.hpp"
#include "../portable/run/launch.hpp"

// What a call's options add behind its kernels: slots that hold no key after all.

namespace ktopk::detail {

/// Takes the NaNs out of a sorted row, where they come last: fills their slots as those that a short row leaves open.
template <Rows R>
struct TakeOutNaN {
  Problem<R> problem;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index(), k = problem.shape.k;
    std::int64_t first = k, last = -1;
    for (std::int64_t slot = group.rank(); slot < k && first == k; slot += group.size())
      if (is_nan(row, slot)) first = slot;
    group.merge_extremes(first, last);
    group.barrier();
    each(group, first, k, [&](std::int64_t slot) { problem.out.store_missing(row, slot); });
    if (group.rank() == 0 && first < k && problem.counts) problem.counts.store(row, first);
  }

 private:
  KOKKOS_FUNCTION bool is_nan(std::int64_t row, std::int64_t slot) const {
    if (problem.out.values != nullptr)
      return problem.rank.is_nan(
          problem.out.values[row * problem.out.value_row + slot * problem.out.value_step]);
    std::int64_t const position = problem.out.position(row, slot);
    return position >= 0 && problem.rank.is_nan(problem.rows.row(row)[position]);
  }
};

/// Fills the columns of the output that are more than a row's keys.
template <class Bits>
struct FillColumns {
  Output<Bits> out;
  std::int64_t first, columns;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const each = columns - first;
    out.store_missing(i / each, first + i % each);
  }
};

template <class Exec, Rows R>
void finish_call(Exec const& exec, CallOf<R> const& call) {
  Problem<R> const& problem = call.problem;
  Shape const& shape = problem.shape;
  if (call.skips_nan && shape.k > 0)
    launch("ktopk::select::take_out_nan", exec, shape.rows, 0, TakeOutNaN<R>{problem});
  if (call.columns > shape.k)
    launch_each("ktopk::select::fill_columns", exec, shape.rows * (call.columns - shape.k),
                FillColumns<typename R::Bits>{problem.out, shape.k, call.columns});
}

}  // namespace ktopk::detail
