// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ktopk/core/integer_array.hpp>
#include <ktopk/core/macros.hpp>
#include <ktopk/core/stored.hpp>

// Where keys come from. Rows say how long each row is and what keys it has; a kernel that is a template over them reads
// keys from memory, or has a caller's functor make them, with one text.

namespace ktopk::detail {

/// Rows of keys, for kernels.
///
///     R::Bits                  the unsigned integer as wide as a key
///     R::has_gaps              whether a row may lack some of its keys
///     rows.length(row)         positions in the row
///     rows.begin(row)          where the row begins among the positions of all rows
///     rows.row(row)[i]         the bits of the key at a position: always the same ones. Kernels may ask several times.
///     rows.row(row).holds(i)   if it has gaps: whether there is a key at a position
///     rows.row(row).lead(i)    how many keys key i lies behind an address that is a multiple of 64 keys; else 0
///     rows.without_first(r)    the rows from row r on
///     rows.with_room(n, a)     ragged: the same rows, taken for n positions of which `a` are absent
template <class R>
concept Rows = requires(R const& rows, std::int64_t i) {
  typename R::Bits;
  { R::has_gaps } -> std::convertible_to<bool>;
  { rows.length(i) } -> std::same_as<std::int64_t>;
  { rows.begin(i) } -> std::same_as<std::int64_t>;
  { rows.row(i)[i] } -> std::convertible_to<typename R::Bits>;
};

/// The keys of a row.
template <Rows R>
using RowOf = decltype(std::declval<R const&>().row(0));

/// Where rows begin and end: rows of one length, or ragged ones, which lie one after the other, anywhere among some keys,
/// or in the rows of a matrix.
struct RowBounds {
  std::int64_t n = 0;  // of each row; ragged: positions of all rows together
  IntegerArray
      offsets;  // ragged: where row r begins; without `ends` it ends where the next row begins
  /// Ragged: how many of n there are not. A Plan may be made for more than a call has.
  std::int64_t absent = 0;
  IntegerArray ends;  // ragged: where row r ends
  std::int64_t width =
      0;  // ragged, in a matrix: its columns, from whose first one offsets and ends count

  KTOPK_FUNCTION bool are_ragged() const { return offsets || ends; }
  /// Where a row begins among all positions, for `row` up to the number of rows. Nobody checks offsets and ends: one
  /// outside the keys counts as the nearer end of the keys. So rows may overlap.
  KTOPK_FUNCTION std::int64_t begin(std::int64_t row) const {
    return row * (are_ragged() ? width : n) + first(row);
  }
  /// A row that ends before it begins is empty.
  KTOPK_FUNCTION std::int64_t length(std::int64_t row) const {
    if (!are_ragged()) return n;
    std::int64_t const begins = first(row),
                       ended = ends ? within(ends[row]) : within(offsets[row + 1]);
    return begins < ended ? ended - begins : 0;
  }
  /// Where a row begins among the keys of which it is a part.
  KTOPK_FUNCTION std::int64_t first(std::int64_t row) const {
    return offsets ? within(offsets[row]) : 0;
  }

 private:
  KTOPK_FUNCTION std::int64_t within(std::int64_t offset) const {
    std::int64_t const end = width != 0 ? width : n - absent;
    return offset < 0 ? 0 : offset < end ? offset : end;
  }
};

/// The keys of a row in memory.
template <class KeyBits>
struct StoredRow {
  using Bits = KeyBits;
  static constexpr bool has_gaps = false;

  Stored<Bits> const* keys;
  std::int64_t step;

  KTOPK_FUNCTION Bits operator[](std::int64_t i) const { return keys[i * step]; }
  /// How many keys key i lies behind an address that is a multiple of 64 keys.
  KTOPK_FUNCTION std::int64_t lead(std::int64_t i) const {
    if (step != 1) return 0;
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(keys + i) / sizeof(Bits) %
                                     64);
  }
};

/// Keys that lie in memory, in a matrix of any strides or in ragged rows.
template <class KeyBits>
struct StoredRows : RowBounds {
  using Bits = KeyBits;
  static constexpr bool has_gaps = false;

  Stored<Bits> const* keys = nullptr;
  std::int64_t row_stride = 0, step = 1;  // in keys; 0 between ragged rows of no matrix

  KTOPK_FUNCTION Stored<Bits> const* pointer(std::int64_t row) const {
    return keys + row * row_stride + first(row) * step;
  }
  KTOPK_FUNCTION StoredRow<Bits> row(std::int64_t row) const { return {pointer(row), step}; }
  StoredRows without_first(std::int64_t rows) const {
    StoredRows rest = *this;
    if (keys != nullptr) rest.keys += rows * row_stride;
    rest.offsets = offsets.without_first(rows);
    rest.ends = ends.without_first(rows);
    return rest;
  }
  StoredRows with_room(std::int64_t n_, std::int64_t absent_) const {
    StoredRows planned = *this;
    planned.n = n_;
    planned.absent = absent_;
    return planned;
  }
  /// Whether the keys of a row lie further apart than the rows, as in LayoutLeft.
  bool are_side_by_side() const {
    auto const size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
    return !are_ragged() && size(row_stride) < size(step);
  }
  /// Whether keys of one place in neighboring rows are neighbors in memory, and those of a row are not.
  bool are_neighbors() const { return row_stride == 1 && step != 1 && n > 1 && !are_ragged(); }
};

}  // namespace ktopk::detail
