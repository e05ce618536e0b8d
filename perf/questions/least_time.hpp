// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <Kokkos_Core.hpp>

/// A scrambled number of each index: the finalizer of SplitMix64.
KOKKOS_INLINE_FUNCTION std::uint64_t mixed(std::int64_t i) {
  auto x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// What a call takes in microseconds, until the instance has done its work: the least of some.
template <class Exec, class Call>
double least_microseconds(Exec const& exec, int calls, Call const& call) {
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  for (int c = 0; c < calls; ++c) {
    auto const start = Clock::now();
    call();
    exec.fence();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return least * 1e6;
}
