// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/matrix.hpp"

#include <algorithm>
#include <cstring>
#include <ktopk/detail/host_copy.hpp>

namespace ktopk::tools {
namespace {

constexpr std::int64_t chunk = std::int64_t{1} << 24;

template <std::size_t Width>
void gather_row(std::byte const* source, std::int64_t stride, std::int64_t n, std::byte* target) {
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(target + i * Width, source + i * stride * static_cast<std::int64_t>(Width), Width);
}

void gather_row(Matrix const& row, std::byte* target) {
  if (row.n == 0) return;
  auto const w = width(row.type);
  if (row.key_stride == 1) {
    std::memcpy(target, row.data, static_cast<std::size_t>(row.n * w));
    return;
  }
  if (w == 1) gather_row<1>(row.data, row.key_stride, row.n, target);
  if (w == 2) gather_row<2>(row.data, row.key_stride, row.n, target);
  if (w == 4) gather_row<4>(row.data, row.key_stride, row.n, target);
  if (w == 8) gather_row<8>(row.data, row.key_stride, row.n, target);
}

}  // namespace

std::int64_t product_or_negative(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

std::int64_t key_bytes(Matrix const& m) {
  return product_or_negative(product_or_negative(m.rows, m.n), width(m.type));
}

std::int64_t span_bytes(Matrix const& m) {
  if (m.rows == 0 || m.n == 0) return 0;
  return ((m.rows - 1) * m.row_stride + (m.n - 1) * m.key_stride + 1) * width(m.type);
}

Matrix some_rows(Matrix const& matrix, std::int64_t first, std::int64_t count) {
  Matrix part = matrix;
  part.rows = count;
  if (part.data != nullptr) part.data += first * matrix.row_stride * width(matrix.type);
  return part;
}

Matrix some_keys(Matrix const& matrix, std::int64_t first, std::int64_t count) {
  Matrix part = matrix;
  part.n = count;
  if (part.data != nullptr) part.data += first * matrix.key_stride * width(matrix.type);
  return part;
}

void gather(Matrix const& matrix, std::byte* target) {
  auto const row_bytes = matrix.n * width(matrix.type);
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    gather_row(some_rows(matrix, row, 1), target + row * row_bytes);
}

void read_ahead(Matrix const& matrix, Reading const& reading) {
  constexpr std::int64_t page = 4096, piece = chunk / 16;
  auto const bytes = span_bytes(matrix);
  for (std::int64_t begin = 0; begin < bytes; begin += chunk) {
    auto const end = std::min(begin + chunk, bytes);
    ktopk::detail::on_some_threads((end - begin + piece - 1) / piece, [&](std::int64_t i) {
      auto const first = begin + i * piece;
      for (std::int64_t at = first; at < std::min(first + piece, end); at += page)
        static_cast<void>(*const_cast<std::byte const volatile*>(matrix.data + at));
    });
    reading(end - begin);
  }
}

}  // namespace ktopk::tools
