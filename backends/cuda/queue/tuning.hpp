// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA queue.
struct QueueTuning {
  int warps = 8;                 ///< in a block
  int warp_vectors = 4;          ///< 16-byte loads in flight of a lane, if a warp has a row
  int least_shared_row = 24576;  ///< keys; several blocks may share a row of this length
  int most_clustered = 8;        ///< blocks that share a row as a cluster of sm_90
  int clustered_row = 1 << 16;   ///< keys; a cluster shares no longer row
  int keys_of_selected = 16;     ///< the fewest keys of a block's part for each selected key
  int tiles_of_sample = 16;      ///< of so many tiles of a row one is sampled beforehand
  int least_sample = 64;         ///< so many sampled tiles are worth a kernel of their own
  int warp_row = 4096;           ///< keys; a warp has no longer row to itself
  int warp_rows = 4096;          ///< from so many rows on each has one warp
  int warp_words = 8;            ///< most words of a lane's part of a list if a warp has a row
  int merging_warps = 16;        ///< in a block that merges short lists
  int merging_words = 8;         ///< most words of a lane's part of a short list
  int merging_bytes = 128;       ///< of lists that a lane loads before it uses any

  /// 16-byte loads in flight of a lane, if a block has a row. Their keys have a bit each in a word of 64.
  constexpr int block_vectors(int key_bytes) const { return key_bytes > 1 ? 8 : 4; }
  /// The same if neighboring rows are read together; a thread loads as many keys at a time as these vectors hold.
  constexpr int neighbor_vectors(int key_bytes) const { return key_bytes < 4 ? key_bytes : 4; }
  /// Blocks that a multiprocessor should hold, if a lane's part of a list has so many words of 8 bytes.
  constexpr int blocks(int words) const { return words <= 16 ? 2 : 1; }
  /// The same if a warp has a row.
  constexpr int warp_blocks(int words) const { return words <= 4 ? 4 : 3; }

  friend constexpr bool operator==(QueueTuning const&, QueueTuning const&) = default;
};

inline constexpr QueueTuning queue_tuning{};

/// The longest list that the registers of a warp hold.
constexpr std::int64_t queue_largest_k(int key_bytes) { return key_bytes < 8 ? 1024 : 512; }

}  // namespace ktopk::detail::cuda
