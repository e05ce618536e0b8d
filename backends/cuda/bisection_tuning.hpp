// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA bisection.
struct BisectionTuning {
  int warps = 4;    ///< of a block
  int rounds = 16;  ///< of halving, after which what is left is ranked or gets new codes
  int batches_of_processor = 8;  ///< fewer batches than this are spread over more lanes a row
  int stretch = 16;  ///< the best key this many times as far away as others counts as an outlier

  /// Of a block where more of its rows make longer pieces of columns.
  constexpr int most_warps(int keys) const { return keys > 64 ? 4 : 8; }
  /// Warps that a processor shall hold, where a lane holds so many keys.
  constexpr int warps_of_processor(int keys) const { return keys > 64 ? 12 : keys > 32 ? 24 : 32; }
  constexpr int warps_of_regular(int lanes, int keys) const {
    return keys <= 32 ? 24 : lanes < 8 ? 20 : warps_of_processor(keys);
  }
  /// Keys with the code of the k-th that are ranked among themselves.
  constexpr int ties(int lanes) const { return lanes < 2 ? 4 : lanes < 8 ? 4 * lanes : 32; }

  friend constexpr bool operator==(BisectionTuning const&, BisectionTuning const&) = default;
};

inline constexpr BisectionTuning bisection_tuning{};

/// Rows up to this length are held by one warp.
constexpr std::int64_t bisection_longest_row(int key_bytes) { return key_bytes < 8 ? 4096 : 2048; }

}  // namespace ktopk::detail::cuda
