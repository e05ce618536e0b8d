// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of many short rows.
struct OnePassWarpTuning {
  int warps = 8;              ///< of a block, each of which has rows to itself
  int blocks = 2;             ///< of a processor
  int vectors = 8;            ///< 16-byte loads of a lane that it issues together
  int list = 256;             ///< composite keys that a warp keeps
  int most_k = 32;            ///< a lane stores one
  int least_row = 4096;       ///< keys: several tiles, one of which gives the threshold
  int most_row = 32768;       ///< keys, above which a block is faster
  int rows_a_processor = 16;  ///< rows from which on enough warps are busy

  friend constexpr bool operator==(OnePassWarpTuning const&, OnePassWarpTuning const&) = default;
};

inline constexpr OnePassWarpTuning one_pass_warp_tuning{};

}  // namespace ktopk::detail::cuda
