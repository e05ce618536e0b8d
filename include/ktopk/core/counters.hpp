// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <ktopk/config.hpp>
#include <ktopk/core/macros.hpp>

// The counts of which the papers speak. A build with KTOPK_ENABLE_COUNTERS counts on hosts; in any other build the
// counting compiles to nothing.

namespace ktopk::detail {

enum class Count {
  keys_read,           ///< keys of the input looked at
  composites_read,     ///< composite keys of buffers looked at
  composites_written,  ///< composite keys put into buffers
  passes,              ///< times that a row, or its buffer, was read from end to end
  flushes,             ///< times that a group's buffer was written out
  insertions,          ///< composite keys that entered a heap or a queue
  comparisons,         ///< of one composite key with another
  iterations,          ///< steps of a search for a threshold
  delegates,           ///< composite keys of the delegate vector
  candidates,          ///< composite keys that the last step selects from
  number_of_counts
};

class Counters {
 public:
  void clear() {
    for (auto& counter : m_counters) counter = 0;
  }
  void add(Count what, std::int64_t amount) {
    m_counters[static_cast<std::size_t>(what)].fetch_add(amount, std::memory_order_relaxed);
  }
  std::int64_t operator[](Count what) const { return m_counters[static_cast<std::size_t>(what)]; }

 private:
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Count::number_of_counts)>
      m_counters{};
};

inline Counters& counters() {
  static Counters all;
  return all;
}

/// Adds to a count, on a host and in a build that counts.
KTOPK_FUNCTION inline void tally([[maybe_unused]] Count what,
                                 [[maybe_unused]] std::int64_t amount) {
#if KTOPK_ENABLE_COUNTERS && !defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
  counters().add(what, amount);
#endif
}

}  // namespace ktopk::detail
