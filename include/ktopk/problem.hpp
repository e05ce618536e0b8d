// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/key_traits.hpp>

/// \file
/// The sizes of a selection. Needs no Kokkos.

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
  bool computed =
      false;  ///< a functor makes the keys, or a mask leaves some: see <ktopk/computed.hpp>
  bool masked = false;       ///< rows may lack keys: a mask says which
  bool for_bitonic = false;  ///< computed, and bitonic may serve: see <ktopk/computed_bitonic.hpp>

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

}  // namespace ktopk
