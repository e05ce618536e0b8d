// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bisection_sort.cuh"

// What a warp keeps: the best items seen, sorted in its registers, and a queue in shared memory of those that are
// still to be merged into them.

namespace ktopk::detail::cuda {

/// values[i], where only the running program knows i. Compared bit by bit: where the compiler sees i compared with an
/// index, it puts the registers in memory to index them.
template <class Value, int Count>
__device__ __forceinline__ Value pick(Value const (&values)[Count], int i) {
  unsigned const chosen = 1u << i;
  Value picked = values[0];
#pragma unroll
  for (int v = 1; v < Count; ++v) picked = (chosen >> v & 1) != 0 ? values[v] : picked;
  return picked;
}

/// The best of what a warp has seen, best first: item i in register i / 32 of lane i % 32. Zeros fill it up.
template <class Item, int Count>
class WarpList {
 public:
  static constexpr int size = 32 * Count;

  /// Item i, the same i in all lanes.
  __device__ __forceinline__ Item at(int i) const {
    return shuffle_from(pick(m_items, i / 32), i % 32);
  }

  /// Takes in items that rise from one to the next, in the order of the list.
  template <int More>
  __device__ __forceinline__ void merge_rising(Item const (&items)[More]) {
#pragma unroll
    for (int r = 0; r < More; ++r) keep_larger(m_items[Count - More + r], items[r]);
    sort_bitonic();
  }

  /// Takes in a list of `size` items, best first.
  __device__ __forceinline__ void merge_list(Item const* list) {
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < Count; ++r) keep_larger(m_items[r], list[size - 1 - 32 * r - lane]);
    sort_bitonic();
  }

  /// Becomes a list of `count` items, best first.
  __device__ __forceinline__ void load(Item const* list, int count) {
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < Count; ++r)
      m_items[r] = 32 * r + lane < count ? list[32 * r + lane] : Item{0};
  }

  __device__ __forceinline__ void store(Item* to) const {
#pragma unroll
    for (int r = 0; r < Count; ++r) to[32 * r + threadIdx.x % 32] = m_items[r];
  }

 private:
  __device__ __forceinline__ static void keep_larger(Item& item, Item other) {
    item = other > item ? other : item;
  }

  /// Sorts what first falls, then rises.
  __device__ __forceinline__ void sort_bitonic() {
    merge_in_lane(m_items, Count / 2);
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
#pragma unroll
      for (int r = 0; r < Count; ++r)
        m_items[r] =
            exchanged(m_items[r], shuffle_xor(m_items[r], half), (threadIdx.x & half) == 0);
  }

  Item m_items[Count] = {};
};

/// A warp's queue of items, which are merged into its list when it is full.
template <class Item, int Count>
class WarpQueue {
 public:
  /// Merging costs more where the list is long: then more items are merged at once than a lane each.
  static constexpr int items_of_lane = Count < 16 ? 1 : sizeof(Item) > 8 ? 2 : 4;
  static constexpr int size = 32 * items_of_lane;

  /// \param waiting  shared memory of `size` items
  __device__ __forceinline__ explicit WarpQueue(Item* waiting) : m_waiting(waiting) {}

  __device__ __forceinline__ WarpList<Item, Count> const& list() const { return m_list; }
  __device__ __forceinline__ WarpList<Item, Count>& list() { return m_list; }
  __device__ __forceinline__ int count() const { return m_count; }
  __device__ __forceinline__ int open_slots() const { return size - m_count; }

  /// Puts the items of those lanes that want it in the queue, in two steps if it gets full between them.
  /// Returns whether the list has changed.
  __device__ __forceinline__ bool push(bool wanted, Item item) {
    int const lane = threadIdx.x % 32;
    unsigned const all_wanted = __ballot_sync(full_warp, wanted);
    int const slot = m_count + __popc(all_wanted & ((1u << lane) - 1));
    if (wanted && slot < size) m_waiting[slot] = item;
    m_count += __popc(all_wanted);
    if (m_count < size) return false;
    __syncwarp();
    merge();
    __syncwarp();
    if (wanted && slot >= size) m_waiting[slot - size] = item;
    m_count -= size;
    return true;
  }

 private:
  __device__ __forceinline__ void merge() {
    int const lane = threadIdx.x % 32;
    Item items[items_of_lane];
#pragma unroll
    for (int i = 0; i < items_of_lane; ++i) items[i] = m_waiting[32 * i + lane];
    sort_over_lanes(items, 32);
    if constexpr (items_of_lane == 1) {
      items[0] = shuffle_xor(items[0], 31);
    } else {  // from lane after lane to the list's order, and reversed
      __syncwarp();
#pragma unroll
      for (int i = 0; i < items_of_lane; ++i) m_waiting[items_of_lane * lane + i] = items[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < items_of_lane; ++i) items[i] = m_waiting[size - 1 - 32 * i - lane];
    }
    m_list.merge_rising(items);
  }

  WarpList<Item, Count> m_list;
  Item* m_waiting;
  int m_count = 0;
};

}  // namespace ktopk::detail::cuda
