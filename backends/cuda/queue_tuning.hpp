// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA queue.
struct QueueTuning {
  int warps = 8;                 ///< of a block
  int warp_vectors = 4;          ///< 16-byte loads in flight of a lane, where a warp has a row
  int least_shared_row = 24576;  ///< keys of a row, from which on several blocks may share it
  int most_clustered = 8;        ///< blocks that share a row as a cluster of sm_90
  int clustered_row = 1 << 16;   ///< keys of a row that a cluster may share
  int keys_of_selected = 16;     ///< of a block's part of it, at least, for each key to select
  int tiles_of_sample = 16;      ///< of a row, of which one is bounded beforehand
  int least_sample = 64;         ///< such tiles that are worth a kernel of their own
  int warp_row = 4096;           ///< keys of a row, up to which it may have one warp alone
  int warp_rows = 4096;          ///< rows from which on each has one warp
  int warp_words = 8;            ///< most words of a lane's part of a list where a warp has a row
  int merging_warps = 16;        ///< of a block that merges lists, where they are short
  int merging_words = 8;         ///< most words of a lane's part of a short list
  int merging_bytes = 128;       ///< that a lane loads of lists before it looks at any

  /// 16-byte loads in flight of a lane, where a block has a row; their keys have a bit each in a word of 64.
  constexpr int block_vectors(int key_bytes) const { return key_bytes > 1 ? 8 : 4; }
  /// 16-byte loads of a lane, where neighboring rows are read together, and so keys of a thread in flight.
  constexpr int neighbor_vectors(int key_bytes) const { return key_bytes < 4 ? key_bytes : 4; }
  /// Blocks that a processor shall hold, where a lane's part of a list has so many words of 8 bytes.
  constexpr int blocks(int words) const { return words <= 16 ? 2 : 1; }
  /// Likewise, where a warp has a row.
  constexpr int warp_blocks(int words) const { return words <= 4 ? 4 : 3; }

  friend constexpr bool operator==(QueueTuning const&, QueueTuning const&) = default;
};

inline constexpr QueueTuning queue_tuning{};

/// Lists up to this length are held in a warp's registers.
constexpr std::int64_t queue_largest_k(int key_bytes) { return key_bytes < 8 ? 1024 : 512; }

}  // namespace ktopk::detail::cuda
