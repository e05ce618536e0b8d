// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../common/warp.cuh"

// A bitonic network over the registers of a warp. Lane l holds composite keys l * Count to (l + 1) * Count - 1.

namespace ktopk::detail::cuda {

template <class CompositeKey>
__device__ __forceinline__ void put_larger_first(CompositeKey& a, CompositeKey& b) {
  bool const swap = b > a;
  CompositeKey const larger = swap ? b : a;
  b = swap ? a : b;
  a = larger;
}

/// Compares with the composite key of another lane; the lower lane keeps the larger one.
template <class CompositeKey>
__device__ __forceinline__ CompositeKey exchanged(CompositeKey mine, CompositeKey other,
                                                  bool keeps_larger) {
  return (other > mine) == keeps_larger ? other : mine;
}

/// Compares composite keys that are `widest` apart, then half as far, down to one; `widest` is a power of two, or 0.
template <class CompositeKey, int Count>
__device__ __forceinline__ void merge_in_lane(CompositeKey (&composites)[Count], int widest) {
#pragma unroll
  for (int half = widest; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < Count; ++i)
      if ((i & half) == 0) put_larger_first(composites[i], composites[i + half]);
}

template <class CompositeKey, int Count>
__device__ __forceinline__ void sort_in_lane(CompositeKey (&composites)[Count]) {
#pragma unroll
  for (int size = 2; size <= Count; size *= 2) {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      if ((i & (size / 2)) == 0) put_larger_first(composites[i], composites[i ^ (size - 1)]);
    merge_in_lane(composites, size / 4);
  }
}

/// Sorts the composite keys of every `lanes` neighboring lanes, largest first. `lanes` is a power of two.
template <class CompositeKey, int Count>
__device__ __forceinline__ void sort_over_lanes(CompositeKey (&composites)[Count], int lanes) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  sort_in_lane(composites);
  for (int size = 2; size <= lanes; size *= 2) {
    bool const is_first = (lane & (size / 2)) == 0;
#pragma unroll
    for (int i = 0; i < (Count + 1) / 2; ++i) {
      CompositeKey const low = shuffle_xor(composites[Count - 1 - i], size - 1);
      CompositeKey const high = shuffle_xor(composites[i], size - 1);
      composites[i] = exchanged(composites[i], low, is_first);
      if (Count > 1)
        composites[Count - 1 - i] = exchanged(composites[Count - 1 - i], high, is_first);
    }
    for (int half = size / 4; half > 0; half /= 2)
#pragma unroll
      for (int i = 0; i < Count; ++i)
        composites[i] =
            exchanged(composites[i], shuffle_xor(composites[i], half), (lane & half) == 0);
    merge_in_lane(composites, Count / 2);
  }
}

}  // namespace ktopk::detail::cuda
