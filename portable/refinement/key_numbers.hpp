// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <type_traits>

#include <ktopk/core/ordered_bits.hpp>

// The numbers that keys stand for, for implementations that divide an interval of keys into equal parts.

namespace ktopk::detail {

/// Converts ordered bits to the number of their key, and back.
template <class Bits>
struct KeyNumbers {
  OrderedBitsMap<Bits> rank;

  KTOPK_FUNCTION constexpr bool floating() const { return rank.magnitude != 0; }

  /// Returns infinity or NaN if the key is that. The number of ordered bits that no key has lies between its
  /// neighbors'.
  KTOPK_FUNCTION constexpr double operator()(Bits r) const {
    Bits const key = rank.key_of(r);
    return floating() ? floating_number(key) : integer_number(key);
  }

  /// The ordered bits of the floating-point key nearest to a number.
  KTOPK_FUNCTION constexpr Bits ordered_bits_of(double number) const {
    return rank(floating_key(number));
  }

  KTOPK_FUNCTION static constexpr bool is_finite(double number) { return number - number == 0; }

 private:
  static constexpr std::uint64_t half_infinity = KeyTraits<float16>::infinity;

  KTOPK_FUNCTION constexpr double integer_number(Bits key) const {
    constexpr Bits all = std::numeric_limits<Bits>::max();
    bool const is_unsigned = rank.always == 0 || rank.always == all;
    return is_unsigned ? static_cast<double>(key)
                       : static_cast<double>(static_cast<std::make_signed_t<Bits>>(key));
  }
  KTOPK_FUNCTION constexpr double floating_number(Bits key) const {
    if constexpr (sizeof(Bits) == 8) return std::bit_cast<double>(key);
    if constexpr (sizeof(Bits) == 4) return static_cast<double>(std::bit_cast<float>(key));
    if constexpr (sizeof(Bits) == 2)
      return static_cast<double>(rank.infinity == half_infinity ? half_bits_to_float(key)
                                                                : bfloat_bits_to_float(key));
    return 0;
  }
  KTOPK_FUNCTION constexpr Bits floating_key(double number) const {
    if constexpr (sizeof(Bits) == 8) return std::bit_cast<Bits>(number);
    if constexpr (sizeof(Bits) == 4) return std::bit_cast<Bits>(static_cast<float>(number));
    if constexpr (sizeof(Bits) == 2)
      return rank.infinity == half_infinity ? float_to_half_bits(static_cast<float>(number))
                                            : float_to_bfloat_bits(static_cast<float>(number));
    return 0;
  }
};

}  // namespace ktopk::detail
