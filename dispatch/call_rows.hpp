// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/detail/select.hpp>

// A call without its first rows, for calls that are done in batches of rows.

namespace ktopk::detail {

template <class T>
T* moved_by(T* data, std::int64_t elements) {
  return data == nullptr ? nullptr : data + elements;
}

inline IntegerArray without_first(IntegerArray array, std::int64_t entries) {
  array.data = moved_by(static_cast<std::byte*>(array.data), entries * array.stride * array.bytes);
  return array;
}

template <class Bits>
Call<Bits> without_first_rows(Call<Bits> call, std::int64_t rows) {
  StoredProblem<Bits>& problem = call.problem;
  problem.shape.rows -= rows;
  if (!problem.rows.offsets)
    problem.rows.keys = moved_by(problem.rows.keys, rows * problem.rows.row_stride);
  problem.out.values = moved_by(problem.out.values, rows * problem.out.value_row);
  problem.out.indices = moved_by(static_cast<std::byte*>(problem.out.indices),
                                 rows * problem.out.index_row * problem.shape.index_bytes);
  problem.rows.offsets = without_first(problem.rows.offsets, rows);
  problem.wanted = without_first(problem.wanted, rows);
  problem.counts = without_first(problem.counts, rows);
  call.host_wanted = without_first(call.host_wanted, rows);
  return call;
}

}  // namespace ktopk::detail
