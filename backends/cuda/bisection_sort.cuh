// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "warp.cuh"

// A bitonic network over the registers of a warp. Lane l holds items l * Count to (l + 1) * Count - 1.

namespace ktopk::detail::cuda {

template <class Item>
__device__ __forceinline__ void put_larger_first(Item& a, Item& b) {
  bool const swap = b > a;
  Item const larger = swap ? b : a;
  b = swap ? a : b;
  a = larger;
}

/// Compares with another lane's item; the lane of the lower number keeps the larger.
template <class Item>
__device__ __forceinline__ Item exchanged(Item mine, Item other, bool keeps_larger) {
  return (other > mine) == keeps_larger ? other : mine;
}

/// Compares items that are `widest` apart, then half as far, down to one; `widest` is a power of two, or 0.
template <class Item, int Count>
__device__ __forceinline__ void merge_in_lane(Item (&items)[Count], int widest) {
#pragma unroll
  for (int half = widest; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < Count; ++i)
      if ((i & half) == 0) put_larger_first(items[i], items[i + half]);
}

template <class Item, int Count>
__device__ __forceinline__ void sort_in_lane(Item (&items)[Count]) {
#pragma unroll
  for (int size = 2; size <= Count; size *= 2) {
#pragma unroll
    for (int i = 0; i < Count; ++i)
      if ((i & (size / 2)) == 0) put_larger_first(items[i], items[i ^ (size - 1)]);
    merge_in_lane(items, size / 4);
  }
}

/// Sorts each `lanes` neighboring lanes' items, the largest first. `lanes` is a power of two.
template <class Item, int Count>
__device__ __forceinline__ void sort_over_lanes(Item (&items)[Count], int lanes) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  sort_in_lane(items);
  for (int size = 2; size <= lanes; size *= 2) {
    bool const is_first = (lane & (size / 2)) == 0;
#pragma unroll
    for (int i = 0; i < (Count + 1) / 2; ++i) {
      Item const low = shuffle_xor(items[Count - 1 - i], size - 1);
      Item const high = shuffle_xor(items[i], size - 1);
      items[i] = exchanged(items[i], low, is_first);
      if (Count > 1) items[Count - 1 - i] = exchanged(items[Count - 1 - i], high, is_first);
    }
    for (int half = size / 4; half > 0; half /= 2)
#pragma unroll
      for (int i = 0; i < Count; ++i)
        items[i] = exchanged(items[i], shuffle_xor(items[i], half), (lane & half) == 0);
    merge_in_lane(items, Count / 2);
  }
}

}  // namespace ktopk::detail::cuda
