// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include <ktopk/ktopk.hpp>

// What the programs share that compare several ways to one answer.

namespace ktopk::papers {

/// For a View that is written before it is read.
inline auto uninitialized(char const* name) {
  return Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(name));
}

/// One way to an answer.
struct Method {
  std::string name;
  std::function<void()> call;
};

/// The least time of each method in milliseconds. They are taken in turn, so that what else the machine does meets all of
/// them.
template <class Exec>
std::vector<double> alternate(Exec const& exec, std::vector<Method> const& methods, int rounds) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(methods.size(), 1e30);
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t m = 0; m < methods.size(); ++m) {
      exec.fence();
      auto const start = Clock::now();
      methods[m].call();
      exec.fence();
      std::chrono::duration<double, std::milli> const time = Clock::now() - start;
      if (round > 0) best[m] = std::min(best[m], time.count());
    }
  return best;
}

/// The first number of the command line, or `otherwise`.
inline std::int64_t size_argument(int argc, char** argv, std::int64_t otherwise,
                                  std::int64_t least) {
  if (argc < 2) return otherwise;
  constexpr std::int64_t most = 2147483647;
  char* end = nullptr;
  std::int64_t const given = std::strtoll(argv[1], &end, 10);
  if (end == argv[1] || *end != '\0' || given < least || given > most)
    throw std::invalid_argument("the size is \"" + std::string(argv[1]) +
                                "\"; it must be a number from " + std::to_string(least) + " to " +
                                std::to_string(most));
  return given;
}

/// Whether both have the same entries; says where they differ.
template <class View>
bool same(std::string const& what, View const& a, View const& b) {
  auto const first = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  auto const second = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  for (std::size_t j = 0; j < first.extent(0); ++j)
    if (first(j) != second(j)) {
      std::fprintf(stderr, "%s: entry %zu is %lld in one answer and %lld in the other\n",
                   what.c_str(), j, static_cast<long long>(first(j)),
                   static_cast<long long>(second(j)));
      return false;
    }
  return true;
}

}  // namespace ktopk::papers
