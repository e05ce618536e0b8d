// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/ordered_bits.hpp>

// Clusters of blocks (sm_90 and newer), which access each other's shared memory.

namespace ktopk::detail::cuda {

/// Arrives at the barrier of the cluster. What this thread wrote before is visible to those that wait.
__device__ inline void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/// Makes what this thread wrote visible to those that wait for its next cluster_arrive_relaxed.
__device__ inline void cluster_fence() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
#endif
}

/// The same as cluster_arrive, but makes nothing visible.
__device__ inline void cluster_arrive_relaxed() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/// Returns when all blocks of the cluster have arrived.
__device__ inline void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// The address of `mine`, which is in this block's shared memory, in the block `rank` of the cluster.
template <class T>
__device__ T* of_block(T* mine, int rank) {
#if __CUDA_ARCH__ >= 900
  std::uint64_t theirs;
  asm("mapa.u64 %0, %1, %2;"
      : "=l"(theirs)
      : "l"(reinterpret_cast<std::uint64_t>(mine)), "r"(rank));
  return reinterpret_cast<T*>(theirs);
#else
  return mine;
#endif
}

/// The same in the first block.
template <class T>
__device__ T* of_leader(T* mine) {
  return of_block(mine, 0);
}

/// What of_block returns, as a 32-bit address of the cluster's shared memory.
__device__ inline unsigned cluster_address(void const* mine, int rank) {
  unsigned theirs = static_cast<unsigned>(__cvta_generic_to_shared(mine));
#if __CUDA_ARCH__ >= 900
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(theirs) : "r"(theirs), "r"(rank));
#endif
  return theirs;
}

/// Stores a composite key to `mine` in the block `rank`, and counts its bytes at the barrier of that block.
__device__ inline void send(CompositeKey64 composite, CompositeKey64* mine, std::uint64_t* barrier,
                            int rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(
          cluster_address(mine, rank)),
      "l"(composite), "r"(cluster_address(barrier, rank))
      : "memory");
#endif
}
__device__ inline void send(uint4 words, uint4* mine, std::uint64_t* barrier, int rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
      "[%5];" ::"r"(cluster_address(mine, rank)),
      "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(cluster_address(barrier, rank))
      : "memory");
#endif
}
__device__ inline void send(CompositeKey128 composite, CompositeKey128* mine,
                            std::uint64_t* barrier, int rank) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::
          "r"(cluster_address(mine, rank)),
      "l"(static_cast<CompositeKey64>(composite)),
      "l"(static_cast<CompositeKey64>(composite >> 64)), "r"(cluster_address(barrier, rank))
      : "memory");
#endif
}

}  // namespace ktopk::detail::cuda
