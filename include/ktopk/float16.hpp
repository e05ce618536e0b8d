// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include <ktopk/core/macros.hpp>

/// \file
/// 16-bit floating-point keys as storage: bits and conversions, no arithmetic. The same on every
/// backend, where Kokkos's own half types are 32 bits wide on some. Needs no Kokkos.

namespace ktopk {

namespace detail {

/// `value` shifted right by `shift` in 1..31, rounded to nearest, ties to even.
KTOPK_FUNCTION constexpr std::uint32_t shift_to_nearest_even(std::uint32_t value, int shift) {
  std::uint32_t const floor = value >> shift;
  std::uint32_t const rest = value & ((std::uint32_t{1} << shift) - 1);
  std::uint32_t const half = std::uint32_t{1} << (shift - 1);
  return floor + ((rest > half || (rest == half && (floor & 1u))) ? 1u : 0u);
}

KTOPK_FUNCTION constexpr std::uint16_t float_to_half_bits(float value) {
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t const sign = (bits >> 16) & 0x8000u;
  std::uint32_t const magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);
  if (magnitude >= 0x38800000u)
    return static_cast<std::uint16_t>(sign | shift_to_nearest_even(magnitude - 0x38000000u, 13));
  std::uint32_t const significand = (magnitude & 0x7fffffu) | 0x800000u;
  int const shift = 126 - static_cast<int>(magnitude >> 23);
  return static_cast<std::uint16_t>(sign | shift_to_nearest_even(significand, shift));
}

KTOPK_FUNCTION constexpr float half_bits_to_float(std::uint16_t half) {
  std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  std::uint32_t const exponent = (half >> 10) & 0x1fu;
  std::uint32_t const fraction = half & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  float const magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

KTOPK_FUNCTION constexpr std::uint16_t float_to_bfloat_bits(float value) {
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>(shift_to_nearest_even(bits, 16));
}

KTOPK_FUNCTION constexpr float bfloat_bits_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

/// IEEE 754 binary16 as storage.
class float16 {
 public:
  float16() = default;
  /// Rounds to nearest, ties to even; what is too large becomes infinity, a NaN stays a NaN.
  KTOPK_FUNCTION constexpr explicit float16(float value)
      : m_bits(detail::float_to_half_bits(value)) {}
  KTOPK_FUNCTION static constexpr float16 from_bits(std::uint16_t bits) {
    float16 result;
    result.m_bits = bits;
    return result;
  }
  KTOPK_FUNCTION constexpr std::uint16_t bits() const { return m_bits; }
  KTOPK_FUNCTION constexpr explicit operator float() const {
    return detail::half_bits_to_float(m_bits);
  }

 private:
  std::uint16_t m_bits;
};

/// The upper half of an IEEE 754 binary32 as storage.
class bfloat16 {
 public:
  bfloat16() = default;
  /// Rounds to nearest, ties to even; a NaN stays a NaN.
  KTOPK_FUNCTION constexpr explicit bfloat16(float value)
      : m_bits(detail::float_to_bfloat_bits(value)) {}
  KTOPK_FUNCTION static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result;
    result.m_bits = bits;
    return result;
  }
  KTOPK_FUNCTION constexpr std::uint16_t bits() const { return m_bits; }
  KTOPK_FUNCTION constexpr explicit operator float() const {
    return detail::bfloat_bits_to_float(m_bits);
  }

 private:
  std::uint16_t m_bits;
};

static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

}  // namespace ktopk
