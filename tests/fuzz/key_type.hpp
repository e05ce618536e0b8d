// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include <ktopk/core/macros.hpp>
#include <ktopk/options.hpp>

/// What the keys are as numbers, written anew: nothing here comes from the library that is tested.

namespace ktopk::fuzz {

enum class KeyType {
  int8,
  uint8,
  int16,
  uint16,
  float16,
  bfloat16,
  int32,
  uint32,
  float32,
  int64,
  uint64,
  float64
};
inline constexpr int key_types = 12;

KTOPK_FUNCTION constexpr int bytes_of(KeyType type) {
  return type <= KeyType::uint8      ? 1
         : type <= KeyType::bfloat16 ? 2
         : type <= KeyType::float32  ? 4
                                     : 8;
}
KTOPK_FUNCTION constexpr int width_of(KeyType type) { return 8 * bytes_of(type); }
KTOPK_FUNCTION constexpr bool is_float(KeyType type) {
  return type == KeyType::float16 || type == KeyType::bfloat16 || type == KeyType::float32 ||
         type == KeyType::float64;
}
KTOPK_FUNCTION constexpr bool is_signed(KeyType type) {
  return type == KeyType::int8 || type == KeyType::int16 || type == KeyType::int32 ||
         type == KeyType::int64;
}
KTOPK_FUNCTION constexpr int fraction_bits(KeyType type) {
  return type == KeyType::float16    ? 10
         : type == KeyType::bfloat16 ? 7
         : type == KeyType::float32  ? 23
                                     : 52;
}

/// All ones in the bits of the type.
KTOPK_FUNCTION constexpr std::uint64_t all_bits(KeyType type) {
  return ~std::uint64_t{0} >> (64 - width_of(type));
}
KTOPK_FUNCTION constexpr std::uint64_t sign_bit(KeyType type) {
  return std::uint64_t{1} << (width_of(type) - 1);
}
KTOPK_FUNCTION constexpr std::uint64_t infinity_bits(KeyType type) {
  return (all_bits(type) >> 1) & ~((std::uint64_t{1} << fraction_bits(type)) - 1);
}

KTOPK_FUNCTION inline double half_to_double(std::uint64_t bits) {
  auto const exponent = static_cast<int>((bits >> 10) & 31),
             fraction = static_cast<int>(bits & 1023);
  double const sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == 31)
    return sign * std::bit_cast<double>(fraction != 0 ? UINT64_C(0x7ff8000000000000)
                                                      : UINT64_C(0x7ff0000000000000));
  double power = 0x1p-24;
  for (int e = 1; e < exponent; ++e) power *= 2;
  return sign * power * (exponent == 0 ? fraction : 1024 + fraction);
}

/// The number that the bits of a floating-point key stand for.
KTOPK_FUNCTION inline double to_double(KeyType type, std::uint64_t bits) {
  if (type == KeyType::float64) return std::bit_cast<double>(bits);
  if (type == KeyType::float16) return half_to_double(bits);
  return std::bit_cast<float>(
      static_cast<std::uint32_t>(type == KeyType::bfloat16 ? bits << 16 : bits));
}

/// The value of a signed integer key.
KTOPK_FUNCTION inline std::int64_t to_signed(KeyType type, std::uint64_t bits) {
  int const unused = 64 - width_of(type);
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

/// Bytes of an offset, a wanted or a count. They differ so that both widths occur without more types of calls.
KTOPK_FUNCTION constexpr int offset_bytes(KeyType type) {
  return static_cast<int>(type) % 2 == 0 ? 4 : 8;
}
KTOPK_FUNCTION constexpr int count_bytes(KeyType type) { return 12 - offset_bytes(type); }

template <class Number>
KTOPK_FUNCTION int compare_numbers(Number a, Number b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

KTOPK_FUNCTION inline bool is_nan(KeyType type, std::uint64_t bits) {
  double const number = is_float(type) ? to_double(type, bits) : 0;
  return number != number;
}

KTOPK_FUNCTION inline int compare_floats(double a, double b, NaN nan) {
  bool const a_is_nan = a != a, b_is_nan = b != b;
  int const above = nan == NaN::greatest ? 1 : -1;
  if (a_is_nan || b_is_nan) return a_is_nan == b_is_nan ? 0 : a_is_nan ? above : -above;
  return compare_numbers(a, b);
}

KTOPK_FUNCTION inline std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

/// Negative, 0 or positive: a is less than, equal to or greater than b.
KTOPK_FUNCTION inline int compare(KeyType type, Options const& options, std::uint64_t a,
                                  std::uint64_t b) {
  bool const by_magnitude = options.by == By::magnitude;
  if (is_float(type)) {
    std::uint64_t const kept = by_magnitude ? all_bits(type) >> 1 : all_bits(type);
    return compare_floats(to_double(type, a & kept), to_double(type, b & kept), options.nan);
  }
  if (is_signed(type) && by_magnitude)
    return compare_numbers(magnitude(to_signed(type, a)), magnitude(to_signed(type, b)));
  if (is_signed(type)) return compare_numbers(to_signed(type, a), to_signed(type, b));
  return compare_numbers(a, b);
}

/// What fills the slots for which a row has no key.
KTOPK_FUNCTION inline std::uint64_t worst_bits(KeyType type, Options const& options) {
  bool const lowest = options.order == Order::largest;
  if (options.by == By::magnitude && lowest) return 0;
  if (options.by == By::magnitude && is_signed(type)) return sign_bit(type);
  if (is_float(type)) return infinity_bits(type) | (lowest ? sign_bit(type) : 0);
  if (is_signed(type)) return lowest ? sign_bit(type) : sign_bit(type) - 1;
  return lowest ? 0 : all_bits(type);
}

}  // namespace ktopk::fuzz
