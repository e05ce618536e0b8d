// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cooperative_groups.h>

#include "delegate_work.cuh"

// The filtered concatenation: of the subranges of the k best delegates (Rule 1), and of the keys without a delegate, all
// that reaches the k-th delegate (Rule 2) is put into one list, in the order of the row: so a tie among candidates is
// decided as it is in the row. No count is known to the host; k subranges' keys have room.

namespace ktopk::detail::cuda {

template <class Bits, bool Packed>
class Concatenation {
  using Row = DelegateRow<Bits>;
  static constexpr DelegateTuning tuning = delegate_tuning;
  static constexpr int warps = tuning.threads / 32;
  static constexpr int in_flight = tuning.vectors_in_flight;

 public:
  struct Shared {
    unsigned chunks[tuning.most_chunks];  // chosen subranges before each
    unsigned long long sums[warps];
    Item64 scratch[32];
  };

  __device__ Concatenation(DelegateRow<Bits> const& row, Shared& shared)
      : m_row(row), m_lists(row.lists), m_shared(shared) {}

  __device__ void run() {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    mark();
    grid.sync();
    put_in_order();
    m_least = static_cast<Bits>(~__ldcg(m_lists.rank_below));
    grid.sync();
    unsigned long long const mine = count();
    grid.sync();
    write(first_slot(mine));
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static std::int64_t warp_of_grid() {
    return std::int64_t{blockIdx.x} * warps + warp();
  }
  __device__ static std::int64_t warps_of_grid() { return std::int64_t{gridDim.x} * warps; }

  // ---- the chosen subranges

  /// Sets a bit for each, counts them by chunks, and finds the least of their ranks.
  __device__ void mark() const {
    std::int64_t const stride = std::int64_t{gridDim.x} * tuning.threads;
    Item64 below = 0;
    for (std::int64_t i = std::int64_t{blockIdx.x} * tuning.threads + threadIdx.x; i < m_row.k;
         i += stride) {
      unsigned const subrange = m_lists.chosen[i];
      atomicOr(&m_lists.is_chosen[subrange / 32], 1u << subrange % 32);
      atomicAdd(&m_lists.chunk_sums[subrange / 32 / static_cast<unsigned>(m_row.chunk_words)], 1u);
      below = max(below, ~Item64{m_lists.chosen_ranks[i]});
    }
    below = block_max<tuning.threads>(below, m_shared.scratch);
    if (threadIdx.x == 0 && below != 0)
      atomicMax(m_lists.rank_below, static_cast<unsigned long long>(below));
  }

  __device__ void put_in_order() const {
    sum_chunks();
#pragma unroll 1
    for (std::int64_t chunk = warp_of_grid(); chunk < m_row.chunks(); chunk += warps_of_grid()) {
      std::int64_t const first = chunk * m_row.chunk_words;
      unsigned slot = m_shared.chunks[chunk];
#pragma unroll 1
      for (std::int64_t word = first; word < first + m_row.chunk_words; word += 32) {
        unsigned bits = __ldcg(&m_lists.is_chosen[word + lane()]);
        auto const mine = static_cast<unsigned>(__popc(bits));
        unsigned const inclusive = warp_sum_to(mine);
        unsigned to = slot + inclusive - mine;
        for (; bits != 0; bits &= bits - 1)
          m_lists.in_order[to++] = static_cast<unsigned>((word + lane()) * 32) +
                                   static_cast<unsigned>(__ffs(static_cast<int>(bits)) - 1);
        slot += __shfl_sync(full_warp, inclusive, 31);
      }
    }
  }

  /// How many are chosen before each chunk.
  __device__ void sum_chunks() const {
    constexpr int each = tuning.most_chunks / tuning.threads;
    int const first = static_cast<int>(threadIdx.x) * each, chunks = m_row.chunks();
    unsigned own[each];
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      own[i] = first + i < chunks ? __ldcg(&m_lists.chunk_sums[first + i]) : 0;
      sum += own[i];
    }
    auto before = static_cast<unsigned>(block_before(sum));
#pragma unroll
    for (int i = 0; i < each; ++i) {
      m_shared.chunks[first + i] = before;
      before += own[i];
    }
    __syncthreads();
  }

  /// The sum of what the threads before this one have. All threads of the block call it.
  __device__ unsigned long long block_before(unsigned long long mine) const {
    unsigned long long const inclusive = warp_sum_to(mine);
    if (lane() == 31) m_shared.sums[warp()] = inclusive;
    __syncthreads();
    unsigned long long before = inclusive - mine;
    for (int w = 0; w < warp(); ++w) before += m_shared.sums[w];
    __syncthreads();
    return before;
  }

  // ---- their keys

  /// The vectors that are looked at, by number: those of the chosen subranges and what follows the last subrange.
  struct Share {
    std::int64_t begin, end;
  };
  __device__ std::int64_t of_chosen() const { return m_row.k << m_row.log_vectors; }
  __device__ std::int64_t looked_at() const {
    return of_chosen() + m_row.vectors - (m_row.subranges << m_row.log_vectors);
  }
  /// A warp's.
  __device__ Share share() const {
    std::int64_t const lines = (looked_at() + 31) / 32;
    std::int64_t const each = (lines + warps_of_grid() - 1) / warps_of_grid() * 32;
    std::int64_t const begin = min(warp_of_grid() * each, looked_at());
    return {begin, min(begin + each, looked_at())};
  }
  __device__ std::int64_t vector(std::int64_t number) const {
    if (number >= of_chosen())
      return (m_row.subranges << m_row.log_vectors) + (number - of_chosen());
    std::int64_t const subrange = __ldcg(&m_lists.in_order[number >> m_row.log_vectors]);
    return (subrange << m_row.log_vectors) +
           (number & ((std::int64_t{1} << m_row.log_vectors) - 1));
  }

  /// Calls visit(vector, where, passing) for all of the warp's: which of its keys reach the k-th delegate.
  template <class Visit>
  __device__ void each_vector(Visit const& visit) const {
    Share const mine = share();
#pragma unroll 1
    for (std::int64_t first = mine.begin; first < mine.end; first += 32 * in_flight) {
      std::int64_t places[in_flight];
      Vector<Bits> vectors[in_flight];
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        std::int64_t const number = first + v * 32 + lane();
        places[v] = number < mine.end ? vector(number) : -1;
      }
#pragma unroll
      for (int v = 0; v < in_flight; ++v)
        vectors[v] = places[v] >= 0 ? m_row.template load<Packed, Row::Use::again>(places[v])
                                    : Vector<Bits>{};
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        unsigned const passing =
            places[v] >= 0 ? vectors[v].passing([&](Bits key) { return passes(key); }) : 0;
        visit(vectors[v], places[v], passing);
      }
    }
  }
  __device__ bool passes(Bits key) const { return m_row.rank(key) >= m_least; }

  /// Keys before the first vector, of the first warp, or behind the last one, of the last warp: one a lane.
  __device__ std::int64_t end_position(bool behind) const {
    bool const is_mine = behind ? warp_of_grid() == warps_of_grid() - 1 : warp_of_grid() == 0;
    std::int64_t const position = lane() + (behind ? m_row.position(m_row.vectors) : 0);
    if (!is_mine || position >= (behind ? m_row.n : m_row.head)) return -1;
    return passes(m_row.keys[position * m_row.step]) ? position : -1;
  }

  /// Candidates of the warp. The block's go to the others.
  __device__ unsigned long long count() const {
    unsigned long long mine = (end_position(false) >= 0) + (end_position(true) >= 0);
    each_vector([&](Vector<Bits> const&, std::int64_t, unsigned passing) {
      mine += static_cast<unsigned>(__popc(passing));
    });
    mine = __shfl_sync(full_warp, warp_sum_to(mine), 31);
    unsigned long long const before = block_before(lane() == 0 ? mine : 0);
    if (threadIdx.x == tuning.threads - 1) m_lists.block_sums[blockIdx.x] = before;
    return mine;
  }

  /// Candidates of the warps before this one.
  __device__ unsigned long long first_slot(unsigned long long mine) const {
    unsigned long long others = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += tuning.threads)
      others += __ldcg(&m_lists.block_sums[b]);
    unsigned long long const before = block_before(others);
    if (threadIdx.x == tuning.threads - 1) m_shared.scratch[0] = before + others;
    unsigned long long const in_block = block_before(lane() == 0 ? mine : 0);
    return m_shared.scratch[0] + __shfl_sync(full_warp, in_block, 0);
  }

  __device__ void write(unsigned long long slot) const {
    slot = write_end(false, slot);
    each_vector([&](Vector<Bits> const& keys, std::int64_t place, unsigned passing) {
      if (!__any_sync(full_warp, passing != 0)) return;
      auto const mine = static_cast<unsigned>(__popc(passing));
      unsigned const inclusive = warp_sum_to(mine);
      std::int64_t to = static_cast<std::int64_t>(slot) + inclusive - mine;
      if (passing != 0)
        keys.visit([&](Bits key, int i) {
          if (passing >> i & 1) put(to++, key, m_row.position(place) + i);
        });
      slot += __shfl_sync(full_warp, inclusive, 31);
    });
    slot = write_end(true, slot);
    if (warp_of_grid() == warps_of_grid() - 1 && lane() < 2)
      m_lists.candidate_offsets[lane()] = lane() == 0 ? 0 : static_cast<std::int64_t>(slot);
  }

  __device__ unsigned long long write_end(bool behind, unsigned long long slot) const {
    std::int64_t const position = end_position(behind);
    unsigned const here = __ballot_sync(full_warp, position >= 0);
    if (position >= 0)
      put(static_cast<std::int64_t>(slot) + __popc(here & ((1u << lane()) - 1)),
          m_row.keys[position * m_row.step], position);
    return slot + static_cast<unsigned>(__popc(here));
  }

  __device__ void put(std::int64_t slot, Bits key, std::int64_t position) const {
    m_lists.candidates[slot] = key;
    m_lists.positions.store(slot, position);
  }

  DelegateRow<Bits> const& m_row;
  DelegateLists<Bits> const& m_lists;
  Shared& m_shared;
  Bits m_least = 0;  // the k-th delegate's rank
};

/// All blocks must be on the device at once.
template <class Bits, bool Packed>
__global__ void __launch_bounds__(delegate_tuning.threads, delegate_tuning.blocks)
    concatenate(__grid_constant__ DelegateRow<Bits> const row) {
  __shared__ typename Concatenation<Bits, Packed>::Shared shared;
  Concatenation<Bits, Packed>(row, shared).run();
}

}  // namespace ktopk::detail::cuda
