// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "filters.hpp"

// The filter on processors that compress vectors (AVX-512 VBMI2: Ice Lake, Zen 4 and later): no
// branch but one for 64 keys that pass the prefilter.

namespace ktopk::detail {

template <class Bits>
struct Lanes {
  typedef Bits Vector __attribute__((vector_size(64)));
  typedef std::make_signed_t<Bits> Signed __attribute__((vector_size(64)));
  static constexpr int count = 64 / static_cast<int>(sizeof(Bits));
};

template <class Bits>
KTOPK_VBMI2 [[gnu::always_inline]] inline typename Lanes<Bits>::Vector load_lanes(
    Stored<Bits> const* keys) {
  typename Lanes<Bits>::Vector lanes;
  std::memcpy(&lanes, keys, sizeof lanes);
  return lanes;
}

/// Returns a mask: bit j is set if bit j of `lanes` is set and lane j of `a` is at most that of `b`.
template <class Bits>
KTOPK_VBMI2 [[gnu::always_inline]] inline std::uint64_t at_most(
    typename Lanes<Bits>::Vector const& a, typename Lanes<Bits>::Vector const& b,
    std::uint64_t lanes = ~std::uint64_t{0}) {
  auto const x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  if constexpr (sizeof(Bits) == 1) return _mm512_mask_cmple_epu8_mask(lanes, x, y);
  if constexpr (sizeof(Bits) == 2)
    return _mm512_mask_cmple_epu16_mask(static_cast<__mmask32>(lanes), x, y);
  if constexpr (sizeof(Bits) == 4)
    return _mm512_mask_cmple_epu32_mask(static_cast<__mmask16>(lanes), x, y);
  if constexpr (sizeof(Bits) == 8)
    return _mm512_mask_cmple_epu64_mask(static_cast<__mmask8>(lanes), x, y);
}

/// Appends place + j for every bit j that is set; returns how many places there are then.
KTOPK_VBMI2 [[gnu::always_inline]] inline int append_places(std::uint64_t mask, int place,
                                                            std::uint16_t* hits, int found) {
  typedef std::uint16_t Places __attribute__((vector_size(64)));
  Places const iota{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  for (int half = 0; half < 64; half += 32) {
    auto const bits = static_cast<std::uint32_t>(mask >> half);
    Places const places = iota + static_cast<std::uint16_t>(place + half);
    _mm512_storeu_si512(hits + found,
                        _mm512_maskz_compress_epi16(bits, reinterpret_cast<__m512i>(places)));
    found += std::popcount(bits);
  }
  return found;
}

/// It may store beyond the last hit, but not beyond as many places as it examined keys.
template <class Bits, bool by_ends>
struct Vbmi2Chunk {
  using Vector = typename Lanes<Bits>::Vector;
  using Signed = typename Lanes<Bits>::Signed;
  static constexpr int lanes = Lanes<Bits>::count;
  static constexpr int size = 64;

  OrderedBitsMap<Bits> map;
  OrderedBitsRange<Bits> range;
  Prefilter<Bits> prefilter;

  KTOPK_VBMI2 [[gnu::always_inline]] int add(Stored<Bits> const* keys, int place,
                                             std::uint16_t* hits, int found) const {
    if (!passes_any(keys)) return found;
    std::uint64_t mask = 0;
    for (int j = 0; j < size; j += lanes)
      mask |= (prefilter.is_exact() ? passing(keys + j) : in_range(keys + j)) << j;
    return append_places(mask, place, hits, found);
  }

 private:
  static constexpr std::uint64_t every_lane = ~std::uint64_t{0} >> (64 - lanes);

  /// Whether one of 64 keys may pass.
  KTOPK_VBMI2 [[gnu::always_inline]] bool passes_any(Stored<Bits> const* keys) const {
    if constexpr (by_ends) return reaches_an_end(keys);
    Vector nearest = Vector{} + std::numeric_limits<Bits>::max();
    for (int j = 0; j < size; j += lanes) {
      Vector const distance = load_lanes<Bits>(keys + j) - prefilter.first();
      nearest = distance < nearest ? distance : nearest;
    }
    return within(nearest) != 0;
  }
  /// Maxima and comparisons take turns: a core has one unit for each.
  KTOPK_VBMI2 [[gnu::always_inline]] bool reaches_an_end(Stored<Bits> const* keys) const {
    Signed highest = Signed{} + std::numeric_limits<std::make_signed_t<Bits>>::min();
    std::uint64_t lower = every_lane;
    for (int j = 0; j < size; j += lanes) {
      Vector const key = load_lanes<Bits>(keys + j);
      auto const number = reinterpret_cast<Signed>(key);
      highest = highest > number ? highest : number;
      lower = at_most<Bits>(key, below_unsigned(), lower);
    }
    return (from_signed(reinterpret_cast<Vector>(highest)) | (lower ^ every_lane)) != 0;
  }

  /// Returns a mask: bit j is set if keys[j] passes the prefilter.
  KTOPK_VBMI2 [[gnu::always_inline]] std::uint64_t passing(Stored<Bits> const* keys) const {
    Vector const key = load_lanes<Bits>(keys);
    if constexpr (!by_ends) return within(key - prefilter.first());
    return from_signed(key) | (at_most<Bits>(key, below_unsigned()) ^ every_lane);
  }
  /// Returns a mask: bit j is set if the rank of keys[j] is in the range. It does what OrderedBitsMap does, on a vector.
  KTOPK_VBMI2 [[gnu::always_inline]] std::uint64_t in_range(Stored<Bits> const* keys) const {
    Vector const key = load_lanes<Bits>(keys), zero{};
    Vector const plain = key == zero + map.minus_zero ? zero : key;
    Vector const sign_fill = reinterpret_cast<Vector>(reinterpret_cast<Signed>(plain) >>
                                                      (std::numeric_limits<Bits>::digits - 1));
    Vector const ordered = plain ^ ((sign_fill & map.negative) ^ map.always);
    Vector const rank =
        (key & map.magnitude) > zero + map.infinity ? zero + map.ordered_nan : ordered;
    return at_most<Bits>(rank - range.least, zero + range.span);
  }

  KTOPK_VBMI2 [[gnu::always_inline]] std::uint64_t within(Vector const& distance) const {
    return at_most<Bits>(distance, Vector{} + prefilter.span());
  }
  /// Compares as unsigned numbers what the least signed one is added to.
  KTOPK_VBMI2 [[gnu::always_inline]] std::uint64_t from_signed(Vector const& key) const {
    constexpr Bits least = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
    auto const from = static_cast<Bits>(static_cast<Bits>(prefilter.from_signed()) ^ least);
    return at_most<Bits>(Vector{} + from, key ^ least);
  }
  /// The end by unsigned order is never the first of all numbers.
  KTOPK_VBMI2 [[gnu::always_inline]] Vector below_unsigned() const {
    return Vector{} + static_cast<Bits>(prefilter.from_unsigned() - 1);
  }
};

}  // namespace ktopk::detail
