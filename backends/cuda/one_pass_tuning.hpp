// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the tuned one_pass. Measured on an H200 (sm_90); larger devices take more
/// blocks by themselves, since grids follow the device's occupancy.
struct OnePassTuning {
  int sample_threads = 1024;
  int stream_threads = 512;
  int vectors_in_flight = 4;  ///< 16-byte loads that a thread issues before it looks at any
  int held_items = 1024;      ///< kept items that a block gathers before it goes to memory
  int finish_threads = 512;
  int bins = 2048;            ///< of the histogram of kept items
  int boundary_items = 1024;  ///< most items of the k-th item's bin that one block settles
  int sort_tile = 2048;

  friend constexpr bool operator==(OnePassTuning const&, OnePassTuning const&) = default;
};

inline constexpr OnePassTuning one_pass_tuning{};

/// The figures of one selection. Samples come in groups of a warp's, and only the best of a group
/// competes for the threshold: that errs towards keeping more, and a block can order the groups.
struct OnePassPlan {
  std::int64_t groups;
  std::int64_t samples_per_thread;
  std::int64_t order;     ///< the threshold is about the order-th best group
  std::int64_t capacity;  ///< room for kept items
};

inline OnePassPlan one_pass_plan(std::int64_t n, std::int64_t k) {
  std::int64_t const blocks = std::clamp<std::int64_t>(n >> 14, 4, 128);
  std::int64_t const groups = blocks * (one_pass_tuning.sample_threads / 32);
  std::int64_t const each = n >= (std::int64_t{1} << 22) ? 2 : 1;
  double const ratio = static_cast<double>(n) / static_cast<double>(groups * 32 * each);
  double const expected = static_cast<double>(k) / ratio;
  double const order = expected + 6 * std::sqrt(expected) + 12;
  double const share = std::min(order / static_cast<double>(groups), 0.75);
  double const kept = -static_cast<double>(groups) * std::log1p(-share) * ratio;
  std::int64_t const most = (std::int64_t{1} << 24) + 8 * k;
  return {groups, each, static_cast<std::int64_t>(order),
          std::min(static_cast<std::int64_t>(2.5 * kept) + 4096, most)};
}

}  // namespace ktopk::detail::cuda
