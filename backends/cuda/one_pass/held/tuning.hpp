// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of rows that a block holds in registers.
struct OnePassHeldTuning {
  int threads = 512;     ///< of a block
  int keys = 16;         ///< of a thread
  int blocks = 2;        ///< of a processor
  int least_row = 2048;  ///< keys
  int bins = 2048;       ///< of the histogram of ranks
  int few = 128;         ///< composite keys, up to which each is ranked against all others
  int repeats = 12;      ///< of the search for the best of a warp, at most

  friend constexpr bool operator==(OnePassHeldTuning const&, OnePassHeldTuning const&) = default;
};

inline constexpr OnePassHeldTuning one_pass_held_tuning{};

}  // namespace ktopk::detail::cuda
