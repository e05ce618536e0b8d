// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/detail/select.hpp>

// A call without its first rows, for calls that are done in batches of rows.

namespace ktopk::detail {

template <Rows R>
CallOf<R> without_first_rows(CallOf<R> call, std::int64_t rows) {
  Problem<R>& problem = call.problem;
  problem.shape.rows -= rows;
  problem.rows = problem.rows.without_first(rows);
  problem.out = problem.out.without_first(rows);
  problem.wanted = problem.wanted.without_first(rows);
  problem.counts = problem.counts.without_first(rows);
  call.host_wanted = call.host_wanted.without_first(rows);
  return call;
}

}  // namespace ktopk::detail
