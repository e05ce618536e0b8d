// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "block.cuh"

namespace ktopk::detail::cuda {

inline constexpr int digit_bits = 11;
inline constexpr int digits = 1 << digit_bits;

/// A digit, bits low to high - 1, of the composite keys that agree in all bits above.
template <class CompositeKey>
struct Digit {
  static constexpr int composite_bits = 8 * sizeof(CompositeKey);
  CompositeKey prefix;
  int high, low;

  __device__ Digit(CompositeKey prefix_, int high_)
      : prefix(prefix_), high(high_), low(high_ > digit_bits ? high_ - digit_bits : 0) {}

  __device__ bool agrees(CompositeKey composite) const {
    return high == composite_bits || (composite >> high) == prefix;
  }
  __device__ unsigned of(CompositeKey composite) const {
    return static_cast<unsigned>(composite >> low) & ((1u << (high - low)) - 1);
  }
  /// The next digit of the composite keys that have `value` here.
  __device__ Digit next(int value) const {
    return {static_cast<CompositeKey>(prefix << (high - low) | static_cast<CompositeKey>(value)),
            low};
  }
  /// The least of the composite keys that agree.
  __device__ CompositeKey least() const {
    return high < composite_bits ? prefix << high : CompositeKey{0};
  }

  /// Counts the composite keys that each(visit) visits, by their digit. All threads of the block call it.
  template <class Each>
  __device__ void count(unsigned* histogram, Each const& each) const {
    for (int i = threadIdx.x; i < digits; i += blockDim.x) histogram[i] = 0;
    __syncthreads();
    each([&](CompositeKey composite) {
      if (agrees(composite)) atomicAdd(&histogram[of(composite)], 1u);
    });
    __syncthreads();
  }
};

}  // namespace ktopk::detail::cuda
