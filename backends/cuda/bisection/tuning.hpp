// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA bisection.
struct BisectionTuning {
  int warps = 4;    ///< in a block
  int rounds = 16;  ///< of halving at most; then the keys left are ranked or get new codes
  int batches_of_processor = 8;  ///< with fewer batches of rows a row has more lanes
  int many_ragged = 2000;        ///< from so many ragged rows on short ones share a warp
  int stretch = 16;  ///< a best key so many times as far away as the second is an outlier

  /// Warps of a block that transposes columns: with more rows it reads longer runs of each column.
  constexpr int most_warps(int keys, int key_bytes) const {
    return warps_of_processor(keys, key_bytes) > 12 ? 8 : 4;
  }
  /// Warps that a multiprocessor should hold if each lane holds so many keys. Its shared memory holds 12 times 16 KB.
  constexpr int warps_of_processor(int keys, int key_bytes) const {
    return keys > 64 || keys * key_bytes > 256 ? 12 : keys > 32 || key_bytes > 4 ? 24 : 32;
  }
  constexpr int warps_of_regular(int lanes, int keys) const {
    return keys <= 32 ? 24 : lanes < 8 ? 20 : warps_of_processor(keys, 4);
  }
  /// The most selected keys of a row that a warp sorts in its registers.
  constexpr int most_sorted(int key_bytes) const { return 32 * (key_bytes < 8 ? 16 : 4); }
  /// The most keys with the code of the k-th that are ranked among themselves.
  constexpr int ties(int lanes) const { return lanes < 2 ? 4 : lanes < 8 ? 4 * lanes : 32; }

  friend constexpr bool operator==(BisectionTuning const&, BisectionTuning const&) = default;
};

inline constexpr BisectionTuning bisection_tuning{};

/// The longest row that a warp holds.
constexpr std::int64_t bisection_longest_row(int key_bytes) { return key_bytes < 8 ? 4096 : 2048; }

}  // namespace ktopk::detail::cuda
