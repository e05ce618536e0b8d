// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include <ktopk/core/key_traits.hpp>
#include <ktopk/core/macros.hpp>
#include <ktopk/options.hpp>

// The only file that knows of direction, sign, NaN and the two zeros. Every key becomes an unsigned integer, its
// ordered bits (its rank, for short): larger is better. Ordered bits and position together make one integer, the
// composite key. No two composite keys of a row are equal, so "the k best by the tie rule" are the k largest composite
// keys, and rows of equal keys are nothing special to any algorithm.

namespace ktopk::detail {

/// Numbers from `low` to `low` + `span`, modulo 2^width.
template <class Bits>
struct OrderedRange {
  Bits low, span;
  KTOPK_FUNCTION constexpr bool contains(Bits number) const {
    return static_cast<Bits>(number - low) <= span;
  }
};

/// Maps the bits of a key to its ordered bits, by masks alone: one compiled implementation serves every key type of its
/// width.
template <class Bits>
struct OrderedBitsMap {
  Bits negative;    // flipped in keys whose top bit is set
  Bits always;      // flipped in every key
  Bits magnitude;   // floating point: all but the sign; otherwise 0
  Bits infinity;    // a magnitude above it is NaN
  Bits minus_zero;  // becomes plus zero
  Bits ordered_nan;

  KTOPK_FUNCTION constexpr Bits operator()(Bits key) const {
    Bits const plain = key == minus_zero ? Bits{0} : key;
    Bits const rank = ordered(plain);
    return is_nan(key) ? ordered_nan : rank;
  }

  /// The ordered bits, without regard to NaN and minus zero.
  KTOPK_FUNCTION constexpr Bits ordered(Bits key) const {
    constexpr int top = std::numeric_limits<Bits>::digits - 1;
    Bits const sign_fill = static_cast<Bits>(Bits{0} - static_cast<Bits>(key >> top));
    return static_cast<Bits>(key ^ static_cast<Bits>((sign_fill & negative) ^ always));
  }

  KTOPK_FUNCTION constexpr bool is_nan(Bits key) const {
    return static_cast<Bits>(key & magnitude) > infinity;
  }

  /// Whether the map is flipped() for all keys, as it is for integers.
  KTOPK_FUNCTION constexpr bool is_flip() const { return negative == 0 && magnitude == 0; }
  KTOPK_FUNCTION constexpr Bits flipped(Bits key) const { return static_cast<Bits>(key ^ always); }

  /// Whether ordered() returns this for a key that is not NaN.
  KTOPK_FUNCTION constexpr bool is_number(Bits ordered_key) const {
    return magnitude == 0 || (first_number() <= ordered_key && ordered_key <= last_number());
  }

  /// The range that holds ordered(key) for all keys whose rank is `least` or greater, and for no others but zeros: a
  /// test that is cheaper than to find the rank. Numbers lie between both kinds of NaN.
  /// \param least  the rank of a key
  KTOPK_FUNCTION constexpr OrderedRange<Bits> reaching(Bits least) const {
    if (magnitude == 0) return {least, static_cast<Bits>(std::numeric_limits<Bits>::max() - least)};
    Bits const first = first_number(), last = last_number();
    Bits const zero = ordered(0), other_zero = ordered(minus_zero);
    Bits low = least == zero && other_zero < zero ? other_zero : least;
    if (low < first) low = first;
    if (low > last) low = static_cast<Bits>(last + 1);
    bool const nan_reaches = ordered_nan >= least;
    return {low, static_cast<Bits>((nan_reaches ? first - 1 : last) - low)};
  }

  /// Whether keys are compared by their magnitude; floating point alone.
  KTOPK_FUNCTION constexpr bool is_by_magnitude() const {
    return minus_zero != 0 && negative == minus_zero;
  }
  /// Whether a rank belongs to one key alone, so that key_of finds it. Those of NaN and of zero do not.
  KTOPK_FUNCTION constexpr bool has_one_key(Bits rank) const {
    return minus_zero == 0 ||
           (negative != minus_zero && rank != ordered_nan && rank != ordered(Bits{0}));
  }
  /// The key that has such a rank: the inverse of ordered(). By magnitude, that of both without a sign.
  KTOPK_FUNCTION constexpr Bits key_of(Bits rank) const {
    constexpr int top = std::numeric_limits<Bits>::digits - 1;
    Bits const flipped = static_cast<Bits>(rank ^ always);
    Bits const sign_fill = static_cast<Bits>(Bits{0} - static_cast<Bits>(flipped >> top));
    return static_cast<Bits>(flipped ^ static_cast<Bits>(sign_fill & negative));
  }

 private:
  /// Of floating point, the least of ordered() of numbers, and the greatest. By magnitude, one infinity is both's, and
  /// the other end is zero.
  KTOPK_FUNCTION constexpr Bits first_number() const {
    Bits const one = ordered(infinity), other = other_end();
    return one < other ? one : other;
  }
  KTOPK_FUNCTION constexpr Bits last_number() const {
    Bits const one = ordered(infinity), other = other_end();
    return one < other ? other : one;
  }
  KTOPK_FUNCTION constexpr Bits other_end() const {
    return ordered(is_by_magnitude() ? Bits{0} : static_cast<Bits>(infinity | minus_zero));
  }
};

template <class T>
constexpr OrderedBitsMap<bits_of<T>> make_ordered_bits_map(Options const& options) {
  using Bits = bits_of<T>;
  using Traits = KeyTraits<T>;
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr Bits sign = static_cast<Bits>(all - (all >> 1));
  bool const largest = options.order == Order::largest;
  bool const nan_first = options.nan != NaN::skip && (options.nan == NaN::greatest) == largest;
  Bits const direction = largest ? Bits{0} : all;
  if constexpr (Traits::kind == KeyKind::floating)
    return {options.by == By::magnitude ? sign : static_cast<Bits>(all ^ sign),
            static_cast<Bits>(sign ^ direction),
            static_cast<Bits>(all ^ sign),
            static_cast<Bits>(Traits::infinity),
            sign,
            nan_first ? all : Bits{0}};
  else if constexpr (Traits::kind == KeyKind::signed_integer)
    return {0, static_cast<Bits>(sign ^ direction), 0, 0, 0, 0};
  else
    return {0, direction, 0, 0, 0, 0};
}

/// Whether NaNs are no keys. They then have the ordered bits 0, and no others do.
template <class T>
constexpr bool skips_nan(Options const& options) {
  return options.nan == NaN::skip && KeyTraits<T>::kind == KeyKind::floating;
}

/// The key that fills the slots that a short row leaves open: the lowest value or -infinity for Order::largest, the
/// highest value or +infinity for Order::smallest. By magnitude, zero for Order::largest, and for Order::smallest
/// +infinity or the integer of the largest magnitude.
template <class T>
constexpr bits_of<T> worst_key(Options const& options) {
  using Bits = bits_of<T>;
  constexpr Bits all = std::numeric_limits<Bits>::max();
  constexpr Bits sign = static_cast<Bits>(all - (all >> 1));
  bool const largest = options.order == Order::largest;
  if (options.by == By::magnitude && largest) return 0;
  if (options.by == By::magnitude && KeyTraits<T>::kind == KeyKind::signed_integer) return sign;
  if constexpr (KeyTraits<T>::kind == KeyKind::floating) {
    Bits const infinity = static_cast<Bits>(KeyTraits<T>::infinity);
    return largest ? static_cast<Bits>(infinity | sign) : infinity;
  } else if constexpr (KeyTraits<T>::kind == KeyKind::signed_integer) {
    return largest ? sign : static_cast<Bits>(all ^ sign);
  } else {
    return largest ? Bits{0} : all;
  }
}

using CompositeKey64 = std::uint64_t;
__extension__ typedef unsigned __int128 CompositeKey128;

/// Puts the rank above the position: the larger composite key is better, and no two of a row are equal.
/// Where rows have gaps, a bit between both tells a key from a gap. A gap has the worst rank, so every key beats it; and
/// gaps are distinct, too, so that no algorithm need know of them.
template <class Bits, class CompositeKey>
struct CompositeKeyMap {
  OrderedBitsMap<Bits> rank;
  int position_bits;
  std::uint64_t position_mask;
  // position_mask where the lowest index wins a tie, 0 where the highest does; with gaps also the bit of keys
  std::uint64_t flip;

  KTOPK_FUNCTION constexpr CompositeKey join(Bits r, std::uint64_t position) const {
    return (static_cast<CompositeKey>(r) << position_bits) |
           static_cast<CompositeKey>(position ^ flip);
  }
  KTOPK_FUNCTION constexpr CompositeKey operator()(Bits key, std::uint64_t position) const {
    return join(rank(key), position);
  }
  KTOPK_FUNCTION constexpr std::uint64_t position(CompositeKey composite) const {
    return (static_cast<std::uint64_t>(composite) ^ flip) & position_mask;
  }
  KTOPK_FUNCTION constexpr Bits ordered_bits_of(CompositeKey composite) const {
    return static_cast<Bits>(composite >> position_bits);
  }
  /// Finds the smallest rank with which a key at one of begin .. end - 1 can reach `threshold`; returns false if no
  /// rank can. So the keys alone decide on whole chunks that come after the last tie.
  KTOPK_FUNCTION constexpr bool rank_to_reach(CompositeKey threshold, std::uint64_t begin,
                                              std::uint64_t end, Bits& least) const {
    least = ordered_bits_of(threshold);
    if (join(least, begin) >= threshold || join(least, end - 1) >= threshold) return true;
    if (least == std::numeric_limits<Bits>::max()) return false;
    ++least;
    return true;
  }
  /// The position that separates the keys that tie with `threshold`: either those before it reach it, or the others.
  KTOPK_FUNCTION constexpr std::uint64_t tie_boundary(CompositeKey threshold) const {
    return position(threshold) + (flip != 0 ? 1 : 0);
  }
  /// The bits below the rank, all of them set.
  KTOPK_FUNCTION constexpr CompositeKey below_rank() const {
    return (CompositeKey{1} << position_bits) - 1;
  }
  /// What takes the place of a key where a row has a gap.
  KTOPK_FUNCTION constexpr CompositeKey gap(std::uint64_t position) const {
    return static_cast<CompositeKey>((position ^ flip) & position_mask);
  }
  /// Where rows have gaps: whether this is one.
  KTOPK_FUNCTION constexpr bool is_gap(CompositeKey composite) const {
    return (static_cast<std::uint64_t>(composite) & (position_mask + 1)) == 0;
  }
  /// How many low bits of a composite key are used.
  KTOPK_FUNCTION constexpr int width() const {
    return std::numeric_limits<Bits>::digits + position_bits;
  }
};

/// How many bits hold every position of a row of `n` keys.
constexpr int position_bits_for(std::int64_t n) {
  return n > 1 ? std::bit_width(static_cast<std::uint64_t>(n - 1)) : 0;
}

template <class CompositeKey, class Bits>
constexpr CompositeKeyMap<Bits, CompositeKey> make_composite_key_map(
    OrderedBitsMap<Bits> const& rank, std::int64_t n, Ties ties) {
  int const width = position_bits_for(n);
  std::uint64_t const mask = (std::uint64_t{1} << width) - 1;
  return {rank, width, mask, ties == Ties::highest_index ? 0 : mask};
}

/// The same for rows with gaps.
template <class CompositeKey, class Bits>
constexpr CompositeKeyMap<Bits, CompositeKey> make_composite_key_map_with_gaps(
    OrderedBitsMap<Bits> const& rank, std::int64_t n, Ties ties) {
  auto map = make_composite_key_map<CompositeKey>(rank, n, ties);
  map.flip |= map.position_mask + 1;
  ++map.position_bits;
  return map;
}

/// Calls `body` with a value of the narrowest type of composite key that holds rank and position.
template <class Bits, class Body>
void with_composite_key_type(std::int64_t n, Body const& body) {
  if constexpr (sizeof(Bits) == 8) {
    body(CompositeKey128{});
  } else if constexpr (sizeof(Bits) == 4) {
    if (position_bits_for(n) > 32)
      body(CompositeKey128{});
    else
      body(CompositeKey64{});
  } else {
    body(CompositeKey64{});
  }
}

/// The size of the type that with_composite_key_type picks.
constexpr std::size_t composite_key_bytes(int key_bytes, std::int64_t n) {
  return key_bytes == 8 || (key_bytes == 4 && position_bits_for(n) > 32) ? sizeof(CompositeKey128)
                                                                         : sizeof(CompositeKey64);
}

}  // namespace ktopk::detail
