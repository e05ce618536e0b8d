// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of batches.
struct OnePassBatchTuning {
  int threads = 512;         ///< in a block
  int wide_threads = 1024;   ///< in a block that has a multiprocessor and a row to itself
  int wide_part = 1 << 17;   ///< keys of a row from which on its block is wide
  int short_threads = 128;   ///< in a block that selects from short rows of many
  int middle_threads = 256;  ///< in a block that selects from longer ones of many
  int short_row = 8192;      ///< the most keys of a short row
  int blocks = 2;  ///< of `threads`, that a multiprocessor holds; of smaller ones as many more
  int vectors_in_flight = 4;  ///< 16-byte loads that a thread issues before it uses any
  int vectors_if_alone = 8;   ///< the same in a block of a cluster
  int most_bins = 2048;       ///< in the histogram of kept composite keys
  int bins_a_thread = 4;      ///< in that histogram, up to most_bins
  int wide_bins = 512;        ///< in the histograms that the blocks of a cluster add up
  int least_shared = 1024;    ///< from this k on the blocks of a cluster share the finish
  int boundary = 128;         ///< composite keys, up to which each is ranked against all others
  int crowded = 256;          ///< composite keys of a bin, above which a network sorts instead
  int most_parts = 16;        ///< blocks that share a row: sm_90's largest cluster
  int most_in_batch = 8;      ///< of them if a row is read as one of a batch
  int least_part = 2048;      ///< keys that are worth a block
  int alone_bytes = 1 << 19;  ///< of a row, below which it is not shared unless k is least_shared
  int keys_a_sample = 64;     ///< keys per sample: threads take more samples of longer rows
  int least_samples = 2048;   ///< of a row of 16384 keys and more
  int most_rounds = 8;        ///< the most samples of a thread
  float most_order = 0.75f;   ///< share of the samples; with a larger order all keys are kept
  int tail_order = 8;         ///< up to this order the bins reach eight times as far
  int sparse_order = 32;      ///< up to this order they reach twice as far

  friend constexpr bool operator==(OnePassBatchTuning const&, OnePassBatchTuning const&) = default;
};

inline constexpr OnePassBatchTuning one_pass_batch_tuning{};

/// How many adjacent keys a thread samples together. Each is a sample of its own.
inline constexpr int sample_neighbors = 4;

/// How often each of `threads` threads samples a row of n keys. It keeps the best of what it sampled.
constexpr int sample_rounds(std::int64_t n, int threads) {
  constexpr OnePassBatchTuning t = one_pass_batch_tuning;
  std::int64_t const round = std::int64_t{threads} * sample_neighbors * t.keys_a_sample;
  std::int64_t const least =
      std::min<std::int64_t>(t.least_samples, n / 8) / (std::int64_t{threads} * sample_neighbors);
  std::int64_t const rounds = std::max((n + round - 1) / round, least);
  return static_cast<int>(std::clamp<std::int64_t>(rounds, 1, t.most_rounds));
}

/// How many composite keys can be kept: 5 standard deviations more than are expected to reach the threshold, by the square
/// root of a Poisson variable, whose deviation is always 1/2, and the width of a bin.
inline int kept_capacity(std::int64_t n, std::int64_t k, int threads) {
  double const groups = static_cast<double>(threads) * sample_neighbors;
  double const ratio = static_cast<double>(n) / (groups * sample_rounds(n, threads));
  double const expected = static_cast<double>(k) / ratio;
  double const order = expected + 4 * std::sqrt(expected) + 4;
  double const share = order / groups;
  if (share > one_pass_batch_tuning.most_order)
    return static_cast<int>(std::min<std::int64_t>(n, 1 << 20));
  double const kept = -groups * std::log1p(-share) * ratio;
  double const room = kept * (1.07 + 5 / std::sqrt(order) + 6 / order) + 64;
  return static_cast<int>(std::min(room, static_cast<double>(n)));
}

}  // namespace ktopk::detail::cuda
