// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/macros.hpp>

/// How a matrix lies in a buffer.

namespace ktopk::fuzz {

/// So many elements before and after a matrix are watched.
inline constexpr std::int64_t guard = 128;

struct Element {
  bool exists = false;
  std::int64_t row = 0, column = 0;
};

/// Strides count elements.
struct Placement {
  std::int64_t rows = 0, columns = 0;
  std::int64_t shift = guard;  ///< elements before the first
  std::int64_t row = 0, step = 1;

  /// The same matrix without gaps, row by row. It needs no larger buffer.
  Placement packed() const { return {rows, columns, shift, columns, 1}; }

  KTOPK_FUNCTION std::int64_t at(std::int64_t r, std::int64_t column) const {
    return shift + r * row + column * step;
  }
  KTOPK_FUNCTION std::int64_t span() const {
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * row + (columns - 1) * step + 1;
  }
  /// Elements of the buffer.
  KTOPK_FUNCTION std::int64_t size() const { return shift + span() + guard; }

  /// The element of the matrix at this place of the buffer; between elements there is none.
  KTOPK_FUNCTION Element element(std::int64_t place) const {
    std::int64_t const offset = place - shift;
    if (offset < 0 || offset >= span()) return {};
    bool const by_rows = rows > 1 && row >= step;
    std::int64_t const outer = by_rows ? row : step, inner = by_rows ? step : row;
    std::int64_t const rest = offset % outer;
    Element const found{rest % inner == 0, by_rows ? offset / outer : rest / inner,
                        by_rows ? rest / inner : offset / outer};
    return found.row < rows && found.column < columns ? found : Element{};
  }
};

}  // namespace ktopk::fuzz
