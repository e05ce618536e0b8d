// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/problem.hpp>

namespace ktopk::detail::cuda {

/// Whether the portable one_pass serves. It reads rows that are not packed, as in LayoutLeft, in the order of memory.
/// It takes 0.27 to 0.8 times as long as the tuned one if rows are few or long, up to 1.26 times for 1024 or more rows
/// of 2^14 keys.
/// \see perf/results/h100-layout-left.json
constexpr bool is_for_portable_one_pass(Shape const& shape) {
  return !shape.packed && !shape.ragged && shape.rows >= 8 && shape.n >= 1 << 14;
}

}  // namespace ktopk::detail::cuda
