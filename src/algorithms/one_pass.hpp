// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <ktopk/detail/backend.hpp>

// Sample -> an order statistic of the sample is the threshold -> one read keeps the items that reach it
// -> exact finish on the few kept. The count of the kept proves the result; where it does not (fewer than
// k, more than there is room for), radix serves that row.
// Reads the input once, plus a sample of at most 2^17 keys. k up to n / 16 or so.
// Ours. The threshold is an item, so equal keys differ by position and crowd no row.
// Prefer it for long rows and k well below n: it runs at the speed of memory on any distribution.

namespace ktopk::detail {

/// The figures of a one_pass selection, from n and k alone.
struct OnePassPlan {
  std::int64_t samples;
  std::int64_t order;     ///< the threshold is the order-th best sample
  std::int64_t capacity;  ///< room for kept items
};

/// The smallest order that a Poisson variable of this mean reaches with a probability below 1e-7, by
/// Chernoff's bound: a sample holds so many winners that seldom.
inline std::int64_t safe_order(double mean) {
  auto order = static_cast<std::int64_t>(mean) + 1;
  auto const log_bound = [mean](double x) { return x - mean - x * std::log(x / mean); };
  while (log_bound(static_cast<double>(order)) > -16.1) ++order;
  return order;
}

/// An order that fewer than k items reach once in ten million times, and twice the room that is then
/// expected to be needed. Beyond 2^17 keys a sample the sample grows, so that the room is bounded in n.
inline OnePassPlan one_pass_plan(std::int64_t n, std::int64_t k) {
  std::int64_t const small = std::clamp<std::int64_t>(n / 64, 1, 16384);
  std::int64_t const samples = std::clamp<std::int64_t>(n >> 17, small, 131072);
  double const ratio = static_cast<double>(n) / static_cast<double>(samples);
  double const expected = static_cast<double>(k) / ratio;
  std::int64_t const order = safe_order(expected);
  auto const kept = static_cast<std::int64_t>(static_cast<double>(order) * ratio);
  std::int64_t const most = (std::int64_t{1} << 21) + 8 * k;
  return {samples, order, std::min(2 * kept + 1024, most)};
}

template <>
struct OnePass<Generic> {
  static constexpr char const* label = "ktopk::one_pass";
  static constexpr std::int64_t smallest_n = 16384;
  static bool supports(Shape const& shape, Options const&) {
    if (shape.ragged || shape.n < smallest_n) return false;
    OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
    return plan.order * 4 <= plan.samples;
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
