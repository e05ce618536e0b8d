// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>

#include <ktopk/core/problem.hpp>

#include "block.cuh"
#include "warp.cuh"

// A block puts some thousand composite keys in order.

namespace ktopk::detail::cuda {

namespace {

template <class CompositeKey, int Threads>
struct OrderScratch {
  CompositeKey extremes[2][32];
  unsigned warp_sums[32];
  unsigned histogram[Threads];
};

/// The steps of a block; all its threads call them.
template <class CompositeKey, int Threads>
class BlockOrder {
 public:
  using Scratch = OrderScratch<CompositeKey, Threads>;

  /// Clears the bins.
  __device__ static void clear() { scratch().histogram[threadIdx.x] = 0; }

  /// Of what the threads before this one have.
  __device__ static unsigned sum_before(unsigned mine) {
    unsigned const to = warp_sum_to(mine);
    if (lane() == 31) scratch().warp_sums[warp()] = to;
    __syncthreads();
    unsigned before = to - mine;
#pragma unroll
    for (int w = 0; w < warps - 1; ++w) before += w < warp() ? scratch().warp_sums[w] : 0;
    return before;
  }

  __device__ static void range_of_list(CompositeKey const* list, unsigned size, CompositeKey& least,
                                       CompositeKey& greatest) {
    greatest = 0;
    CompositeKey lowest = 0;  // the complement of the least
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += Threads) {
      CompositeKey const composite = list[i];
      greatest = composite > greatest ? composite : greatest;
      lowest = ~composite > lowest ? ~composite : lowest;
    }
    greatest = block_max<Threads>(greatest, scratch().extremes[0]);
    least = ~block_max<Threads>(lowest, scratch().extremes[1]);
  }

  /// Sorts the composite keys, best first; returns the one of the two arrays that holds them. The bins must be clear.
  /// \param list  has room for a power of two of composite keys
  /// \param crowded_bin  if a bin has more composite keys, a network sorts all
  __device__ static CompositeKey const* in_order(CompositeKey* list, CompositeKey* spare,
                                                 unsigned size, unsigned crowded_bin) {
    return size <= Threads / 2 ? rank_few(list, spare, size)
                               : rank_by_bins(list, spare, size, crowded_bin);
  }

  /// A composite key's place is the number of better ones, which neighboring threads count together.
  /// \param size  at most that of the block
  __device__ static CompositeKey const* rank_few(CompositeKey const* list, CompositeKey* spare,
                                                 unsigned size) {
    unsigned slices = 32;
    while (slices > 1 && size * slices > Threads) slices /= 2;
    unsigned const slice = threadIdx.x % slices, i = threadIdx.x / slices;
    CompositeKey const composite = i < size ? list[i] : CompositeKey{0};
    constexpr unsigned ahead = 8;
    unsigned better = 0;
#pragma unroll 1
    for (unsigned first = slice; first < size && i < size; first += ahead * slices) {
      CompositeKey others[ahead];
#pragma unroll
      for (unsigned a = 0; a < ahead; ++a) {
        unsigned const j = first + a * slices;
        others[a] = j < size ? list[j] : CompositeKey{0};
      }
#pragma unroll
      for (CompositeKey const other : others) better += other > composite;
    }
#pragma unroll 1
    for (unsigned mask = slices / 2; mask > 0; mask /= 2)
      better += __shfl_xor_sync(full_warp, better, mask);
    if (i < size && slice == 0) spare[better] = composite;
    __syncthreads();
    return spare;
  }

 protected:
  static constexpr int warps = Threads / 32;
  static constexpr int bin_bits = std::bit_width(unsigned{Threads}) - 1;
  __device__ static Scratch& scratch() {
    __shared__ Scratch shared;
    return shared;
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }

 private:
  /// Sorts by bins of what a composite key is above the least, and ranks the composite keys of a bin among themselves.
  __device__ static CompositeKey const* rank_by_bins(CompositeKey* list, CompositeKey* spare,
                                                     unsigned size, unsigned crowded_bin) {
    unsigned* const histogram = scratch().histogram;
    CompositeKey least, greatest;
    range_of_list(list, size, least, greatest);
    int const bits = highest_bit(static_cast<CompositeKey>(greatest - least)) + 1;
    int const shift = bits > bin_bits ? bits - bin_bits : 0;
    auto const bin_of = [&](CompositeKey composite) {
      return static_cast<unsigned>((composite - least) >> shift);
    };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += Threads)
      atomicAdd(&histogram[bin_of(list[i])], 1u);
    __syncthreads();
    unsigned const bin = Threads - 1 - threadIdx.x;
    unsigned const here = histogram[bin], begin = sum_before(here);
    histogram[bin] = begin;
    if (__syncthreads_or(here > crowded_bin)) return rank_by_network(list, size);
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += Threads) {
      CompositeKey const composite = list[i];
      spare[atomicAdd(&histogram[bin_of(composite)], 1u)] = composite;
    }
    __syncthreads();
    // Now the counter of a bin is the place where the next lower bin begins.
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < size; i += Threads) {
      CompositeKey const composite = spare[i];
      unsigned const own = bin_of(composite), end = histogram[own];
      unsigned const first = own + 1 < Threads ? histogram[own + 1] : 0;
      unsigned place = first;
#pragma unroll 4
      for (unsigned j = first; j < end; ++j) place += spare[j] > composite;
      list[place] = composite;
    }
    __syncthreads();
    return list;
  }

  __device__ static CompositeKey const* rank_by_network(CompositeKey* list, unsigned size) {
    unsigned whole = 2;
    while (whole < size) whole *= 2;
    for (unsigned i = size + threadIdx.x; i < whole; i += Threads) list[i] = 0;
    block_sort<Threads>(list, static_cast<int>(whole));
    return list;
  }
};

}  // namespace

}  // namespace ktopk::detail::cuda
