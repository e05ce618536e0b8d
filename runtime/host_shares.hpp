// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace ktopk::detail {

/// Work that threads share. Each thread begins with the same neighbors in every call, so that it finds in its caches
/// and in its part of the memory what it touched before; then it helps the others. Threads of the second half go
/// backwards: both ends of sorted keys come early, and one of them takes the longest. If several are taken at once, as
/// short rows are, these go forwards there too, because a processor prefetches that way.
class HostShares {
 public:
  HostShares(std::int64_t count, std::int64_t threads)
      : m_count(count),
        m_threads(std::min(count, threads)),
        m_shares(std::min(m_threads, most_shares)) {
    for (std::int64_t share = 0; share < m_shares; ++share) m_shared[share].taken = 0;
  }

  /// How many threads have work.
  std::int64_t threads() const { return m_threads; }

  /// Calls body(i) for every i of 0 .. count - 1 that this thread gets.
  template <class Body>
  void work(std::int64_t thread, Body const& body) {
    for (std::int64_t s = 0; s < m_shares; ++s) work_on((thread + s) % m_shares, body);
  }

 private:
  template <class Body>
  void work_on(std::int64_t share, Body const& body) {
    std::int64_t const begin = m_count * share / m_shares;
    std::int64_t const end = m_count * (share + 1) / m_shares, size = end - begin;
    bool const backwards = share > 0 && 2 * share >= m_shares;
    // Not Kokkos's: its load is an exchange, for which threads would take the line from each other.
    std::atomic_ref<std::int64_t> const taken(m_shared[share].taken);
    for (std::int64_t seen; (seen = taken.load(std::memory_order_relaxed)) < size;) {
      // It takes ever fewer at a time, so that threads come to the end together.
      std::int64_t const chunk = std::clamp<std::int64_t>((size - seen) / 8, 1, 1024);
      std::int64_t const first = taken.fetch_add(chunk, std::memory_order_relaxed);
      std::int64_t const last = std::min(first + chunk, size);
      std::int64_t const from = backwards ? end - last : begin + first;
      for (std::int64_t i = from; i < from + last - first; ++i) body(i);
    }
  }

  static constexpr std::int64_t most_shares = 256;
  struct alignas(64) Share {
    std::int64_t taken;
  };

  std::int64_t m_count, m_threads, m_shares;
  Share m_shared[most_shares];
};

}  // namespace ktopk::detail
