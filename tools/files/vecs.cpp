// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/vecs.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

constexpr std::int64_t prefix = 4;

std::int64_t dimension_at(std::span<std::byte const> file, std::int64_t offset) {
  std::int32_t dimension = 0;
  std::memcpy(&dimension, file.data() + offset, sizeof dimension);
  return dimension;
}

std::int64_t first_dimension(std::span<std::byte const> file) {
  if (file.empty()) throw Fault("is empty");
  if (file.size() < prefix) throw Fault("is cut off within the dimension of row 0");
  auto const n = dimension_at(file, 0);
  if (n <= 0) throw Fault("row 0 has the impossible dimension " + std::to_string(n));
  return n;
}

void check_row(std::span<std::byte const> file, std::int64_t row, std::int64_t offset,
               std::int64_t n) {
  auto const found = dimension_at(file, offset);
  if (found != n)
    throw Fault("row " + std::to_string(row) + " has dimension " + std::to_string(found) +
                ", but row 0 has " + std::to_string(n));
}

}  // namespace

Matrix parse_vecs(std::span<std::byte const> file, KeyType type, Reading const& reading) {
  auto const size = static_cast<std::int64_t>(file.size());
  auto const n = first_dimension(file);
  auto const row_bytes = prefix + n * width(type);
  auto const rows = size / row_bytes;
  for (std::int64_t row = 0; row < rows; ++row) {
    check_row(file, row, row * row_bytes, n);
    reading(row_bytes);
  }
  if (auto const rest = size % row_bytes; rest >= prefix)
    check_row(file, rows, rows * row_bytes, n);
  if (size % row_bytes != 0)
    throw Fault("is cut off within row " + std::to_string(rows) + ": " +
                std::to_string(size % row_bytes) + " of " + std::to_string(row_bytes) +
                " bytes are there");
  return {type, file.data() + prefix, rows, n, row_bytes / width(type), 1, 2};
}

}  // namespace ktopk::tools
