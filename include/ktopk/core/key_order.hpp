// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include <ktopk/core/key_traits.hpp>
#include <ktopk/core/macros.hpp>
#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/options.hpp>

namespace ktopk::detail {

/// How keys of a type are compared inside a kernel.
template <class T>
class KeyOrder {
 public:
  using Bits = bits_of<T>;

  KTOPK_FUNCTION constexpr explicit KeyOrder(Options const& options)
      : m_map(by_magnitude_of_integers(options) ? map_of_magnitudes(options)
                                                : make_ordered_bits_map<T>(options)),
        m_worst(worst_key<T>(options)),
        m_magnitudes(by_magnitude_of_integers(options)),
        m_skips_nan(skips_nan<T>(options)),
        m_highest_wins(options.ties == Ties::highest_index) {}

  KTOPK_FUNCTION Bits rank(T key) const { return m_map(compared(key)); }
  /// Whether compared() returns a key's own bits.
  KTOPK_FUNCTION bool compares_stored_bits() const { return !m_magnitudes; }
  /// The bits that are compared, of which the map makes the rank.
  KTOPK_FUNCTION Bits compared(T key) const {
    auto const bits = std::bit_cast<Bits>(key);
    if constexpr (KeyTraits<T>::kind != KeyKind::signed_integer) return bits;
    bool const is_negative = bits >> (std::numeric_limits<Bits>::digits - 1) != 0;
    return m_magnitudes && is_negative ? static_cast<Bits>(-bits) : bits;
  }
  /// Whether a key may reach a rank of which this is reaching(rank); found in fewer steps than its rank.
  KTOPK_FUNCTION bool may_reach(OrderedRange<Bits> range, T key) const {
    return range.contains(m_map.ordered(compared(key)));
  }
  KTOPK_FUNCTION OrderedRange<Bits> reaching(Bits least) const { return m_map.reaching(least); }
  /// Whether a key may be selected: NaN may not, if it is skipped.
  KTOPK_FUNCTION bool is_key(Bits rank) const { return !m_skips_nan || rank != 0; }
  /// Whether a key comes before another.
  template <class I>
  KTOPK_FUNCTION bool is_before(Bits rank, I index, Bits other_rank, I other_index) const {
    if (rank != other_rank) return rank > other_rank;
    return m_highest_wins ? index > other_index : index < other_index;
  }
  KTOPK_FUNCTION bool highest_wins() const { return m_highest_wins; }
  /// The least rank of a later key that comes before one of rank `last`; or, if there is none, `last`.
  KTOPK_FUNCTION Bits least_after(Bits last) const {
    bool const is_greatest = last == std::numeric_limits<Bits>::max();
    return m_highest_wins || is_greatest ? last : static_cast<Bits>(last + 1);
  }
  KTOPK_FUNCTION T worst() const { return std::bit_cast<T>(m_worst); }
  KTOPK_FUNCTION OrderedBitsMap<Bits> const& map() const { return m_map; }

 private:
  KTOPK_FUNCTION static constexpr bool by_magnitude_of_integers(Options const& options) {
    return options.by == By::magnitude && KeyTraits<T>::kind == KeyKind::signed_integer;
  }
  KTOPK_FUNCTION static constexpr OrderedBitsMap<Bits> map_of_magnitudes(Options const& options) {
    return make_ordered_bits_map<Bits>(options);
  }

  OrderedBitsMap<Bits> m_map;
  Bits m_worst;
  bool m_magnitudes, m_skips_nan, m_highest_wins;
};

}  // namespace ktopk::detail
