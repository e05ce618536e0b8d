// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ktopk/core/macros.hpp>

/// Random numbers that are the same on every machine, on a device too.

namespace ktopk::fuzz {

/// SplitMix64's finalizer.
KTOPK_FUNCTION inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

KTOPK_FUNCTION inline std::uint64_t mix(std::uint64_t seed, std::uint64_t counter) {
  return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + counter * UINT64_C(0x9e3779b97f4a7c15));
}

/// A sequence of draws from a seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : m_state(mix(seed)) {}

  std::uint64_t bits() { return mix(m_state += UINT64_C(0x9e3779b97f4a7c15)); }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(end));
  }
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return high <= low ? low : low + below(high - low + 1);
  }
  /// The same, every power of two as likely as the next.
  std::int64_t between_in_powers(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    std::int64_t const base = std::int64_t{1} << between(power_of(low), power_of(high));
    std::int64_t const drawn = between(base, 2 * base - 1);
    return drawn < low ? low : drawn > high ? high : drawn;
  }
  bool one_in(std::int64_t times) { return below(times) == 0; }
  template <class T, std::size_t Count>
  T one_of(T const (&choices)[Count]) {
    return choices[below(Count)];
  }
  /// An enumerator of 0 .. count - 1.
  template <class Enum>
  Enum enumerator(std::int64_t count) {
    return static_cast<Enum>(below(count));
  }

 private:
  static int power_of(std::int64_t x) {
    return x < 1 ? 0 : std::bit_width(static_cast<std::uint64_t>(x)) - 1;
  }

  std::uint64_t m_state;
};

}  // namespace ktopk::fuzz
