// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/one_pass_plan.hpp>

#include "rows_in_cache.hpp"

// The choice among the implementations for hosts. It minimizes the worst-case slowdown over the measured inputs: nothing
// is known of the keys here. See perf/results/host-choice*.csv.

namespace ktopk::detail::host {

/// Up to which k a heap, which few keys reach, costs less than one_pass's or radix's sample. A heap's inserts are expensive,
/// but a list of what several threads found is shorter by it.
/// \see perf/results/host-few-winners*.csv
inline std::int64_t most_in_heap(bool one_thread, std::int64_t n) {
  if (one_thread) return 128;
  return n < (1 << 17) || n >= (1 << 21) ? 128 : 64;
}

/// Whether what one_pass keeps, which is more than k by a share that shrinks with k, is little beside the row.
/// \see perf/results/host-many-winners*.csv
inline bool are_few_selected(Shape const& shape) { return shape.k <= shape.n / 32; }

/// Whether one_pass reads long rows by tiles if they lie side by side.
/// \see perf/results/host-side-by-side.csv
inline bool are_read_by_tiles(Shape const& shape) {
  return !shape.packed && shape.rows >= least_in_tile && one_pass_serves(shape);
}

inline Algorithm fastest(Device const& device, Shape const& shape, bool one_pass_is_tuned) {
  if (shape.ragged || are_short_rows(shape)) return Algorithm::one_pass;
  if (shape.packed && are_rows_in_cache(device, shape)) return Algorithm::one_pass;
  if (one_pass_is_tuned && are_read_by_tiles(shape)) return Algorithm::one_pass;
  bool const one_thread = host::parts_of_row(device, shape.rows, shape.n) == 1;
  if (shape.k <= most_in_heap(one_thread, shape.n)) return Algorithm::heap;
  return are_few_selected(shape) && one_pass_is_tuned ? Algorithm::one_pass : Algorithm::radix;
}

/// \param serves  whether the implementation for hosts of an algorithm supports the shape
template <class Serves>
std::optional<Algorithm> choose(Device const& device, Shape const& shape, Serves const& serves) {
  Algorithm const algorithm = fastest(device, shape, serves(Algorithm::one_pass));
  return serves(algorithm) ? std::optional(algorithm) : std::nullopt;
}

}  // namespace ktopk::detail::host
