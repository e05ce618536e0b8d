// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <immintrin.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ktopk/detail/rank.hpp>

// The filter on processors that compress vectors (AVX-512 VBMI2: Ice Lake, Zen 4 and later): no branch but
// one for 64 keys without a hit, so that it costs the same whatever part of the keys is wanted.

#define KTOPK_VBMI2 \
  gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi2,bmi,popcnt,prefer-vector-width=512")

namespace ktopk::detail {

template <class Bits>
struct Lanes {
  typedef Bits Vector __attribute__((vector_size(64)));
  typedef std::make_signed_t<Bits> Signed __attribute__((vector_size(64)));
  static constexpr int count = 64 / static_cast<int>(sizeof(Bits));
};

/// Bit j tells whether lane j of `a` is at most that of `b`.
template <class Bits>
[[KTOPK_VBMI2, gnu::always_inline]] inline std::uint64_t at_most(
    typename Lanes<Bits>::Vector const& a, typename Lanes<Bits>::Vector const& b) {
  auto const x = reinterpret_cast<__m512i>(a), y = reinterpret_cast<__m512i>(b);
  if constexpr (sizeof(Bits) == 1) return _mm512_cmple_epu8_mask(x, y);
  if constexpr (sizeof(Bits) == 2) return _mm512_cmple_epu16_mask(x, y);
  if constexpr (sizeof(Bits) == 4) return _mm512_cmple_epu32_mask(x, y);
  if constexpr (sizeof(Bits) == 8) return _mm512_cmple_epu64_mask(x, y);
}

/// Bit j tells whether the rank of keys[j] is in the range: RankMap's function on a vector.
template <class Bits>
[[KTOPK_VBMI2, gnu::always_inline]] inline std::uint64_t lanes_in_range(Bits const* keys,
                                                                        RankMap<Bits> const& map,
                                                                        RankRange<Bits> range) {
  using Vector = typename Lanes<Bits>::Vector;
  using Signed = typename Lanes<Bits>::Signed;
  Vector key;
  std::memcpy(&key, keys, sizeof key);
  Vector const zero{};
  Vector const plain = key == zero + map.minus_zero ? zero : key;
  Vector const sign_fill = reinterpret_cast<Vector>(reinterpret_cast<Signed>(plain) >>
                                                    (std::numeric_limits<Bits>::digits - 1));
  Vector const ordered = plain ^ ((sign_fill & map.negative) ^ map.always);
  Vector const rank = (key & map.magnitude) > zero + map.infinity ? zero + map.nan_rank : ordered;
  return at_most<Bits>(rank - range.least, zero + range.span);
}

/// Appends place + j for every bit j that is set; returns how many there are then.
[[KTOPK_VBMI2, gnu::always_inline]] inline int append_places(std::uint64_t mask, int place,
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

/// filter_plain for these processors. What it stores past the last hit stays within `count` places.
template <class Bits>
[[KTOPK_VBMI2]] int filter_vbmi2(Bits const* keys, int count, RankMap<Bits> const& rank,
                                 RankRange<Bits> range, std::uint16_t* hits) {
  constexpr int lanes = Lanes<Bits>::count;
  RankMap<Bits> const map = rank;
  int found = 0, i = 0;
  for (; i + 64 <= count; i += 64) {
    std::uint64_t mask = 0;
    for (int j = 0; j < 64; j += lanes) {
      __builtin_prefetch(keys + i + j + filter_block);
      mask |= lanes_in_range(keys + i + j, map, range) << j;
    }
    if (mask != 0) found = append_places(mask, i, hits, found);
  }
  for (; i < count; ++i) {
    hits[found] = static_cast<std::uint16_t>(i);
    found += range.has(map(keys[i]));
  }
  return found;
}

}  // namespace ktopk::detail

#undef KTOPK_VBMI2
