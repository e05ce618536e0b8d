// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of few rows, which clusters share.
struct OnePassClusterTuning {
  int threads = 256;  ///< in a block; more take longer, because much work is the same in each warp
  int bytes_in_flight = 128;  ///< that a thread loads of a long row before it uses any
  int bytes_of_short = 32;    ///< the same for a short row
  int least_part = 2048;      ///< keys that are worth a block
  float most_order = 0.9f;    ///< share of the samples; with a larger order there is no threshold
  int inbox_bytes = 32768;    ///< for the most composite keys that a block sorts
  int expected = 1024;        ///< of them, in rows whose best keys are not neighbors
  int crowded_bin = 64;       ///< if a bin has more composite keys, a network sorts
  int many_selected = 1024;   ///< from this k on blocks are worth more than processors

  /// Blocks that share a row, at least: fewer take longer to put many selected keys in order than a finish in one block.
  constexpr int least_parts(std::int64_t k) const {
    return k <= 256 ? 3 : k < many_selected ? 4 : 8;
  }
  /// Batches of such loads, at most.
  constexpr int most_batches(int parts) const { return parts < 8 ? parts : 8; }

  friend constexpr bool operator==(OnePassClusterTuning const&,
                                   OnePassClusterTuning const&) = default;
};

inline constexpr OnePassClusterTuning one_pass_cluster_tuning{};

/// The most composite keys that a block sorts.
template <class CompositeKey>
inline constexpr int cluster_inbox =
    one_pass_cluster_tuning.inbox_bytes / static_cast<int>(sizeof(CompositeKey));

}  // namespace ktopk::detail::cuda
