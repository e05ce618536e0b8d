// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA queue.
struct QueueTuning {
  int warps = 8;              ///< of a block
  int vectors_in_flight = 4;  ///< 16-byte loads that a lane issues before it looks at any
  int least_part = 8192;      ///< keys that are worth a block of their own
  int keys_of_selected = 16;  ///< likewise, for each key to select
  int warp_row = 4096;        ///< keys of a row, up to which it may have one warp alone
  int warp_rows = 4096;       ///< rows from which on each has one warp
  int warp_words = 8;         ///< most words of a lane's part of a list where a warp has a row
  int lists_in_flight = 8;    ///< lists of which a warp loads the best items before it looks at any

  /// Blocks that a processor shall hold, where a lane's part of a list has so many words of 8 bytes.
  constexpr int blocks(int words) const { return words <= 4 ? 4 : words <= 8 ? 3 : 2; }

  friend constexpr bool operator==(QueueTuning const&, QueueTuning const&) = default;
};

inline constexpr QueueTuning queue_tuning{};

/// Lists up to this length are held in a warp's registers.
constexpr std::int64_t queue_largest_k(int key_bytes) { return key_bytes < 8 ? 1024 : 512; }

}  // namespace ktopk::detail::cuda
