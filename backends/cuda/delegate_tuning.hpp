// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA delegate.
struct DelegateTuning {
  int threads = 512;                 ///< of a block
  int blocks = 2;                    ///< that a processor shall hold
  int vectors_in_flight = 4;         ///< 16-byte loads that a thread issues before it looks at any
  int gathered = 2048;               ///< delegates, or parts of them, that a block stores together
  double constant = 3;               ///< of Rule 4
  int most_chunks = 4096;            ///< of subranges, of each of which the chosen are counted
  int noted_bytes = 1024;            ///< of notes of the candidates that a warp counts
  std::int64_t least_n = 1 << 17;    ///< keys of a row that is worth the launches
  std::int64_t most_rows = 64;       ///< they are selected one after the other
  std::int64_t most_short_rows = 3;  ///< the portable text selects from more at once
  std::int64_t least_long_row = 64 << 20;  ///< bytes; by then a row fills the device
  std::int64_t least_ratio = 64;           ///< of keys to selected elements
  std::int64_t one_pass_from = 1 << 20;    ///< delegates; fewer are selected by a cluster of blocks

  friend constexpr bool operator==(DelegateTuning const&, DelegateTuning const&) = default;
};

inline constexpr DelegateTuning delegate_tuning{};

/// 16-byte loads of a warp that stand side by side, and of a block.
inline constexpr int delegate_warp_vectors = 32 * delegate_tuning.vectors_in_flight;
inline constexpr int delegate_tile_vectors =
    delegate_tuning.threads * delegate_tuning.vectors_in_flight;

/// How a row is cut into subranges of 2^alpha keys. They begin at the first aligned address; the few keys before
/// them and the less than two subranges behind them have no delegate, and are candidates always.
struct DelegatePlan {
  int alpha;
  std::int64_t subranges;

  std::int64_t length() const { return std::int64_t{1} << alpha; }
  /// The most keys that can be concatenated: those of k subranges and those without a delegate.
  std::int64_t candidates(std::int64_t n, std::int64_t k, int key_bytes) const {
    return std::min(n, (k + 1) * length() + 16 / key_bytes);
  }
};

/// log2 of the subrange's length by Rule 4 of Dr. Top-k (section 5.2).
inline int delegate_rule_4(std::int64_t n, std::int64_t k) {
  double const ratio = std::log2(static_cast<double>(n) / static_cast<double>(k));
  return static_cast<int>(std::floor((delegate_tuning.constant + ratio) / 2));
}

/// \param forced  alpha, but for the limits; 0 for that of Rule 4
/// A subrange is no shorter than what a thread of the strided compute takes, and no longer than a block's tile.
inline DelegatePlan delegate_plan(std::int64_t n, std::int64_t k, int key_bytes, int forced) {
  int const width = 16 / key_bytes;
  auto const log2_of = [](std::int64_t power) {
    int log = 0;
    while (power >> log > 1) ++log;
    return log;
  };
  int const least = log2_of(delegate_tuning.vectors_in_flight * width);
  int const most = log2_of(delegate_tile_vectors * width);
  int const alpha = std::clamp(forced != 0 ? forced : delegate_rule_4(n, k), least, most);
  return {alpha, (n - (width - 1)) >> alpha};
}

}  // namespace ktopk::detail::cuda
