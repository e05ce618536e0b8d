// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <cuda_fp16.h>

#include "block.cuh"

// What the tuned implementations share, on the level of a warp and of a part of it.

namespace ktopk::detail::cuda {

__device__ inline unsigned shuffle_xor(unsigned x, int mask) {
  return __shfl_xor_sync(full_warp, x, mask);
}
__device__ inline float shuffle_xor(float x, int mask) {
  return __shfl_xor_sync(full_warp, x, mask);
}

__device__ inline unsigned shuffle_from(unsigned x, int lane) {
  return __shfl_sync(full_warp, x, lane);
}
__device__ inline CompositeKey64 shuffle_from(CompositeKey64 x, int lane) {
  return __shfl_sync(full_warp, static_cast<unsigned long long>(x), lane);
}
__device__ inline CompositeKey128 shuffle_from(CompositeKey128 x, int lane) {
  CompositeKey128 const high = shuffle_from(static_cast<CompositeKey64>(x >> 64), lane);
  return (high << 64) | shuffle_from(static_cast<CompositeKey64>(x), lane);
}

/// The greatest value of `Lanes` neighboring lanes.
template <int Lanes, class T>
__device__ __forceinline__ T lanes_max(T x) {
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) {
    T const other = shuffle_xor(x, mask);
    x = other > x ? other : x;
  }
  return x;
}

template <int Lanes, class T>
__device__ __forceinline__ T lanes_min(T x) {
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) {
    T const other = shuffle_xor(x, mask);
    x = other < x ? other : x;
  }
  return x;
}

/// The exclusive prefix sum over `Lanes` neighboring lanes.
template <int Lanes>
__device__ __forceinline__ int lanes_before(int x) {
  int before = 0;
#pragma unroll
  for (int mask = 1; mask < Lanes; mask *= 2) {
    int const other = __shfl_xor_sync(full_warp, x, mask);
    if ((threadIdx.x & mask) != 0) before += other;
    x += other;
  }
  return before;
}

// ---- two fp16 numbers in a register

__device__ __forceinline__ unsigned bits_of_pair(__half2 pair) {
  return *reinterpret_cast<unsigned*>(&pair);
}
__device__ __forceinline__ __half2 pair_of_bits(unsigned bits) {
  return *reinterpret_cast<__half2*>(&bits);
}

/// Returns 1 in each half that reaches that of the threshold, otherwise 0.
__device__ __forceinline__ unsigned reaches(unsigned pair, unsigned threshold) {
  return bits_of_pair(__hge2(pair_of_bits(pair), pair_of_bits(threshold)));
}

/// Returns all bits in each half that reaches that of the threshold, otherwise none.
__device__ __forceinline__ unsigned reaching_mask(unsigned pair, unsigned threshold) {
  return __hge2_mask(pair_of_bits(pair), pair_of_bits(threshold));
}

/// Sums over a quad of lanes.
struct QuadSum {
  float before;  ///< over the lanes of the quad before this one
  float all;     ///< over the quad
};

/// Adds up fp16 numbers over quads of lanes by the tensor cores; exact up to 2^24.
class QuadAdder {
 public:
  /// The multiplier whose even columns add the lanes before this one, and whose odd ones add all lanes of the quad, or
  /// of the row if it has fewer than four.
  template <unsigned Lanes = 4>
  __device__ __forceinline__ static unsigned multiplier() {
    constexpr unsigned ones = 0x3c003c00u, together = Lanes < 4 ? Lanes : 4;
    unsigned const column = threadIdx.x % 32 / 4, from = threadIdx.x % 4, to = column / 2;
    return from / together == to / together && (column % 2 == 1 || from < to) ? ones : 0u;
  }
  __device__ __forceinline__ explicit QuadAdder(unsigned multiplier_) : m_multiplier(multiplier_) {}

  /// Adds the eight numbers in four registers.
  __device__ __forceinline__ void add(unsigned const (&pairs)[4]) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, {%0, %1, %2, %3};"
        : "+f"(m_sums[0]), "+f"(m_sums[1]), "+f"(m_sums[2]), "+f"(m_sums[3])
        : "r"(pairs[0]), "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3]), "r"(m_multiplier));
#else
    add_half(pairs[0], pairs[1]);
    add_half(pairs[2], pairs[3]);
#endif
  }
  __device__ __forceinline__ QuadSum sum() const {
    return {m_sums[0] + m_sums[2], m_sums[1] + m_sums[3]};
  }

 private:
  __device__ __forceinline__ void add_half(unsigned first, unsigned second) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(m_sums[0]), "+f"(m_sums[1]), "+f"(m_sums[2]), "+f"(m_sums[3])
        : "r"(first), "r"(second), "r"(m_multiplier));
  }

  unsigned m_multiplier;
  float m_sums[4] = {};
};

// ---- copies to shared memory

__device__ __forceinline__ unsigned shared_address(void const* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// Begins to copy a key to shared memory, or copies it if the device has no asynchronous copy.
template <class Bits>
__device__ __forceinline__ void begin_copy(Bits* to, Bits const* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(Bits) >= 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from),
                 "n"(sizeof(Bits))
                 : "memory");
  else
    *to = __ldg(from);
#else
  *to = __ldg(from);
#endif
}

/// Returns when what this thread has begun to copy has arrived.
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// ---- bulk copies to shared memory (sm_90 and newer)

/// A barrier for copies to shared memory, one set of copies after the other.
class CopyBarrier {
 public:
  __device__ __forceinline__ explicit CopyBarrier(std::uint64_t* barrier)
      : m_address(shared_address(barrier)) {}

  /// One thread calls it, before any other call.
  __device__ __forceinline__ void init() const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(
            m_address)
        : "memory");
#endif
  }
  /// One thread calls it, before the copies of a set begin.
  __device__ __forceinline__ void expect(unsigned bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(m_address),
                 "r"(bytes)
                 : "memory");
#endif
  }
  /// Begins a copy. Addresses and bytes are multiples of 16.
  __device__ __forceinline__ void copy(void* to, void const* from, unsigned bytes) const {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(m_address)
        : "memory");
#endif
  }
  /// Returns when the bytes of a set have arrived; `turn` alternates between 0 and 1.
  __device__ __forceinline__ void wait(unsigned turn) const {
#if __CUDA_ARCH__ >= 900
    unsigned come = 0;
    while (come == 0)
      asm volatile(
          "{\n\t.reg .pred come;\n\t"
          "mbarrier.try_wait.parity.shared::cta.b64 come, [%1], %2;\n\t"
          "selp.u32 %0, 1, 0, come;\n\t}"
          : "=r"(come)
          : "r"(m_address), "r"(turn)
          : "memory");
#endif
  }

 private:
  unsigned m_address;
};

}  // namespace ktopk::detail::cuda
