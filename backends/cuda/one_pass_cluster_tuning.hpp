// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of few rows, which clusters share.
struct OnePassClusterTuning {
  int threads = 256;  ///< in a block; more take longer, because much work is the same in each warp
  int bytes_in_flight = 128;  ///< that a thread loads of a long row before it uses any
  int bytes_of_short = 32;    ///< the same for a short row
  int most_batches = 8;       ///< of such loads
  int least_parts = 4;        ///< blocks that share a row
  int least_part = 2048;      ///< keys that are worth a block
  float most_order = 0.75f;   ///< share of the samples; with a larger order there is no threshold
  int inbox_bytes = 32768;    ///< for the most composite keys that a block sorts
  int expected = 1024;        ///< of them, in rows whose best keys are not neighbors
  int crowded_bin = 64;       ///< if a bin has more composite keys, a network sorts

  friend constexpr bool operator==(OnePassClusterTuning const&,
                                   OnePassClusterTuning const&) = default;
};

inline constexpr OnePassClusterTuning one_pass_cluster_tuning{};

/// The most composite keys that a block sorts.
template <class CompositeKey>
inline constexpr int cluster_inbox =
    one_pass_cluster_tuning.inbox_bytes / static_cast<int>(sizeof(CompositeKey));

}  // namespace ktopk::detail::cuda
