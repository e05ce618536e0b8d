// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/rank.hpp>
#include <ktopk/detail/stored.hpp>

// A host's inner loop of delegate: the two best of 64 subranges at a time, which lie interleaved so that
// SIMD lanes read side by side.

namespace ktopk::detail {

inline constexpr int best_two_lanes = 64;

/// The two best ranks of each of 64 interleaved sequences, and at which step of it they were met.
template <class Bits>
struct BestTwo {
  alignas(64) Bits ranks[2][best_two_lanes];
  alignas(64) Bits steps[2][best_two_lanes];
};

/// Goes on with `best` over `count` keys that begin with step `step` of all sequences; step 0 begins anew
/// and takes at least two. \param late  whether the later of equal ranks is the better one
template <class Bits>
using BestTwoLoop = void (*)(Stored<Bits> const*, int, RankMap<Bits> const&, int, bool,
                             BestTwo<Bits>&);

/// The fastest of these that this processor runs.
template <class Bits>
BestTwoLoop<Bits> pick_best_two();

}  // namespace ktopk::detail
