// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include <ktopk/detail/testing.hpp>

#include "../group.hpp"

// Every subrange of 2^alpha keys sends its two best as delegates; the k best delegates tell which subranges
// can hold more winners, and only those are looked at again. Any keys, the same work: k up to n / 16.
// Reads the input once, plus some 4 k keys of it, and a delegate vector of about sqrt(n k / 2) items.
// After Dr. Top-k (Gaihre et al., SC '21, 4.1-4.3 and 5.2: Rules 1 to 4, beta = 2), with Options::inner.
// Prefer it for long rows and k well below n where work must not depend on the keys or on a sample.

namespace ktopk::detail {

/// log2 of the subrange's length by Rule 4, where `constant` = 3 is that of Figure 14.
inline int rule_4(std::int64_t n, std::int64_t k, double constant = 3) {
  double const ratio = std::log2(static_cast<double>(n) / static_cast<double>(k));
  return std::max(1, static_cast<int>(std::floor((constant + ratio) / 2)));
}

/// What one subrange more, one key more to look at again, and one key more that the best two of a subrange
/// are compared with cost, in any unit.
struct DelegateCosts {
  double subrange, candidate, offer;
};

/// Measured on an AVX-512 host, where delegates leave SIMD registers by rows of 64.
inline constexpr DelegateCosts host_costs{4, 3, 0.2};

/// What depends on alpha. Rule 4 takes it that the subranges of all k delegates are looked at again; with two
/// delegates, and keys in random order, Rule 3 leaves but about the share x^2 / (2 + x) of all subranges, of
/// each of which x = k 2^alpha / n delegates are chosen.
inline double delegate_cost(double n, double k, int alpha, DelegateCosts const& costs) {
  double const length = std::exp2(alpha), subranges = n / length, x = k / subranges;
  // Until this step one of 64 interleaved subranges is expected to change, and so all are offered keys.
  double const often = 2 * 64;
  double const offered = length > often ? often * (1 + std::log(length / often)) : length;
  return subranges * (costs.subrange + costs.offer * offered) +
         n * costs.candidate * x * x / (2 + x);
}

/// log2 of the subrange's length at which that is least.
inline int choose_alpha(std::int64_t n, std::int64_t k, DelegateCosts const& costs) {
  auto const cost = [&](int alpha) {
    return delegate_cost(static_cast<double>(n), static_cast<double>(k), alpha, costs);
  };
  int best = 1;
  for (int alpha = 2; k << alpha <= 2 * n; ++alpha)
    if (cost(alpha) < cost(best)) best = alpha;
  return best;
}

/// How a row is cut up: into blocks of 64 subranges that lie interleaved, so that the keys which a SIMD
/// register or neighboring threads read side by side belong to as many subranges. It is the strided
/// compute of section 5.3 without its detour by shared memory, and needs no shuffle at any alpha.
struct DelegatePlan {
  static constexpr std::int64_t lanes = 64;

  std::int64_t n;
  int alpha;
  std::int64_t blocks;  ///< the last of them takes the rest, so no subrange has fewer than two keys

  KTOPK_FUNCTION std::int64_t block_keys() const { return lanes << alpha; }
  KTOPK_FUNCTION std::int64_t subranges() const { return blocks * lanes; }
  KTOPK_FUNCTION std::int64_t delegates() const { return 2 * subranges(); }
  KTOPK_FUNCTION std::int64_t block_end(std::int64_t block) const {
    return block + 1 < blocks ? (block + 1) * block_keys() : n;
  }
  KTOPK_FUNCTION std::int64_t subrange_of(std::int64_t position) const {
    std::int64_t const block = position / block_keys();
    return (block < blocks ? block : blocks - 1) * lanes + position % lanes;
  }
  /// The most keys that k delegates leave to select from: themselves, and by Rule 3 all of a subrange of
  /// which they are both delegates.
  std::int64_t candidates(std::int64_t k) const {
    std::int64_t const most = k / 2, length = std::int64_t{1} << alpha;
    return std::min(n, k + most * (length - 2) + std::min(most, lanes) * length);
  }
};

inline DelegatePlan delegate_plan(std::int64_t n, int alpha) {
  return {n, alpha, std::max<std::int64_t>(1, n / (DelegatePlan::lanes << alpha))};
}

/// The plan by measured costs on a host and else by Rule 4, or one with shorter subranges where the device
/// would not be full, a host with two blocks a thread. The step within a subrange has to fit a key of 8 bits.
inline DelegatePlan delegate_plan(Device const& device, Shape const& shape) {
  std::int64_t const busy =
      device.host ? DelegatePlan::lanes * ((parts_of_row(device, shape.rows, shape.n) + 1) / 2)
                  : device.concurrency / shape.rows;
  auto const share = static_cast<std::uint64_t>(shape.n / std::max(busy, DelegatePlan::lanes));
  int const best =
      device.host ? choose_alpha(shape.n, shape.k, host_costs) : rule_4(shape.n, shape.k);
  int const forced = forced_alpha;
  int const fitting = std::min(best, static_cast<int>(std::bit_width(share)) - 1);
  int const alpha = forced != 0 ? forced : fitting;
  return delegate_plan(shape.n, std::max(1, std::min(alpha, 8 * shape.key_bytes - 1)));
}

template <>
struct Delegate<Generic> {
  static constexpr char const* label = "ktopk::delegate";
  static constexpr std::int64_t smallest_n = 2 * DelegatePlan::lanes;
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return !shape.ragged && shape.n >= smallest_n && shape.k <= shape.n / 16;
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
