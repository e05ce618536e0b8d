// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "filters.hpp"

// The filter on processors with AVX2, whose comparisons make vectors of all ones and zeros.

namespace ktopk::detail {

template <class Bits>
struct Avx2Lanes {
  typedef Bits Vector __attribute__((vector_size(32)));
  typedef std::make_signed_t<Bits> Signed __attribute__((vector_size(32)));
  static constexpr int count = 32 / static_cast<int>(sizeof(Bits));
};

/// Returns a mask: bit j is the top bit of lane j.
template <class Bits>
KTOPK_AVX2 [[gnu::always_inline]] inline std::uint32_t top_bits(
    typename Avx2Lanes<Bits>::Signed const& lanes) {
  auto const v = reinterpret_cast<__m256i>(lanes);
  if constexpr (sizeof(Bits) == 1) return static_cast<std::uint32_t>(_mm256_movemask_epi8(v));
  if constexpr (sizeof(Bits) == 2)
    return static_cast<std::uint32_t>(_mm_movemask_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1))));
  if constexpr (sizeof(Bits) == 4)
    return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v)));
  if constexpr (sizeof(Bits) == 8)
    return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(v)));
}

template <class Bits, bool by_ends>
struct Avx2Chunk {
  using Vector = typename Avx2Lanes<Bits>::Vector;
  using Signed = typename Avx2Lanes<Bits>::Signed;
  static constexpr int lanes = Avx2Lanes<Bits>::count;
  static constexpr int size = 64;

  OrderedBitsMap<Bits> map;
  OrderedBitsRange<Bits> range;
  Prefilter<Bits> prefilter;

  KTOPK_AVX2 [[gnu::always_inline]] int add(Stored<Bits> const* keys, int place,
                                            std::uint16_t* hits, int found) const {
    if (!passes_any(keys)) return found;
    std::uint64_t mask = 0;
    for (int j = 0; j < size; j += lanes)
      mask |= std::uint64_t{top_bits<Bits>(within(keys + j))} << j;
    return append_bits(mask, place, hits, found);
  }

 private:
  KTOPK_AVX2 [[gnu::always_inline]] static Vector load(Stored<Bits> const* keys) {
    Vector vector;
    std::memcpy(&vector, keys, sizeof vector);
    return vector;
  }

  /// Whether a key may pass. It takes two instructions a vector wherever it can: the more lines of keys an instruction
  /// window spans, the more a core requests from memory at a time.
  KTOPK_AVX2 [[gnu::always_inline]] bool passes_any(Stored<Bits> const* keys) const {
    if constexpr (by_ends && sizeof(Bits) >= 4)
      if (!map.is_by_magnitude()) return reaches_as_number(keys);
    if constexpr (by_ends) return reaches_an_end(keys);
    return is_any_within(keys);
  }

  /// For floats and doubles: whether a key is at least as far from zero as the first number that passes, or NaN.
  KTOPK_AVX2 [[gnu::always_inline]] bool reaches_as_number(Stored<Bits> const* keys) const {
    Bits const first = prefilter.first_number();
    bool const is_positive = first >> (std::numeric_limits<Bits>::digits - 1) == 0;
    return is_positive ? compare<_CMP_NGT_UQ>(keys, first) : compare<_CMP_NLT_UQ>(keys, first);
  }
  template <int comparison>
  KTOPK_AVX2 [[gnu::always_inline]] static bool compare(Stored<Bits> const* keys, Bits first) {
    Vector const limit = Vector{} + first;
    if constexpr (sizeof(Bits) == 4) {
      auto const number = reinterpret_cast<__m256>(limit);
      __m256 any = _mm256_setzero_ps();
      for (int j = 0; j < size; j += lanes)
        any = _mm256_or_ps(
            any, _mm256_cmp_ps(number, reinterpret_cast<__m256>(load(keys + j)), comparison));
      return _mm256_movemask_ps(any) != 0;
    } else {
      auto const number = reinterpret_cast<__m256d>(limit);
      __m256d any = _mm256_setzero_pd();
      for (int j = 0; j < size; j += lanes)
        any = _mm256_or_pd(
            any, _mm256_cmp_pd(number, reinterpret_cast<__m256d>(load(keys + j)), comparison));
      return _mm256_movemask_pd(any) != 0;
    }
  }

  KTOPK_AVX2 [[gnu::always_inline]] bool reaches_an_end(Stored<Bits> const* keys) const {
    Vector greatest = load(keys);
    Signed highest = reinterpret_cast<Signed>(greatest);
    for (int j = lanes; j < size; j += lanes) {
      Vector const key = load(keys + j);
      auto const number = reinterpret_cast<Signed>(key);
      highest = number > highest ? number : highest;
      greatest = key > greatest ? key : greatest;
    }
    return is_set(from_an_end(highest, greatest));
  }

  KTOPK_AVX2 [[gnu::always_inline]] bool is_any_within(Stored<Bits> const* keys) const {
    Bits const last = static_cast<Bits>(prefilter.first() + prefilter.span());
    if constexpr (sizeof(Bits) == 8) {
      // Numbers of 64 bits are compared with their signs: half of all is added to both sides.
      constexpr Bits half = Bits{1} << 63;
      auto const span = static_cast<std::make_signed_t<Bits>>(prefilter.span() + half);
      Signed none = ~Signed{};
      for (int j = 0; j < size; j += lanes)
        none &= reinterpret_cast<Signed>((last + half) - load(keys + j)) > span;
      return is_set(~none);
    } else {
      Vector nearest = last - load(keys);
      for (int j = lanes; j < size; j += lanes) {
        Vector const distance = last - load(keys + j);
        nearest = distance < nearest ? distance : nearest;
      }
      return is_set(nearest <= prefilter.span());
    }
  }
  KTOPK_AVX2 [[gnu::always_inline]] static bool is_set(Signed const& any) {
    auto const v = reinterpret_cast<__m256i>(any);
    return _mm256_testz_si256(v, v) == 0;
  }

  KTOPK_AVX2 [[gnu::always_inline]] Signed passing(Vector const& key) const {
    if constexpr (by_ends) return from_an_end(reinterpret_cast<Signed>(key), key);
    return key - prefilter.first() <= prefilter.span();
  }
  KTOPK_AVX2 [[gnu::always_inline]] Signed from_an_end(Signed const& number,
                                                       Vector const& key) const {
    return (number >= prefilter.from_signed()) | (key >= prefilter.from_unsigned());
  }

  /// Which keys have a rank in the range.
  KTOPK_AVX2 [[gnu::always_inline]] Signed within(Stored<Bits> const* keys) const {
    Vector const key = load(keys);
    if (prefilter.is_exact()) return passing(key);
    Vector const zero{};
    Vector const plain = key == zero + map.minus_zero ? zero : key;
    Vector const sign_fill = reinterpret_cast<Vector>(reinterpret_cast<Signed>(plain) >>
                                                      (std::numeric_limits<Bits>::digits - 1));
    Vector const ordered = plain ^ ((sign_fill & map.negative) ^ map.always);
    Vector const rank =
        (key & map.magnitude) > zero + map.infinity ? zero + map.ordered_nan : ordered;
    return rank - range.least <= zero + range.span;
  }
};

}  // namespace ktopk::detail
