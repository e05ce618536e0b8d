// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA bisection.
struct BisectionTuning {
  int warps = 4;          ///< of a block
  int blocks = 5;         ///< that a processor shall hold, where a lane holds many keys
  int keys_of_lane = 64;  ///< the most keys that a lane holds
  int ties = 32;          ///< keys with the code of the k-th that are ranked among themselves
  int stale_rounds = 3;   ///< rounds that part no keys, after which the codes are spread anew
  int batches_of_processor = 8;  ///< fewer batches than this are spread over more lanes a row

  friend constexpr bool operator==(BisectionTuning const&, BisectionTuning const&) = default;
};

inline constexpr BisectionTuning bisection_tuning{};

/// Rows up to this length are held by one warp.
inline constexpr std::int64_t bisection_longest_row = 32 * bisection_tuning.keys_of_lane;

}  // namespace ktopk::detail::cuda
