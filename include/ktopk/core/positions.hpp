// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/ordered_bits.hpp>

// Positions in a row: ranges and samples of them.

namespace ktopk::detail {

struct Range {
  std::int64_t begin, end;
};

/// The `part`-th of `parts` contiguous ranges of 0 .. n, cut at multiples of 64.
KOKKOS_INLINE_FUNCTION Range part_of(std::int64_t n, std::int64_t part, std::int64_t parts) {
  std::int64_t const length = ((n + parts - 1) / parts + 63) / 64 * 64;
  std::int64_t const begin = part * length < n ? part * length : n;
  std::int64_t const end = begin + length < n ? begin + length : n;
  return {begin, end};
}

/// `size` places, cut into strata of equal length and a rest that is shorter than a stratum.
class Strata {
 public:
  KOKKOS_FUNCTION Strata(std::int64_t size, std::int64_t count)
      : m_length(static_cast<std::uint64_t>(size / count)) {}
  std::int64_t length() const { return static_cast<std::int64_t>(m_length); }
  /// A scattered place in stratum i: the finalizer of SplitMix64, scaled to the length.
  KOKKOS_FUNCTION std::int64_t place(std::int64_t i, int pass = 0) const {
    std::uint64_t x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull +
                      static_cast<std::uint64_t>(pass) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    auto const within = static_cast<std::uint64_t>((CompositeKey128{x} * m_length) >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * m_length + within);
  }
  /// The stratum of a place; the rest counts as the stratum after all others.
  KOKKOS_FUNCTION std::int64_t of(std::int64_t place) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(place) / m_length);
  }

 private:
  std::uint64_t m_length;
};

}  // namespace ktopk::detail
