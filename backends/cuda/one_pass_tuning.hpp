// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the tuned one_pass. Measured on an H200 (sm_90); larger devices take more
/// blocks by themselves, since grids follow the device's occupancy.
struct OnePassTuning {
  int prefetched_tiles = 3;   ///< that a block asks for while the threshold is found
  int threads = 512;          ///< of a block of the selecting kernel
  int stream_blocks = 2;      ///< of the streaming kernel, that a processor shall hold
  int neighbors = 4;          ///< adjacent keys that are sampled together: one access to memory
  int vectors_in_flight = 4;  ///< 16-byte loads that a thread issues before it looks at any
  int held_bytes = 8192;      ///< of kept composite keys that a block gathers before it goes to
                              ///< memory
  int held_hits = 2048;       ///< 16-byte loads with a key to keep that a block notes
  int bins = 2048;            ///< of the histogram of kept composite keys
  int tail_order = 8;         ///< of the threshold, up to which these bins reach eight times as far
  int sparse_order = 32;      ///< likewise, twice as far
  int boundary_bytes = 8192;  ///< of composite keys in the k-th composite key's bin, the most that
                              ///< one block settles
  int sort_tile = 2048;
  int sort_slices = 16;  ///< threads that share the counting for one composite key
  int final_runs = 16;   ///< sorted runs that are merged in one step

  friend constexpr bool operator==(OnePassTuning const&, OnePassTuning const&) = default;
};

inline constexpr OnePassTuning one_pass_tuning{};

/// The figures of one selection. Samples come in groups of a warp's, and only the best of a group
/// competes for the threshold: that errs towards keeping more, and a block can order the groups.
struct OnePassPlan {
  static constexpr int most_groups = 2048;

  std::int64_t groups;
  std::int64_t order;     ///< the threshold is about the order-th best group
  std::int64_t capacity;  ///< room for kept composite keys
};

/// The order is 4 standard deviations above the expected number of selected keys among the samples, and 4
/// more for small k: of 50 000 selections at most one is expected to fall back. There is room for six times
/// what is then expected to be kept: where position and rank go together, neighbors count as one sample.
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
