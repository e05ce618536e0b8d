// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Matrices laid out in every way that a View can have.

#include "support/run.hpp"

namespace ktopk::testing {

/// rows x columns elements somewhere in an array.
struct Placement {
  std::int64_t rows, columns, first, row_stride, column_stride;

  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return first + row * row_stride + column * column_stride;
  }
  std::int64_t size() const { return first + rows * columns * 4 + 8; }
};

enum Way { right, left, part_of_right, part_of_left, every_other, every_other_down };
inline constexpr int ways = 6;

inline Placement place(int way, std::int64_t rows, std::int64_t columns) {
  switch (way) {
    case right: return {rows, columns, 0, columns, 1};
    case left: return {rows, columns, 0, 1, rows};
    case part_of_right: return {rows, columns, columns + 3, columns + 1, 1};
    case part_of_left: return {rows, columns, 3 * rows, 1, rows + 2};
    case every_other: return {rows, columns, 1, 2 * columns, 2};
    default: return {rows, columns, 5, 2, 2 * rows + 1};
  }
}

/// The array, of a matrix given row by row.
template <class T>
std::vector<T> lay_out(Placement const& where, std::vector<T> const& elements) {
  std::vector<T> all(where.size());
  for (std::int64_t row = 0; row < where.rows; ++row)
    for (std::int64_t column = 0; column < where.columns; ++column)
      all[where.at(row, column)] = elements[row * where.columns + column];
  return all;
}

/// The matrix, row by row, in an array of which all else must still be marked.
template <class T>
std::vector<T> take_out(Placement const& where, std::vector<T> const& all, bool& touched) {
  std::vector<T> elements;
  std::vector<bool> inside(all.size());
  for (std::int64_t row = 0; row < where.rows; ++row)
    for (std::int64_t column = 0; column < where.columns; ++column) {
      elements.push_back(all[where.at(row, column)]);
      inside[where.at(row, column)] = true;
    }
  T mark;
  std::memset(static_cast<void*>(&mark), 0xa5, sizeof mark);
  for (std::size_t i = 0; i < all.size(); ++i) touched |= !inside[i] && !same_bits(all[i], mark);
  return elements;
}

/// \tparam Layout  LayoutStride, or the layout of the placement: right or left
template <class T, class Layout, class Exec>
auto placed_view(Buffer<Exec> const& buffer, Placement const& where) {
  using Matrix = Kokkos::View<T**, Layout, typename Exec::memory_space,
                              Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  T* const first = buffer.template as<T>() + where.first;
  if constexpr (std::is_same_v<Layout, Kokkos::LayoutStride>)
    return Matrix(first, Layout(where.rows, where.row_stride, where.columns, where.column_stride));
  else
    return Matrix(first, Layout(where.rows, where.columns));
}

/// Calls body(layout) with the layout of a way.
template <class Body>
void with_layout(int way, Body const& body) {
  if (way == right)
    body(Kokkos::LayoutRight());
  else if (way == left)
    body(Kokkos::LayoutLeft());
  else
    body(Kokkos::LayoutStride());
}

}  // namespace ktopk::testing
