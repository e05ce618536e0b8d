// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/detail/key_traits.hpp>
#include <ktopk/detail/macros.hpp>
#include <ktopk/detail/ordered_bits.hpp>
#include <ktopk/detail/stored.hpp>

/// \file
/// The sizes and the pointers of a selection. Needs no Kokkos.

namespace ktopk {

/// The sizes of a selection. Nothing else of the input decides which algorithm runs and how much workspace it needs.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t n = 0;  ///< keys in a row
  std::int64_t k = 0;  ///< selected keys of a row; the largest k if k differs by row
  int key_bytes = 0;
  int index_bytes = 8;
  bool ragged = false;     ///< rows differ in length; n is then the number of all keys
  bool k_per_row = false;  ///< rows differ in k
  /// Whether neighbors in a row are neighbors in memory. Algorithm::automatic chooses an algorithm that suits such
  /// keys; no workspace depends on it.
  bool packed = true;

  /// Keys of all rows together.
  constexpr std::int64_t keys() const { return ragged ? n : rows * n; }

  friend bool operator==(Shape const&, Shape const&) = default;
};

/// The shape of `rows` rows of `n` keys of type T, of which `k` are selected in each row, with indices of type I.
/// Set `ragged` or `k_per_row` in it if rows differ.
template <class T, class I = std::int64_t>
constexpr Shape make_shape(std::int64_t rows, std::int64_t n, std::int64_t k) {
  detail::require_key_type<T>();
  static_assert(detail::Index<I>, "ktopk: not an index type: indices are 32- or 64-bit integers");
  return {rows, n, k, static_cast<int>(sizeof(T)), static_cast<int>(sizeof(I))};
}

namespace detail {

/// A strided array of 32- or 64-bit integers that may be absent.
struct IntegerArray {
  void* data = nullptr;
  std::int64_t stride = 1;
  int bytes = 0;

  KTOPK_FUNCTION explicit operator bool() const { return data != nullptr; }
  KTOPK_FUNCTION std::int64_t operator[](std::int64_t i) const {
    return bytes == 4 ? static_cast<Stored<std::int32_t> const*>(data)[i * stride]
                      : static_cast<Stored<std::int64_t> const*>(data)[i * stride];
  }
  KTOPK_FUNCTION void store(std::int64_t i, std::int64_t value) const {
    if (bytes == 4)
      static_cast<Stored<std::int32_t>*>(data)[i * stride] = static_cast<std::int32_t>(value);
    else
      static_cast<Stored<std::int64_t>*>(data)[i * stride] = value;
  }
};

/// A selection with its memory. Keys are bits here; `rank` knows what they mean.
/// All strides count elements.
template <class Bits>
struct Problem {
  Shape shape;
  OrderedBitsMap<Bits> rank;
  Bits worst;
  Stored<Bits> const* keys = nullptr;
  std::int64_t key_row = 0, key_step = 1;
  Stored<Bits>* values = nullptr;
  std::int64_t value_row = 0, value_step = 1;
  void* indices = nullptr;
  std::int64_t index_row = 0, index_step = 1;
  IntegerArray offsets;  // ragged: row r holds the keys row_begin(r) .. row_begin(r + 1)
  IntegerArray wanted;   // how many each row asks for
  IntegerArray counts;   // out: how many keys of each row are selected
  /// Ragged: how many of shape.n keys there are not. A Plan may be made for more than a call has.
  std::int64_t absent = 0;

  /// Where a row begins among all keys, for `row` up to the number of rows. Nobody checks offsets: one outside
  /// the keys counts as the nearer end of the keys. So rows whose offsets descend may overlap others.
  KTOPK_FUNCTION std::int64_t row_begin(std::int64_t row) const {
    if (!offsets) return row * shape.n;
    std::int64_t const offset = offsets[row], end = shape.n - absent;
    return offset < 0 ? 0 : offset < end ? offset : end;
  }
  /// A row that ends before it begins is empty.
  KTOPK_FUNCTION std::int64_t length(std::int64_t row) const {
    if (!offsets) return shape.n;
    std::int64_t const begin = row_begin(row), end = row_begin(row + 1);
    return begin < end ? end - begin : 0;
  }
  /// How many keys of the row are selected.
  KTOPK_FUNCTION std::int64_t selected_count(std::int64_t row) const {
    std::int64_t const keys_in_row = length(row);
    std::int64_t const most = keys_in_row < shape.k ? keys_in_row : shape.k;
    if (!wanted) return most;
    std::int64_t const asked = wanted[row] < 0 ? 0 : wanted[row];
    return asked < most ? asked : most;
  }
  KTOPK_FUNCTION Stored<Bits> const* row_keys(std::int64_t row) const {
    return keys + (offsets ? row_begin(row) * key_step : row * key_row);
  }
  KTOPK_FUNCTION void store(std::int64_t row, std::int64_t slot, Bits key,
                            std::uint64_t position) const {
    if (values) values[row * value_row + slot * value_step] = key;
    if (!indices) return;
    std::int64_t const at = row * index_row + slot * index_step;
    if (shape.index_bytes == 4)
      static_cast<Stored<std::uint32_t>*>(indices)[at] = static_cast<std::uint32_t>(position);
    else
      static_cast<Stored<std::uint64_t>*>(indices)[at] = position;
  }
  /// Fills a slot for which the row has no key. An index of all ones is -1, or the largest unsigned integer.
  KTOPK_FUNCTION void store_missing(std::int64_t row, std::int64_t slot) const {
    store(row, slot, worst, ~std::uint64_t{0});
  }
};

}  // namespace detail
}  // namespace ktopk
