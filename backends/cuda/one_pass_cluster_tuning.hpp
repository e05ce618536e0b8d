// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of few rows, which clusters share.
struct OnePassClusterTuning {
  int threads = 256;  ///< of a block: all warps do much alike, so that more of them take longer
  int bytes_in_flight = 128;  ///< that a thread loads before it looks at any, where a row is long
  int bytes_of_short = 32;    ///< likewise where it is short
  int most_batches = 8;       ///< of such loads
  int least_parts = 4;        ///< blocks that share a row
  int least_part = 2048;      ///< keys that are worth a block
  float most_order =
      0.75f;         ///< of the threads, whose best keys are the sample; a threshold beyond is none
  int inbox = 2048;  ///< composite keys that a block puts in order, at most
  int crowded_bin = 64;  ///< composite keys of it, above which they are sorted by a network

  friend constexpr bool operator==(OnePassClusterTuning const&,
                                   OnePassClusterTuning const&) = default;
};

inline constexpr OnePassClusterTuning one_pass_cluster_tuning{};

}  // namespace ktopk::detail::cuda
