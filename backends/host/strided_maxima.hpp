// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "loops.hpp"

namespace ktopk::detail {

/// A threshold for the k best of some keys. The places are divided into at least 2 k classes; at least k keys reach the
/// k-th best of the maxima of all classes, and if keys are random, few more do. These are the maximum delegates of Dr.
/// Top-k (drtopk-sc21, section 4.1), but the places of a class lie apart from each other, so that SIMD finds the maxima
/// and neighbors are in different classes.
struct StridedMaxima {
  static constexpr int most_k = most_strided_maxima / 2;

  explicit StridedMaxima(int k_) : k(k_), count((2 * k_ + step - 1) / step * step) {}
  /// Whether there are so many keys that the maxima pay.
  bool serve(std::int64_t keys) const { return k <= most_k && keys >= 4 * count; }

  /// The k-th best of the maxima, and how many maxima reach it. In a long row it reads only keys at both ends; those
  /// of one end could all be worse than the rest.
  template <class Bits>
  Reached<Bits> kth(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
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
