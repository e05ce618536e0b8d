// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../bisection/sort.cuh"

// What a warp keeps: the best composite keys so far, sorted in its registers, and a queue in shared memory of those
// that are still to be merged into them.

namespace ktopk::detail::cuda {

/// values[i], where i is known only at run time. It tests single bits: if the compiler sees i compared with an index,
/// it moves the registers to memory to index them.
template <class Value, int Count>
__device__ __forceinline__ Value pick(Value const (&values)[Count], int i) {
  unsigned const chosen = 1u << i;
  Value picked = values[0];
#pragma unroll
  for (int v = 1; v < Count; ++v) picked = (chosen >> v & 1) != 0 ? values[v] : picked;
  return picked;
}

/// The best composite keys that a warp has read, best first: number i is in register i / 32 of lane i % 32. Zeros fill
/// the list up.
template <class CompositeKey, int Count>
class WarpList {
 public:
  static constexpr int size = 32 * Count;

  /// Composite key i, the same i in all lanes.
  __device__ __forceinline__ CompositeKey at(int i) const {
    return shuffle_from(pick(m_composites, i / 32), i % 32);
  }

  /// Merges composite keys in ascending order, which are distributed over lanes as those of the list.
  template <int More>
  __device__ __forceinline__ void merge_rising(CompositeKey const (&composites)[More]) {
#pragma unroll
    for (int r = 0; r < More; ++r) keep_larger(m_composites[Count - More + r], composites[r]);
    sort_bitonic();
  }

  /// Merges a list of `size` composite keys, best first.
  __device__ __forceinline__ void merge_list(CompositeKey const* list) {
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < Count; ++r) keep_larger(m_composites[r], list[size - 1 - 32 * r - lane]);
    sort_bitonic();
  }

  /// Becomes a list of `count` composite keys, best first.
  __device__ __forceinline__ void load(CompositeKey const* list, int count) {
    int const lane = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < Count; ++r)
      m_composites[r] = 32 * r + lane < count ? list[32 * r + lane] : CompositeKey{0};
  }

  __device__ __forceinline__ void store(CompositeKey* to) const {
#pragma unroll
    for (int r = 0; r < Count; ++r) to[32 * r + threadIdx.x % 32] = m_composites[r];
  }

 private:
  __device__ __forceinline__ static void keep_larger(CompositeKey& composite, CompositeKey other) {
    composite = other > composite ? other : composite;
  }

  /// Sorts a bitonic sequence.
  __device__ __forceinline__ void sort_bitonic() {
    merge_in_lane(m_composites, Count / 2);
#pragma unroll
    for (int half = 16; half > 0; half /= 2)
#pragma unroll
      for (int r = 0; r < Count; ++r)
        m_composites[r] = exchanged(m_composites[r], shuffle_xor(m_composites[r], half),
                                    (threadIdx.x & half) == 0);
  }

  CompositeKey m_composites[Count] = {};
};

/// A warp's queue of composite keys, which are merged into its list when it is full.
template <class CompositeKey, int Count>
class WarpQueue {
 public:
  /// How many composite keys per lane are merged at once. They are more for a long list, because merging costs more.
  static constexpr int composites_of_lane = Count < 16 ? 1 : sizeof(CompositeKey) > 8 ? 2 : 4;
  static constexpr int size = 32 * composites_of_lane;

  /// \param waiting  shared memory of `size` composite keys
  __device__ __forceinline__ explicit WarpQueue(CompositeKey* waiting) : m_waiting(waiting) {}

  __device__ __forceinline__ WarpList<CompositeKey, Count> const& list() const { return m_list; }
  __device__ __forceinline__ WarpList<CompositeKey, Count>& list() { return m_list; }
  __device__ __forceinline__ int count() const { return m_count; }
  __device__ __forceinline__ int open_slots() const { return size - m_count; }

  /// Appends the composite keys of the lanes that want it to the queue, in two steps if it becomes full meanwhile.
  /// Returns whether the list has changed.
  __device__ __forceinline__ bool push(bool wanted, CompositeKey composite) {
    int const lane = threadIdx.x % 32;
    unsigned const all_wanted = __ballot_sync(full_warp, wanted);
    int const slot = m_count + __popc(all_wanted & ((1u << lane) - 1));
    if (wanted && slot < size) m_waiting[slot] = composite;
    m_count += __popc(all_wanted);
    if (m_count < size) return false;
    __syncwarp();
    merge();
    __syncwarp();
    if (wanted && slot >= size) m_waiting[slot - size] = composite;
    m_count -= size;
    return true;
  }

 private:
  __device__ __forceinline__ void merge() {
    int const lane = threadIdx.x % 32;
    CompositeKey composites[composites_of_lane];
#pragma unroll
    for (int i = 0; i < composites_of_lane; ++i) composites[i] = m_waiting[32 * i + lane];
    sort_over_lanes(composites, 32);
    if constexpr (composites_of_lane == 1) {
      composites[0] = shuffle_xor(composites[0], 31);
    } else {  // changes the order from lane by lane to that of the list, and reverses it
      __syncwarp();
#pragma unroll
      for (int i = 0; i < composites_of_lane; ++i)
        m_waiting[composites_of_lane * lane + i] = composites[i];
      __syncwarp();
#pragma unroll
      for (int i = 0; i < composites_of_lane; ++i)
        composites[i] = m_waiting[size - 1 - 32 * i - lane];
    }
    m_list.merge_rising(composites);
  }

  WarpList<CompositeKey, Count> m_list;
  CompositeKey* m_waiting;
  int m_count = 0;
};

}  // namespace ktopk::detail::cuda
