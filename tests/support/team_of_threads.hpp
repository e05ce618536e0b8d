// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace ktopk::testing {

/// A team of any size on any host: threads of the standard library.
struct TeamOfThreads {
  TeamOfThreads(int size_, int shared_bytes)
      : size(size_),
        arrive(size_),
        sums(static_cast<std::size_t>(size_)),
        shared(static_cast<std::size_t>(shared_bytes / 16 + 1)) {}
  int size;
  std::barrier<> arrive;
  std::vector<std::uint64_t> sums;
  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  std::vector<Unit> shared;
};

/// What selection within a group takes of it.
struct GroupOfThreads {
  static constexpr bool is_host = false;
  static constexpr int neighbors = 1;
  TeamOfThreads& team;
  int own_rank;

  std::byte* shared() const { return team.shared.data()->bytes; }
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

/// Calls body(group) in each thread of a team.
template <class Body>
void run_team(int size, int shared_bytes, Body const& body) {
  TeamOfThreads team(size, shared_bytes);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { body(GroupOfThreads{team, rank}); });
  for (auto& thread : threads) thread.join();
}

}  // namespace ktopk::testing
