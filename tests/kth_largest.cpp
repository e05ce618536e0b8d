// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

#include "portable/group/kth_largest.hpp"
#include "support/inputs.hpp"
#include "support/team_of_threads.hpp"

// The k-th largest by a team of any size: here a team is threads of the host.

namespace ktopk::testing {
namespace {

using namespace ktopk::detail;

/// The k-th largest as each thread of a team of this size returns it.
std::vector<CompositeKey64> found_by_team(int size, std::vector<CompositeKey64> const& composites,
                                          std::int64_t k, int position_bits) {
  std::vector<CompositeKey64> found(static_cast<std::size_t>(size));
  run_team(size, kth_largest_bytes, [&](GroupOfThreads const& group) {
    KthLargest<GroupOfThreads, CompositeKey64> const kth_largest(group, group.shared(),
                                                                 position_bits);
    found[static_cast<std::size_t>(group.rank())] =
        kth_largest(std::ssize(composites), k,
                    [&](std::int64_t i) { return composites[static_cast<std::size_t>(i)]; });
  });
  return found;
}

std::int64_t reaching(std::vector<CompositeKey64> const& composites, CompositeKey64 threshold) {
  return std::count_if(composites.begin(), composites.end(),
                       [&](CompositeKey64 composite) { return composite >= threshold; });
}

}  // namespace

TEST_CASE("the k-th largest by teams of any size", "[foundation]") {
  constexpr int position_bits = 12;
  constexpr std::int64_t count = 3000;
  for (std::uint64_t ranks : {std::uint64_t{5}, std::uint64_t{1} << 40}) {
    std::vector<CompositeKey64> composites;
    for (std::int64_t i = 0; i < count; ++i)
      composites.push_back((random_bits(3, i) % ranks) << position_bits | static_cast<unsigned>(i));
    for (int size : {1, 2, 3, 7, 24, 31, 48})
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{2}, std::int64_t{777}, count - 1, count})
        for (CompositeKey64 threshold : found_by_team(size, composites, k, position_bits)) {
          INFO("team of " << size << ", k = " << k << ", " << ranks << " ranks");
          REQUIRE(reaching(composites, threshold) == k);
        }
  }
}

}  // namespace ktopk::testing
