// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "loops.hpp"

namespace ktopk::detail {

/// A test of a key's original bits, cheaper than its rank. Every key whose rank is in a range passes. Few others do,
/// unless the range begins or ends beside zero, or has both signs and ends short of the best rank. The keys that pass
/// are an interval of bits, which may wrap around. If the best keys of one sign go with the NaNs of the other, they are
/// all keys from one number on by signed order and from another on by unsigned order; so do the largest by magnitude.
template <class Bits>
class Prefilter {
 public:
  using Signed = std::make_signed_t<Bits>;

  Prefilter(OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    if (map.is_by_magnitude())
      set_by_magnitude(map, range);
    else if (map.magnitude != 0)
      set_for_floats(map, range);
    else if ((map.always & 1) == 0)
      set_interval(range.least ^ map.always, range.span);
    else
      set_interval((range.least + range.span) ^ map.always, range.span);
  }

  /// Whether no other key passes.
  bool is_exact() const { return m_is_exact; }
  /// Whether a key passes by two ends; otherwise it passes by an interval.
  bool by_ends() const { return m_by_ends; }
  Bits first() const { return m_first; }
  Bits span() const { return m_span; }
  Signed from_signed() const { return static_cast<Signed>(m_first); }
  Bits from_unsigned() const { return m_span; }
  /// For a prefilter by ends: NaN passes, this number does, and perhaps do those further from zero.
  Bits first_number() const { return m_first_number; }

  /// Whether one of `count` keys may pass; the kind is known at compile time.
  template <bool ends, int count>
  [[gnu::always_inline]] bool passes_any(Stored<Bits> const* keys) const {
    if constexpr (ends) {
      Signed highest = std::numeric_limits<Signed>::min();
      Bits greatest = 0;
      for (int j = 0; j < count; ++j) {
        auto const number = static_cast<Signed>(keys[j]);
        highest = number > highest ? number : highest;
        greatest = keys[j] > greatest ? keys[j] : greatest;
      }
      return highest >= from_signed() || greatest >= from_unsigned();
    } else {
      Bits nearest = std::numeric_limits<Bits>::max();
      for (int j = 0; j < count; ++j) {
        Bits const distance = static_cast<Bits>(keys[j] - m_first);
        nearest = distance < nearest ? distance : nearest;
      }
      return nearest <= m_span;
    }
  }
  bool passes(Bits key) const {
    return m_by_ends ? passes_any<true, 1>(&key) : passes_any<false, 1>(&key);
  }

 private:
  /// In the order largest, ranks below the sign bit are those of negative keys. The order smallest turns
  /// every sign around.
  void set_for_floats(OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    Bits const sign = map.minus_zero, zero = map.ordered(0);
    Bits const turn = (map.always & sign) != 0 ? Bits{0} : sign, other_turn = turn ^ sign;
    Bits const least = range.least, most = static_cast<Bits>(range.least + range.span);
    bool const has_nan = range.has(map.ordered_nan);
    if (least > zero)
      set_for_magnitudes(map, least ^ sign, most ^ sign, has_nan, turn);
    else if (most < zero)
      set_for_magnitudes(map, static_cast<Bits>(~most) ^ sign, static_cast<Bits>(~least) ^ sign,
                         has_nan, other_turn);
    else
      set_around_zero(map, least == sign ? sign : static_cast<Bits>(~least), most, has_nan, turn);
  }

  /// The smallest by magnitude are two intervals, and all keys pass.
  void set_by_magnitude(OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    bool const largest = (map.always & map.minus_zero) != 0;
    m_is_exact = false;
    if (!largest) return set_interval(Bits{0}, std::numeric_limits<Bits>::max());
    Bits const least = std::max<Bits>(range.least, map.ordered(0));
    Bits const magnitude = static_cast<Bits>(least ^ map.minus_zero);
    m_first_number = std::min<Bits>(magnitude, map.infinity);
    set_ends(m_first_number, static_cast<Bits>(m_first_number | map.minus_zero), 0);
  }

  /// Keys of one sign from `least` to `most`, and maybe NaN; zero is none of them, even if a rank beside that
  /// of zero looks like its other key.
  void set_for_magnitudes(OrderedBitsMap<Bits> const& map, Bits least, Bits most, bool has_nan,
                          Bits turn) {
    Bits const first_nan = static_cast<Bits>(map.infinity + 1);
    Bits const first = std::clamp<Bits>(least, 1, first_nan);
    if (has_nan) {
      m_first_number = std::min(first, map.infinity) ^ turn;
      return set_ends(first, first_nan ^ map.minus_zero, turn);
    }
    m_is_exact = first <= std::min(most, map.infinity);
    set_interval(first ^ turn, m_is_exact ? std::min(most, map.infinity) - first : 0);
  }

  /// Passes all positive keys, and negative ones down to `last`; NaNs are at both ends.
  void set_around_zero(OrderedBitsMap<Bits> const& map, Bits last, Bits most, bool has_nan,
                       Bits turn) {
    Bits const sign = map.minus_zero;
    Bits const first = has_nan ? static_cast<Bits>((map.infinity + 1) ^ sign) : Bits{0};
    bool const all = has_nan && last >= first;
    m_is_exact = has_nan && most >= static_cast<Bits>(map.infinity ^ sign);
    set_interval(first ^ turn, all ? std::numeric_limits<Bits>::max() : last - first);
  }

  // Of Bits whose arithmetic is that of int where they are narrow.
  template <class First, class Span>
  void set_interval(First first, Span span) {
    m_by_ends = false;
    m_first = static_cast<Bits>(first);
    m_span = static_cast<Bits>(span);
  }
  void set_ends(Bits from_signed, Bits from_unsigned, Bits turn) {
    m_by_ends = true;
    m_first = turn == 0 ? from_signed : static_cast<Bits>(from_unsigned ^ turn);
    m_span = turn == 0 ? from_unsigned : static_cast<Bits>(from_signed ^ turn);
  }

  bool m_is_exact = true;
  bool m_by_ends;
  Bits m_first, m_span;
  Bits m_first_number = 0;
};

}  // namespace ktopk::detail
