// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the CUDA delegate.
struct DelegateTuning {
  int threads = 512;                 ///< in a block
  int blocks = 2;                    ///< that a multiprocessor should hold
  int vectors_in_flight = 4;         ///< 16-byte loads that a thread issues before it uses any
  int gathered = 2048;               ///< delegates, or parts of them, that a block stores together
  double constant = 3;               ///< in Rule 4
  int most_chunks = 4096;            ///< of subranges; the chosen ones of each chunk are counted
  int noted_bytes = 1024;            ///< for the candidates that a warp notes while it counts
  std::int64_t least_n = 1 << 17;    ///< keys in a row that is worth the launches
  std::int64_t most_rows = 64;       ///< rows are selected one after the other
  std::int64_t most_short_rows = 3;  ///< the portable text selects from more rows at once
  std::int64_t least_long_row = 64 << 20;  ///< bytes of a row that fills the device
  std::int64_t least_ratio = 64;           ///< keys per selected element
  std::int64_t one_pass_from = 1 << 20;    ///< delegates; a cluster of blocks selects among fewer

  friend constexpr bool operator==(DelegateTuning const&, DelegateTuning const&) = default;
};

inline constexpr DelegateTuning delegate_tuning{};

/// How many neighboring 16-byte vectors a warp loads at a time, and a block.
inline constexpr int delegate_warp_vectors = 32 * delegate_tuning.vectors_in_flight;
inline constexpr int delegate_tile_vectors =
    delegate_tuning.threads * delegate_tuning.vectors_in_flight;

/// How a row is divided into subranges of 2^alpha keys. They begin at the first aligned address. The few keys before
/// them, and the keys behind them, fewer than two subranges, have no delegate and are always read again.
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
  double const selected = static_cast<double>(std::max<std::int64_t>(1, k));
  double const ratio = std::log2(static_cast<double>(std::max<std::int64_t>(1, n)) / selected);
  return static_cast<int>(std::floor((delegate_tuning.constant + ratio) / 2));
}

/// A subrange is no shorter than what a thread of the strided compute takes, and no longer than the tile of a block.
/// \param forced  an alpha, within these limits; 0 for that of Rule 4
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
