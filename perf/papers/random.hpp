// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

namespace ktopk::papers {

/// 64 well-mixed bits of a counter: SplitMix64.
KOKKOS_INLINE_FUNCTION std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t x = (seed << 40) + i * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// In (0, 1].
KOKKOS_INLINE_FUNCTION double uniform(std::uint64_t seed, std::uint64_t i) {
  return (static_cast<double>(random_bits(seed, i) >> 11) + 1) * 0x1p-53;
}

}  // namespace ktopk::papers
