// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include <ktopk/problem.hpp>

// What all implementations of one_pass share: how many keys to sample, and which of the samples is the threshold.

namespace ktopk::detail {

/// The sizes of a one_pass selection. They depend on n and k alone.
struct OnePassPlan {
  std::int64_t samples;
  std::int64_t order;     ///< the threshold is the order-th best sample
  std::int64_t capacity;  ///< room for kept composite keys
};

/// A bound on the logarithm of the probability that a Poisson variable of this mean is x, or further from the mean on
/// the same side. Stirling's formula bounds the probability of x itself, a geometric series that of all beyond.
inline double log_poisson_tail(double mean, double x) {
  if (x <= 0) return -mean;
  double const ratio = x > mean ? mean / (x + 1) : x / mean;
  double const at_x = x - mean - x * std::log(x / mean) - 0.5 * std::log(2 * std::numbers::pi * x);
  return at_x - std::log1p(-ratio);
}

/// One selection in a hundred thousand may fall back for each of two causes; each costs two more reads.
inline constexpr double log_seldom = -11.5;

/// Returns a number of selected keys that a sample seldom holds if it is expected to hold `mean`.
inline std::int64_t safe_order(double mean) {
  auto order = static_cast<std::int64_t>(mean + 4 * std::sqrt(mean)) + 1;
  while (log_poisson_tail(mean, static_cast<double>(order)) > log_seldom) ++order;
  return order;
}

/// Returns a mean so large that a sample that is expected to hold so many kept keys seldom holds fewer than `order`.
inline double safe_capacity(std::int64_t order) {
  auto mean = static_cast<double>(order) + 4 * std::sqrt(static_cast<double>(order));
  while (log_poisson_tail(mean, static_cast<double>(order - 1)) > log_seldom) mean *= 1.01;
  return mean;
}

/// How many keys to sample. The sample costs about as much as the keys that it lets through: sqrt(n) for few selected
/// keys, cbrt(k n) for many. Beyond 2^31 keys it grows again, so that the list of kept keys is bounded in n.
inline std::int64_t sample_size(std::int64_t n, std::int64_t k) {
  auto const size = static_cast<double>(n), selected = static_cast<double>(k);
  auto const balanced = static_cast<std::int64_t>(
      std::max(3 * std::sqrt(size), 2 * std::cbrt(size) * std::cbrt(selected)));
  if (n < (1 << 19)) return std::clamp<std::int64_t>(balanced, 1, std::min<std::int64_t>(4096, n));
  std::int64_t const most = std::min<std::int64_t>(n / 64, 16384);
  return std::max(std::min(balanced, most), std::min<std::int64_t>(n >> 17, 131072));
}

/// The order is so large that fewer than k composite keys seldom reach the threshold, and the capacity so large that
/// more than it seldom do.
inline OnePassPlan one_pass_plan(std::int64_t n, std::int64_t any_k) {
  std::int64_t const k = std::min(any_k, n);  // where there are no rows, k may be larger
  std::int64_t const samples = sample_size(n, k);
  double const ratio = static_cast<double>(n) / static_cast<double>(samples);
  double const expected = static_cast<double>(k) / ratio;
  std::int64_t const order = safe_order(expected);
  auto const capacity = static_cast<std::int64_t>(safe_capacity(order) * ratio);
  std::int64_t const most = (std::int64_t{1} << 22) + 8 * k;
  return {samples, order, std::min({capacity, most, n})};
}

/// Whether rows of a shape are long enough, and k is so small that the read keeps few keys.
inline bool one_pass_serves(Shape const& shape) {
  constexpr std::int64_t smallest_n = 2048;
  if (shape.ragged || shape.n < smallest_n) return false;
  OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
  return plan.order * 4 <= plan.samples;
}

/// The same of ragged rows, by their mean length.
inline bool one_pass_serves_ragged(Shape const& shape) {
  constexpr std::int64_t few = 4;
  return shape.ragged && shape.rows > 0 && shape.k <= shape.n / shape.rows / few;
}

}  // namespace ktopk::detail
