// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include <ktopk/core/testing.hpp>

#include "../run/launch.hpp"

// Every subrange of 2^alpha keys has its two best as delegates; the k best delegates show which subranges can hold
// more of the k best keys, and only those are read again. The work does not depend on the keys. k up to n / 16.
// Reads the input once, plus some 4 k keys of it, and a delegate vector of about sqrt(n k / 2) composite keys.
// After Dr. Top-k (Gaihre et al., SC '21, 4.1-4.3 and 5.2: Rules 1 to 4, beta = 2), with Options::inner.
// Prefer it for long rows and k well below n, if the work must not depend on the keys or on a sample.

namespace ktopk::detail {

/// log2 of the length of a subrange by Rule 4; `constant` = 3 is that of Figure 14.
inline int rule_4(std::int64_t n, std::int64_t k, double constant = 3) {
  double const ratio = std::log2(static_cast<double>(n) / static_cast<double>(k));
  return std::max(1, static_cast<int>(std::floor((constant + ratio) / 2)));
}

/// How a row is divided: into blocks of 64 interleaved subranges, so that the keys which neighboring threads read
/// side by side belong to as many subranges. It is the strided compute of section 5.3 without its detour through
/// shared memory, and needs no shuffle at any alpha.
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
  /// The most candidates that k chosen delegates leave: themselves, and by Rule 3 all keys of a subrange of which both
  /// delegates are chosen.
  std::int64_t candidates(std::int64_t k) const {
    std::int64_t const most = k / 2, length = std::int64_t{1} << alpha;
    return std::min(n, k + most * (length - 2) + std::min(most, lanes) * length);
  }
};

inline DelegatePlan delegate_plan(std::int64_t n, int alpha) {
  return {n, alpha, std::max<std::int64_t>(1, n / (DelegatePlan::lanes << alpha))};
}

/// The plan by Rule 4, or one with shorter subranges if the device would not be full otherwise: then every thread has a
/// subrange, and every other group a block.
inline DelegatePlan delegate_plan(Device const& device, Shape const& shape) {
  std::int64_t const parts = parts_of_row(device, shape.rows, shape.n);
  std::int64_t const busy =
      std::max(device.concurrency / shape.rows, DelegatePlan::lanes * ((parts + 1) / 2));
  auto const share = static_cast<std::uint64_t>(shape.n / busy);
  int const fitting =
      std::min(rule_4(shape.n, shape.k), static_cast<int>(std::bit_width(share)) - 1);
  int const forced = forced_alpha;
  return delegate_plan(shape.n, std::max(1, forced != 0 ? forced : fitting));
}

template <>
struct Delegate<Generic> {
  static constexpr Algorithm algorithm = Algorithm::delegate;
  static constexpr char const* label = "ktopk::delegate";
  static constexpr std::int64_t smallest_n = 2 * DelegatePlan::lanes;
  static Reason declines(Asked const& a) {
    if (a.shape.ragged) return "ragged rows";
    if (a.shape.n < smallest_n) return "rows of too few keys for delegates";
    return a.shape.k <= a.shape.n / 16 ? nullptr : "k above n / 16";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
