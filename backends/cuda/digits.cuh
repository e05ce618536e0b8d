// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "block.cuh"

namespace ktopk::detail::cuda {

inline constexpr int digit_bits = 11;
inline constexpr int digits = 1 << digit_bits;

/// A digit of items, bits low to high - 1, of those that agree in all bits above.
template <class Item>
struct Digit {
  static constexpr int item_bits = 8 * sizeof(Item);
  Item prefix;
  int high, low;

  __device__ Digit(Item prefix_, int high_)
      : prefix(prefix_), high(high_), low(high_ > digit_bits ? high_ - digit_bits : 0) {}

  __device__ bool agrees(Item item) const { return high == item_bits || (item >> high) == prefix; }
  __device__ unsigned of(Item item) const {
    return static_cast<unsigned>(item >> low) & ((1u << (high - low)) - 1);
  }
  /// The next digit of the items that have `value` here.
  __device__ Digit next(int value) const {
    return {static_cast<Item>(prefix << (high - low) | static_cast<Item>(value)), low};
  }
  /// The least of the items that agree.
  __device__ Item floor() const { return high < item_bits ? prefix << high : Item{0}; }

  /// Counts the items that each(visit) visits; all threads of the block call it.
  template <class Each>
  __device__ void count(unsigned* histogram, Each const& each) const {
    for (int i = threadIdx.x; i < digits; i += blockDim.x) histogram[i] = 0;
    __syncthreads();
    each([&](Item item) {
      if (agrees(item)) atomicAdd(&histogram[of(item)], 1u);
    });
    __syncthreads();
  }
};

}  // namespace ktopk::detail::cuda
