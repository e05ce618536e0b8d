// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "loops.hpp"

namespace ktopk::detail {

/// A threshold for the k best of some keys, from the best of each of at least twice as many classes of their places:
/// the k-th of these k keys reach, and of random ones few more. The maximum delegates of Dr. Top-k (drtopk-sc21,
/// section 4.1), but of places apart from each other, so that SIMD finds them and neighbors share none.
struct StridedMaxima {
  static constexpr int most_k = most_strided_maxima / 2;

  explicit StridedMaxima(int k_) : k(k_), count((2 * k_ + step - 1) / step * step) {}
  /// Of how many keys they tell enough to be worth their while.
  bool serve(std::int64_t keys) const { return k <= most_k && keys >= 4 * count; }

  /// The k-th of the best of all classes, and how many of these reach it. Of more keys than tell enough, those at
  /// both ends are asked: the others may all be better or worse than those of one.
  template <class Bits>
  Reached<Bits> kth(HostLoops<Bits> const& loops, RankMap<Bits> const& rank,
                    Stored<Bits> const* keys, int length) const {
    alignas(64) Bits best[most_strided_maxima];
    int const asked = most_in_class * count, half = count / 2;
    if (length <= asked) {
      loops.strided_maxima(keys, length, rank, count, best);
    } else {
      loops.strided_maxima(keys, asked / 2, rank, half, best);
      loops.strided_maxima(keys + length - asked / 2, asked / 2, rank, half, best + half);
    }
    return loops.kth(best, count, k);
  }

  static constexpr int most_in_class = 64;
  static constexpr int step = 128;  // a few vectors of any key
  int k, count;
};

}  // namespace ktopk::detail
