// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// Keys where they lie: rows x n of them, strides counted in keys. Owns nothing.
struct Matrix {
  KeyType type = KeyType::f32;
  std::byte const* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t row_stride = 0;
  std::int64_t key_stride = 1;
  int rank = 2;  ///< 1 if the file holds a vector rather than a matrix of one row
};

/// Called with the number of further bytes read.
using Reading = std::function<void(std::int64_t bytes)>;

/// Bytes of all keys, or -1 if that is more than 63 bits.
std::int64_t key_bytes(Matrix const& matrix);

/// Bytes from the first key to the end of the last one.
std::int64_t span_bytes(Matrix const& matrix);

/// The rows first, …, first + count - 1.
Matrix some_rows(Matrix const& matrix, std::int64_t first, std::int64_t count);

/// The keys first, …, first + count - 1 of every row.
Matrix some_keys(Matrix const& matrix, std::int64_t first, std::int64_t count);

/// Whether the keys may be read through a pointer to their type.
inline bool is_aligned(Matrix const& matrix) {
  return reinterpret_cast<std::uintptr_t>(matrix.data) %
             static_cast<std::uintptr_t>(width(matrix.type)) ==
         0;
}

/// Copies the keys, row after row without gaps, to target (rows * n keys). Any stride, any alignment.
void gather(Matrix const& matrix, std::byte* target);

/// Touches every page in order, so that a mapped file is in memory when the keys are worked on.
void read_ahead(Matrix const& matrix, Reading const& reading);

/// a * b if it fits in 63 bits, else -1.
std::int64_t product_or_negative(std::int64_t a, std::int64_t b);

}  // namespace ktopk::tools
