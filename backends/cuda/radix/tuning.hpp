// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ktopk/core/macros.hpp>

namespace ktopk::detail::cuda {

/// What may be tuned in the tuned radix.
struct RadixTuning {
  int threads = 512;          ///< in a block
  int blocks = 2;             ///< that a multiprocessor should hold
  int vectors_in_flight = 4;  ///< 16-byte loads that a thread issues before it uses any
  int bins = 512;             ///< in the histogram of a digit
  int noted_bytes = 2048;     ///< for keys that a warp notes before it writes them
  int settled_bytes = 16384;  ///< for the bin of the k-th composite key, from which one block
                              ///< selects
  int sampled_bytes = 128;    ///< for the composite keys that a thread samples
  std::int64_t least_sampled = 1 << 13;  ///< keys of a row that is worth a sample
  std::int64_t sampled_twice = 1 << 22;  ///< from this length on each thread takes two samples
  std::int64_t sampled_more = 1 << 27;   ///< from this length on it takes four
  int least_part = 8192;                 ///< keys that are worth a block
  int turn_keys =
      1
      << 14;  ///< that a block could read while its group begins and ends a row; twice for a shared row
  int ragged_lengths = 4;  ///< mean lengths, of which a row has candidates without a second reading

  friend constexpr bool operator==(RadixTuning const&, RadixTuning const&) = default;
};

inline constexpr RadixTuning radix_tuning{};

/// How many adjacent keys are sampled together.
constexpr int radix_neighbors(int key_bytes) { return key_bytes == 8 ? 2 : 4; }

/// How often each thread of a block samples a row: a power of two.
KTOPK_FUNCTION constexpr int radix_sample_rounds(std::int64_t n, int neighbors,
                                                 int composite_key_bytes) {
  constexpr RadixTuning t = radix_tuning;
  int const most = t.sampled_bytes / (composite_key_bytes * neighbors);
  int const rounds = n >= t.sampled_more ? 4 : n >= t.sampled_twice ? 2 : 1;
  return rounds < most ? rounds : most;
}

/// Which samples, counted from the best, should be just above and just below the k-th composite key.
struct RadixOrders {
  int high;  ///< below 1 if none is sure to be above
  int low;
};

/// Four standard deviations to each side of the expected order, and a little more if that is few samples.
KTOPK_FUNCTION inline RadixOrders radix_orders(int samples, float share) {
  float const expected = share * static_cast<float>(samples);
  float const margin = 4 * std::sqrt(expected * (1 - share));
  return {static_cast<int>(expected - margin - 1), static_cast<int>(expected + margin + 5)};
}

/// How many composite keys a bracket can hold: four standard deviations more than expected.
inline std::int64_t radix_capacity(std::int64_t n, std::int64_t k, int key_bytes,
                                   int composite_key_bytes) {
  constexpr RadixTuning t = radix_tuning;
  if (n < t.least_sampled) return n;
  int const neighbors = radix_neighbors(key_bytes);
  int const samples =
      t.threads * neighbors * radix_sample_rounds(n, neighbors, composite_key_bytes);
  RadixOrders const orders = radix_orders(samples, static_cast<float>(k) / static_cast<float>(n));
  double const within = std::min(orders.low, samples) - std::max(orders.high, 0);
  double const most = within * 1.15 + 4 * std::sqrt(within) + 4;
  double const keys_a_sample = static_cast<double>(n) / samples;
  return std::min(n, static_cast<std::int64_t>(most * keys_a_sample) + t.least_sampled);
}

}  // namespace ktopk::detail::cuda
