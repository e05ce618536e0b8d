// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ktopk/core/key_traits.hpp>
#include <ktopk/core/rows.hpp>

// Rows whose keys a caller's functor makes, and rows of which a mask leaves a part. They nest. A row made of another has
// it as `inner`, so that a kernel reads the inner row as it reads any, several keys at a time.

namespace ktopk::detail {

/// A row of rows that are made of others.
/// \tparam Own  the rows, which outlive this
template <class Own>
struct ComputedRow {
  using Bits = typename Own::Bits;
  static constexpr bool has_gaps = Own::has_gaps;
  static constexpr bool has_own_gaps = Own::has_own_gaps;

  RowOf<typename Own::Inner> inner;
  Own const* own;
  std::int64_t number;

  KTOPK_FUNCTION Bits operator[](std::int64_t i) const { return made_of(inner[i], i); }
  template <class InnerBits>
  KTOPK_FUNCTION Bits made_of(InnerBits key, std::int64_t i) const {
    return own->made_of(key, number, i);
  }
  /// Whether these rows keep a position, whatever the inner ones do.
  KTOPK_FUNCTION bool keeps(std::int64_t i) const { return own->keeps(number, i); }
  KTOPK_FUNCTION bool holds(std::int64_t i) const {
    if constexpr (Own::Inner::has_gaps)
      if (!inner.holds(i)) return false;
    if constexpr (has_own_gaps) return keeps(i);
    return true;
  }
  KTOPK_FUNCTION std::int64_t lead(std::int64_t i) const { return inner.lead(i); }
};

/// What rows that are made of others have in common with these.
template <Rows InnerRows>
struct RowsOver {
  using Inner = InnerRows;
  Inner inner;

  KTOPK_FUNCTION std::int64_t length(std::int64_t row) const { return inner.length(row); }
  KTOPK_FUNCTION std::int64_t begin(std::int64_t row) const { return inner.begin(row); }
  bool are_side_by_side() const { return inner.are_side_by_side(); }
  bool are_neighbors() const { return inner.are_neighbors(); }
};

/// The keys f(key) of type Out.
template <Rows InnerRows, class In, class Out, class F>
struct TransformedRows : RowsOver<InnerRows> {
  using Bits = bits_of<Out>;
  static constexpr bool has_gaps = InnerRows::has_gaps;
  static constexpr bool has_own_gaps = false;

  F f;

  KTOPK_FUNCTION ComputedRow<TransformedRows> row(std::int64_t row) const {
    return {this->inner.row(row), this, row};
  }
  template <class InnerBits>
  KTOPK_FUNCTION Bits made_of(InnerBits key, std::int64_t, std::int64_t) const {
    return std::bit_cast<Bits>(static_cast<Out>(f(std::bit_cast<In>(key))));
  }
  TransformedRows without_first(std::int64_t rows) const {
    return {{this->inner.without_first(rows)}, f};
  }
  TransformedRows with_room(std::int64_t n, std::int64_t absent) const {
    return {{this->inner.with_room(n, absent)}, f};
  }
};

/// The keys of the positions for which mask(row, i) is true.
template <Rows InnerRows, class Mask>
struct MaskedRows : RowsOver<InnerRows> {
  using Bits = typename InnerRows::Bits;
  static constexpr bool has_gaps = true;
  static constexpr bool has_own_gaps = true;

  Mask mask;
  std::int64_t first_row = 0;

  KTOPK_FUNCTION ComputedRow<MaskedRows> row(std::int64_t row) const {
    return {this->inner.row(row), this, row};
  }
  KTOPK_FUNCTION Bits made_of(Bits key, std::int64_t, std::int64_t) const { return key; }
  KTOPK_FUNCTION bool keeps(std::int64_t row, std::int64_t i) const {
    return mask(first_row + row, i);
  }
  MaskedRows without_first(std::int64_t rows) const {
    return {{this->inner.without_first(rows)}, mask, first_row + rows};
  }
  MaskedRows with_room(std::int64_t n, std::int64_t absent) const {
    return {{this->inner.with_room(n, absent)}, mask, first_row};
  }
};

/// The magnitudes of signed integers in memory. What is selected keeps its sign.
template <class KeyBits>
struct MagnitudeRows : RowsOver<StoredRows<KeyBits>> {
  using Bits = KeyBits;
  static constexpr bool has_gaps = false;
  static constexpr bool has_own_gaps = false;
  static constexpr bool are_magnitudes = true;

  KTOPK_FUNCTION ComputedRow<MagnitudeRows> row(std::int64_t row) const {
    return {this->inner.row(row), this, row};
  }
  KTOPK_FUNCTION Bits made_of(Bits key, std::int64_t, std::int64_t) const {
    bool const is_negative = key >> (std::numeric_limits<Bits>::digits - 1) != 0;
    return is_negative ? static_cast<Bits>(-key) : key;
  }
  MagnitudeRows without_first(std::int64_t rows) const {
    return {{this->inner.without_first(rows)}};
  }
  MagnitudeRows with_room(std::int64_t n, std::int64_t absent) const {
    return {{this->inner.with_room(n, absent)}};
  }
};

/// Keys f(row, i) that lie nowhere.
template <class Out, class F>
struct GeneratedRows {
  using Bits = bits_of<Out>;
  static constexpr bool has_gaps = false;

  F f;
  std::int64_t n;
  std::int64_t first_row = 0;

  struct Row {
    using Bits = bits_of<Out>;
    static constexpr bool has_gaps = false;
    GeneratedRows const* own;
    std::int64_t number;
    KTOPK_FUNCTION Bits operator[](std::int64_t i) const {
      return std::bit_cast<Bits>(static_cast<Out>(own->f(own->first_row + number, i)));
    }
    KTOPK_FUNCTION std::int64_t lead(std::int64_t) const { return 0; }
  };

  KTOPK_FUNCTION std::int64_t length(std::int64_t) const { return n; }
  KTOPK_FUNCTION std::int64_t begin(std::int64_t row) const { return row * n; }
  KTOPK_FUNCTION Row row(std::int64_t row) const { return {this, row}; }
  bool are_side_by_side() const { return false; }
  bool are_neighbors() const { return false; }
  GeneratedRows without_first(std::int64_t rows) const { return {f, n, first_row + rows}; }
  GeneratedRows with_room(std::int64_t, std::int64_t) const { return *this; }
};

}  // namespace ktopk::detail
