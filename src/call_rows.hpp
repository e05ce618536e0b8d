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
  Problem<Bits>& problem = call.problem;
  problem.shape.rows -= rows;
  if (!problem.offsets) problem.keys = moved_by(problem.keys, rows * problem.key_row);
  problem.values = moved_by(problem.values, rows * problem.value_row);
  problem.indices = moved_by(static_cast<std::byte*>(problem.indices),
                             rows * problem.index_row * problem.shape.index_bytes);
  problem.offsets = without_first(problem.offsets, rows);
  problem.wanted = without_first(problem.wanted, rows);
  problem.counts = without_first(problem.counts, rows);
  call.host_wanted = without_first(call.host_wanted, rows);
  return call;
}

}  // namespace ktopk::detail
