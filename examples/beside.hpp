// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

// What the examples of uses share: they time a call beside what takes its place without ktopk's other questions.

template <class Exec, class Call>
double milliseconds(Exec const& exec, Call const& call) {
  double best = 1e30;
  for (int run = 0; run < 5; ++run) {
    auto const start = std::chrono::steady_clock::now();
    call();
    exec.fence();
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return 1e3 * best;
}

/// Prints the times of a call, of what copies the keys and selects from the copy, and of that selection alone; and whether
/// the answers are the same. Returns what main returns.
template <class Exec, class Call, class Copying, class Selecting, class AreSame>
int time_beside(char const* use, Exec const& exec, Call const& call, Copying const& copying,
                Selecting const& selecting, AreSame const& are_same) {
  double const direct = milliseconds(exec, call), copied = milliseconds(exec, copying);
  bool const same = are_same();
  std::printf("%s: %.2f ms, by a copy %.2f ms, of which %.2f to select%s\n", use, direct, copied,
              milliseconds(exec, selecting), same ? "" : ": THE ANSWERS DIFFER");
  return same ? 0 : 1;
}
