// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "portable/group/kth_largest.hpp"
#include "support/inputs.hpp"

// The k-th largest by a team of any size: here a team is threads of the host.

namespace ktopk::testing {
namespace {

using namespace ktopk::detail;

struct Team {
  explicit Team(int size_) : size(size_), arrive(size_), sums(static_cast<std::size_t>(size_)) {}
  int size;
  std::barrier<> arrive;
  std::vector<std::uint64_t> sums;
  std::uint64_t least = ~std::uint64_t{0}, greatest = 0;
  std::vector<std::uint64_t> shared = std::vector<std::uint64_t>(kth_largest_bytes / 8 + 1);
};

/// What KthLargest takes of a group.
struct Group {
  static constexpr bool is_host = false;
  static constexpr int neighbors = 1;
  Team& team;
  int own_rank;

  int rank() const { return own_rank; }
  int size() const { return team.size; }
  void barrier() const { team.arrive.arrive_and_wait(); }
  template <class T>
  T fetch_add(T* counter, T amount) const {
    return std::atomic_ref<T>(*counter).fetch_add(amount);
  }
  template <class T>
  T sum_before(T amount) const {
    team.sums[static_cast<std::size_t>(own_rank)] = amount;
    barrier();
    T sum = 0;
    for (int i = 0; i < own_rank; ++i)
      sum += static_cast<T>(team.sums[static_cast<std::size_t>(i)]);
    barrier();
    return sum;
  }
  template <class T>
  void merge_extremes(T& least, T& greatest) const {
    team.sums[static_cast<std::size_t>(own_rank)] = least;
    barrier();
    T const of_all = static_cast<T>(*std::min_element(team.sums.begin(), team.sums.end()));
    barrier();
    team.sums[static_cast<std::size_t>(own_rank)] = greatest;
    barrier();
    least = of_all;
    greatest = static_cast<T>(*std::max_element(team.sums.begin(), team.sums.end()));
    barrier();
  }
};

/// The k-th largest as each thread of a team of this size returns it.
std::vector<CompositeKey64> found_by_team(int size, std::vector<CompositeKey64> const& composites,
                                          std::int64_t k, int position_bits) {
  Team team(size);
  std::vector<CompositeKey64> found(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Group const group{team, rank};
      KthLargest<Group, CompositeKey64> const kth_largest(
          group, reinterpret_cast<std::byte*>(team.shared.data()), position_bits);
      found[static_cast<std::size_t>(rank)] =
          kth_largest(std::ssize(composites), k,
                      [&](std::int64_t i) { return composites[static_cast<std::size_t>(i)]; });
    });
  for (auto& thread : threads) thread.join();
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
