// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/problem.hpp>

namespace ktopk::detail::cuda {

/// Whether the portable one_pass serves. It reads whole lines of rows that are not packed, as in LayoutLeft, in a kernel
/// of its own, and is faster than the tuned one where these are many and long, and than radix for five rows and more.
/// Where much is kept of a row, the tuned one may gather it key by key. Rows of more than 2^17 keys were not compared. The
/// portable choice gives rows of up to 8192 keys to bisection.
/// \see perf/results/h200-layout-left.csv, h200-cliffs-tried.csv
constexpr bool is_for_portable_one_pass(Shape const& shape) {
  if (shape.packed || shape.ragged || shape.rows < (shape.n < 1 << 20 ? 8 : 5)) return false;
  if (shape.n < 1 << 14)
    return shape.n > 4096 && shape.rows >= 512 && shape.k >= 64 && shape.k <= 512;
  return shape.n > 1 << 17 || shape.rows > (shape.n > 1 << 15 ? 128 : 256) ||
         shape.k * shape.key_bytes > 8192;
}

}  // namespace ktopk::detail::cuda
