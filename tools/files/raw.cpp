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

Matrix parse_raw(std::span<std::byte const> file, KeyType type, std::string_view shape) {
  Matrix matrix = parse_shape(shape);
  matrix.type = type;
  matrix.data = file.data();
  auto const wanted = product_or_negative(product_or_negative(matrix.rows, matrix.n), width(type));
  if (wanted < 0)
    throw Fault("the shape " + in_quotes(shape) + " has more keys than can be addressed");
  if (static_cast<std::size_t>(wanted) != file.size())
    throw Fault("holds " + std::to_string(file.size()) + " bytes, but the shape " +
                in_quotes(shape) + " of " + name(type) + " needs " + std::to_string(wanted));
  return matrix;
}

}  // namespace ktopk::tools
