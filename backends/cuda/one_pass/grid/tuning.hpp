// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the tuned one_pass. Measured on an H200 (sm_90). Larger devices get more blocks, because grids
/// follow the occupancy of the device.
struct OnePassTuning {
  int prefetched_tiles = 3;   ///< tiles that a block prefetches before it knows the threshold
  int early_tiles = 1;        ///< of them before the samples come, which they delay
  int threads = 512;          ///< in a block
  int stream_blocks = 2;      ///< of the streaming kernel that a multiprocessor should hold
  int neighbors = 4;          ///< adjacent keys that are sampled together: one access to memory
  int vectors_in_flight = 4;  ///< 16-byte loads that a thread issues before it uses any
  int held_bytes = 8192;      ///< for kept composite keys that a block gathers in shared memory
  int held_hits = 2048;       ///< 16-byte vectors with a key to keep that a block notes
  int bins = 2048;            ///< in the histogram of kept composite keys
  int tail_order = 8;         ///< up to this order the bins reach eight times as far
  int sparse_order = 32;      ///< up to this order they reach twice as far
  int boundary_bytes = 8192;  ///< for the bin of the k-th composite key; if it is larger, digits
                              ///< decide
  int kept_alone = 2048;      ///< kept composite keys up to which one block selects

  friend constexpr bool operator==(OnePassTuning const&, OnePassTuning const&) = default;
};

inline constexpr OnePassTuning one_pass_tuning{};

/// The sizes of a selection. The samples of a warp are a group, and only the best of a group counts for the threshold.
/// That keeps rather too many keys than too few, and a block can order the groups.
struct OnePassPlan {
  static constexpr int most_groups = 2048;

  std::int64_t groups;
  std::int64_t order;     ///< the threshold is about the order-th best group
  std::int64_t capacity;  ///< composite keys that can be kept
};

/// The order is 4 standard deviations above the expected number of selected keys among the samples, and 4 more for
/// small k: at most one of 50 000 selections is expected to fall back. The capacity is six times the number of keys
/// that are expected to reach the threshold: if ranks depend on the position, neighbors count as one sample.
inline OnePassPlan one_pass_plan(std::int64_t n, std::int64_t k) {
  constexpr OnePassTuning t = one_pass_tuning;
  std::int64_t const groups = std::clamp<std::int64_t>(n >> 10, 128, OnePassPlan::most_groups);
  double const ratio = static_cast<double>(n) / static_cast<double>(groups * 32 * t.neighbors);
  double const expected = static_cast<double>(k) / ratio;
  double const order = expected + 4 * std::sqrt(expected) + 4;
  double const share = std::min(order / static_cast<double>(groups), 0.75);
  double const kept = -static_cast<double>(groups) * std::log1p(-share) * ratio;
  std::int64_t const most = 6 * (std::int64_t{1} << 20) + 8 * k;
  return {groups, static_cast<std::int64_t>(order),
          std::min(static_cast<std::int64_t>(6 * kept) + 4096, most)};
}

}  // namespace ktopk::detail::cuda
