// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <ktopk/core/ordered_bits.hpp>

// What the tuned implementations share, on the level of a warp and of a block.

namespace ktopk::detail::cuda {

inline constexpr unsigned full_warp = 0xffffffffu;

/// The composite keys of rows of fewer than 2^32 keys.
template <class Bits>
using CompositeKeyOf = std::conditional_t<sizeof(Bits) == 8, CompositeKey128, CompositeKey64>;

__device__ inline CompositeKey64 shuffle_xor(CompositeKey64 composite, int mask) {
  return __shfl_xor_sync(full_warp, static_cast<unsigned long long>(composite), mask);
}

__device__ inline CompositeKey128 shuffle_xor(CompositeKey128 composite, int mask) {
  CompositeKey128 const high = shuffle_xor(static_cast<CompositeKey64>(composite >> 64), mask);
  return (high << 64) | shuffle_xor(static_cast<CompositeKey64>(composite), mask);
}

/// Prefetches the 128-byte line at `address` to L2.
__device__ inline void prefetch(void const* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/// Lets a kernel that was launched early start. Before sm_90 it starts when this kernel ends.
__device__ inline void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// In a kernel that was launched early: returns when all earlier work of the stream is done and visible.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

template <class CompositeKey>
__device__ CompositeKey warp_max(CompositeKey composite) {
  for (int mask = 16; mask > 0; mask /= 2) {
    CompositeKey const other = shuffle_xor(composite, mask);
    composite = other > composite ? other : composite;
  }
  return composite;
}

/// The greatest of a warp's keys.
template <class Bits>
__device__ Bits warp_greatest(Bits key) {
  if constexpr (sizeof(Bits) == 8) {
    return warp_max(static_cast<CompositeKey64>(key));
  } else {
#if __CUDA_ARCH__ >= 800
    return static_cast<Bits>(__reduce_max_sync(full_warp, key));
#else
    return static_cast<Bits>(warp_max(static_cast<CompositeKey64>(key)));
#endif
  }
}

template <class Bits>
__device__ Bits warp_least(Bits key) {
  return static_cast<Bits>(~warp_greatest(static_cast<Bits>(~key)));
}

/// The sum over the lanes of a warp.
__device__ inline unsigned warp_total(unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(full_warp, mine);
#else
  for (int mask = 16; mask > 0; mask /= 2) mine += __shfl_xor_sync(full_warp, mine, mask);
  return mine;
#endif
}

__device__ inline int highest_bit(unsigned composite) {
  return 31 - __clz(static_cast<int>(composite));
}

__device__ inline int highest_bit(CompositeKey64 composite) {
  return 63 - __clzll(static_cast<long long>(composite));
}

/// The place of the highest bit that is set, or -1 if none is.
__device__ inline int highest_bit(CompositeKey128 composite) {
  auto const high = static_cast<CompositeKey64>(composite >> 64);
  return high != 0 ? 64 + highest_bit(high) : highest_bit(static_cast<CompositeKey64>(composite));
}

/// Takes a slot for every calling thread of a warp, by one atomic operation for all of them.
template <class Count>
__device__ Count claim(Count* counter) {
  unsigned const callers = __activemask();
  int const leader = __ffs(static_cast<int>(callers)) - 1;
  int const lane = static_cast<int>(threadIdx.x % 32);
  Count base = 0;
  if (lane == leader) base = atomicAdd(counter, static_cast<Count>(__popc(callers)));
  base = __shfl_sync(callers, base, leader);
  return base + static_cast<Count>(__popc(callers & ((1u << lane) - 1)));
}

/// Takes a slot for every thread of the block that wants one, by one atomic operation for all of them.
__device__ inline unsigned long long block_claim(unsigned long long* counter, bool wants) {
  __shared__ unsigned count;
  __shared__ unsigned long long base;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  unsigned const slot = wants ? claim(&count) : 0;
  __syncthreads();
  if (threadIdx.x == 0 && count != 0)
    base = atomicAdd(counter, static_cast<unsigned long long>(count));
  __syncthreads();
  return base + slot;
}

/// The greatest composite key of all threads.
/// \param scratch  32 composite keys of shared memory, free again after the caller's next barrier
template <int Threads, class CompositeKey>
__device__ CompositeKey block_max(CompositeKey composite, CompositeKey* scratch) {
  static_assert(Threads % 32 == 0 && Threads <= 1024);
  CompositeKey const mine = warp_max(composite);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = mine;
  __syncthreads();
  CompositeKey best = scratch[0];
#pragma unroll
  for (int w = 1; w < Threads / 32; ++w) best = scratch[w] > best ? scratch[w] : best;
  return best;
}

/// The inclusive prefix sum over the lanes of a warp.
template <class Sum>
__device__ Sum warp_sum_to(Sum mine) {
  Sum inclusive = mine;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    Sum const before = __shfl_up_sync(full_warp, inclusive, offset);
    if (static_cast<int>(threadIdx.x % 32) >= offset) inclusive += before;
  }
  return inclusive;
}

/// Where block_sort has composite key i, so that at most two lanes of a half warp access a bank at once.
__device__ inline int place_in_banks(int i) { return i ^ ((i >> 4) & 15); }

/// Moves the composite keys to these places; called again, it moves them back.
template <int Threads, class CompositeKey>
__device__ void permute_for_banks(CompositeKey* composites, int size) {
  if (size < 32) return;
  for (int i = threadIdx.x; i < size; i += Threads) {
    CompositeKey const mine = composites[place_in_banks(i)];
    __syncwarp();
    composites[i] = mine;
  }
}

/// The steps of a bitonic merge to runs of `run` with distances from 2^(low + Steps - 1) to 2^low, in registers.
template <int Steps, int Threads, class CompositeKey>
__device__ void merge_in_registers(CompositeKey* composites, int size, int run, int low) {
  constexpr int each = 1 << Steps;
  for (int group = threadIdx.x; group < size / each; group += Threads) {
    int const base = (group >> low << (low + Steps)) | (group & ((1 << low) - 1));
    bool const descending = (base & run) == 0;
    CompositeKey mine[each];
#pragma unroll
    for (int e = 0; e < each; ++e) mine[e] = composites[place_in_banks(base + (e << low))];
#pragma unroll
    for (int distance = each / 2; distance > 0; distance /= 2)
#pragma unroll
      for (int e = 0; e < each; ++e) {
        if ((e & distance) != 0) continue;
        CompositeKey const a = mine[e], b = mine[e + distance];
        bool const swap = (a < b) == descending;
        mine[e] = swap ? b : a;
        mine[e + distance] = swap ? a : b;
      }
#pragma unroll
    for (int e = 0; e < each; ++e) composites[place_in_banks(base + (e << low))] = mine[e];
  }
}

/// Sorts `size` composite keys in shared memory, a power of two, in descending order by a bitonic network, up to three
/// steps at a time in registers. All threads of the block call it.
template <int Threads, class CompositeKey>
__device__ void block_sort(CompositeKey* composites, int size) {
  __syncthreads();
  permute_for_banks<Threads>(composites, size);
  for (int merge = 1; 1 << merge <= size; ++merge)
    for (int left = merge; left > 0;) {
      int const steps = left % 3 == 0 ? 3 : left % 3;
      left -= steps;
      __syncthreads();
      if (steps == 3)
        merge_in_registers<3, Threads>(composites, size, 1 << merge, left);
      else if (steps == 2)
        merge_in_registers<2, Threads>(composites, size, 1 << merge, left);
      else
        merge_in_registers<1, Threads>(composites, size, 1 << merge, left);
    }
  __syncthreads();
  permute_for_banks<Threads>(composites, size);
  __syncthreads();
}

/// Calls put(place, composite) for the best `need` of `count` composite keys, which all threads of the block must see.
/// The place of a composite key is the number of better ones, which neighboring threads count together.
template <int Threads, class CompositeKey, class Put>
__device__ void block_rank(CompositeKey const* composites, int count, int need, Put const& put) {
  int slices = 32;
  while (slices > 1 && count * slices > Threads) slices /= 2;
  for (int first = 0; first < count; first += Threads / slices) {
    int const i = first + static_cast<int>(threadIdx.x) / slices;
    int const slice = static_cast<int>(threadIdx.x) % slices;
    CompositeKey const composite = i < count ? composites[i] : CompositeKey{0};
    int better = 0;
#pragma unroll 8
    for (int j = slice; j < count; j += slices) better += composites[j] > composite;
    for (int mask = slices / 2; mask > 0; mask /= 2)
      better += __shfl_xor_sync(full_warp, better, mask);
    if (i < count && slice == 0 && better < need) put(better, composite);
  }
}

/// The place of the need-th best in a histogram whose highest bin holds the best.
struct Place {
  int bin;
  unsigned long long above;  ///< in higher bins
  unsigned long long here;   ///< in this one
};

/// Calls visit(bin, above, here) for every bin, each in one thread: how many are in higher bins, and how many in this
/// one. All threads of the block call it. All bins are read before any is visited.
/// \tparam Bins  a multiple of the number of threads
/// \param count  count(bin) is how many are in a bin
template <int Bins, int Threads, class Count, class Visit>
__device__ void block_descend(Count const& count, Visit const& visit) {
  using Sum = decltype(count(0));
  constexpr int each = Bins / Threads;
  static_assert(Bins % Threads == 0 && Threads % 32 == 0);
  __shared__ Sum warp_sums[Threads / 32];
  Sum counts[each];
  Sum sum = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    counts[i] = count(Bins - 1 - (static_cast<int>(threadIdx.x) * each + i));
    sum += counts[i];
  }
  Sum const inclusive = warp_sum_to(sum);
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();
  Sum above = inclusive - sum;
  if constexpr (sizeof(Sum) == sizeof(unsigned)) {
    above += warp_total(lane < warp ? warp_sums[lane] : 0);
  } else {
#pragma unroll
    for (int w = 0; w < Threads / 32; ++w) above += w < warp ? warp_sums[w] : 0;
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
    visit(Bins - 1 - (static_cast<int>(threadIdx.x) * each + i), above, counts[i]);
    above += counts[i];
  }
}

/// Returns the bin of the need-th best to all threads of the block, which all call it. `need` is at least 1 and at most
/// the sum of the counts. \see block_descend
template <int Bins, int Threads, class Count>
__device__ Place block_find(unsigned long long need, Count const& count) {
  __shared__ Place found;
  block_descend<Bins, Threads>(count, [&](int bin, auto above, auto here) {
    if (above < need && need <= above + here) found = {bin, above, here};
  });
  __syncthreads();
  return found;
}

/// Returns true in the block that is the last of `blocks` to arrive; it sees what the others wrote.
__device__ inline bool last_block(unsigned* arrived, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(arrived, 1u) + 1u == blocks;
  __syncthreads();
  __threadfence();
  return last;
}

}  // namespace ktopk::detail::cuda
