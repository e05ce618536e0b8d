// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/raw.hpp"

#include <charconv>
#include <string>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

std::int64_t extent(std::string_view text, std::string_view shape) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0)
    throw Fault("the shape " + in_quotes(shape) + " is neither n nor rowsxn, like 1000 or 20x1000");
  return value;
}

Matrix whole_row(std::span<std::byte const> file, KeyType type) {
  auto const bytes = static_cast<std::int64_t>(file.size());
  if (bytes % width(type) != 0)
    throw Fault("holds " + std::to_string(bytes) + " bytes, which are no whole number of keys of " +
                name(type));
  auto const n = bytes / width(type);
  return {type, nullptr, 1, n, n, 1, 1};
}

}  // namespace

Matrix parse_shape(std::string_view shape) {
  auto const cross = shape.find('x');
  Matrix matrix;
  matrix.rank = cross == std::string_view::npos ? 1 : 2;
  matrix.rows = matrix.rank == 1 ? 1 : extent(shape.substr(0, cross), shape);
  matrix.n = extent(shape.substr(matrix.rank == 1 ? 0 : cross + 1), shape);
  matrix.row_stride = matrix.n;
  return matrix;
}

Matrix describe_raw(KeyType type, std::string_view shape) {
  Matrix matrix = parse_shape(shape);
  matrix.type = type;
  if (key_bytes(matrix) < 0)
    throw Fault("the shape " + in_quotes(shape) + " has more keys than can be addressed");
  return matrix;
}

Matrix parse_raw(std::span<std::byte const> file, KeyType type, std::string_view shape) {
  Matrix matrix = shape.empty() ? whole_row(file, type) : describe_raw(type, shape);
  auto const wanted = key_bytes(matrix);
  matrix.data = file.data();
  if (static_cast<std::size_t>(wanted) != file.size())
    throw Fault("holds " + std::to_string(file.size()) + " bytes, but the shape " +
                in_quotes(shape) + " of " + name(type) + " needs " + std::to_string(wanted));
  return matrix;
}

}  // namespace ktopk::tools
