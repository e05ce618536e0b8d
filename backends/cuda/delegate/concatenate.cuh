// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>

#include <cooperative_groups.h>

#include "work.cuh"

// The filtered concatenation. In the subranges of the k best delegates (Rule 1), and among the keys without a delegate,
// all keys that reach the k-th delegate (Rule 2) are candidates. They are listed in the order of the row, so that a tie
// is decided as in the row. Their number is known to the device alone; the list holds the keys of k subranges.

namespace ktopk::detail::cuda {

/// Ranks from that of the k-th delegate on, spread over all bits, so that the first digits distinguish them.
template <class Bits>
struct SpreadOrderedBits {
  Bits least;
  int shift;

  __device__ static SpreadOrderedBits of(DelegateCounters const* counters) {
    auto const least = static_cast<Bits>(~__ldcg(&counters->rank_below));
    CompositeKey64 const spread = __ldcg(&counters->rank_above) - least;
    return {least, spread == 0 ? 0 : std::numeric_limits<Bits>::digits - 1 - highest_bit(spread)};
  }
  __device__ Bits operator()(Bits rank) const {
    return static_cast<Bits>(static_cast<Bits>(rank - least) << shift);
  }
};

template <class Bits, bool Packed>
class Concatenation {
  using Row = DelegateRow<Bits>;
  static constexpr DelegateTuning tuning = delegate_tuning;
  static constexpr int warps = tuning.threads / 32;
  static constexpr int in_flight = tuning.vectors_in_flight;

  /// A candidate that the warp found.
  struct Note {
    std::int64_t position;
    Bits rank;
  };
  static constexpr unsigned most_notes = tuning.noted_bytes / sizeof(Note);

  /// The candidates of 32 vectors side by side, so that neighboring lanes store neighbors.
  struct Line {
    Bits ranks[32 * Row::width];
    std::uint16_t offsets[32 * Row::width];  // of the keys, from the first key of lane 0 on
  };

 public:
  struct Shared {
    union {
      unsigned chunks[tuning.most_chunks + 1];  // how many subranges are chosen before each
      Note notes[warps][most_notes];
    };
    Line lines[warps];
    unsigned long long sums[warps];
    unsigned long long base;
    CompositeKey64 scratch[2][32];
  };

  __device__ Concatenation(Row const& row, Shared& shared)
      : m_row(row), m_lists(row.lists), m_shared(shared) {}

  __device__ void run() {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    mark();
    grid.sync();
    put_in_order();
    m_spread = SpreadOrderedBits<Bits>::of(m_lists.counters);
    unsigned const mine = count();
    grid.sync();
    write(mine, first_slot(mine));
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static std::int64_t warp_of_grid() {
    return std::int64_t{blockIdx.x} * warps + warp();
  }
  __device__ static std::int64_t warps_of_grid() { return std::int64_t{gridDim.x} * warps; }

  // ---- the chosen subranges

  /// Sets a bit for each chosen subrange, counts them by chunks, and finds the range of the candidates' ranks.
  __device__ void mark() const {
    std::int64_t const stride = std::int64_t{gridDim.x} * tuning.threads;
    std::int64_t const thread = std::int64_t{blockIdx.x} * tuning.threads + threadIdx.x;
    CompositeKey64 below = 0, above = 0;
    for (std::int64_t i = thread; i < m_row.k; i += stride) {
      unsigned const subrange = m_lists.chosen[i];
      atomicOr(&m_lists.is_chosen[subrange / 32], 1u << subrange % 32);
      atomicAdd(&m_lists.chunk_sums[subrange / 32 / static_cast<unsigned>(m_row.chunk_words)], 1u);
      CompositeKey64 const rank = m_lists.chosen_ranks[i];
      below = max(below, ~rank);
      above = max(above, rank);
    }
    for (std::int64_t i = thread; i < m_row.head; i += stride) above = max(above, rank_at(i));
    std::int64_t const behind = m_row.position(m_row.subranges << m_row.log_vectors);
    for (std::int64_t i = behind + thread; i < m_row.n; i += stride) above = max(above, rank_at(i));
    below = block_max<tuning.threads>(below, m_shared.scratch[0]);
    above = block_max<tuning.threads>(above, m_shared.scratch[1]);
    if (threadIdx.x != 0) return;
    atomicMax(&m_lists.counters->rank_below, static_cast<unsigned long long>(below));
    atomicMax(&m_lists.counters->rank_above, static_cast<unsigned long long>(above));
  }
  __device__ CompositeKey64 rank_at(std::int64_t position) const {
    return m_row.rank(m_row.keys[position * m_row.step]);
  }

  /// Writes the chosen subranges that the block reads in the order of the row.
  __device__ void put_in_order() const {
    sum_chunks();
    Share const own = share_of(std::int64_t{blockIdx.x} * warps, warps);
    std::int64_t const first = own.begin >> m_row.log_vectors;
    std::int64_t const end =
        (own.end + (std::int64_t{1} << m_row.log_vectors) - 1) >> m_row.log_vectors;
#pragma unroll 1
    for (int chunk = warp() * 32; chunk < m_row.chunks(); chunk += tuning.threads) {
      unsigned const* const before = &m_shared.chunks[chunk + lane()];
      bool const has_own = chunk + lane() < m_row.chunks() && before[0] < end && before[1] > first;
      for (unsigned left = __ballot_sync(full_warp, has_own); left != 0; left &= left - 1)
        put_chunk_in_order(chunk + __ffs(static_cast<int>(left)) - 1);
    }
    __syncthreads();
  }

  __device__ void put_chunk_in_order(int chunk) const {
    std::int64_t const first = std::int64_t{chunk} * m_row.chunk_words;
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

  /// Sums up how many subranges are chosen before each chunk.
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
    if (threadIdx.x == tuning.threads - 1) m_shared.chunks[tuning.most_chunks] = before;
    __syncthreads();
  }

  /// The exclusive prefix sum over the threads of the block, which all call it.
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

  /// How many vectors are read: those of the chosen subranges, and those behind the last subrange.
  __device__ std::int64_t looked_at() const {
    return of_chosen() + m_row.vectors - (m_row.subranges << m_row.log_vectors);
  }
  __device__ std::int64_t of_chosen() const { return m_row.k << m_row.log_vectors; }
  __device__ std::int64_t vector(std::int64_t number) const {
    if (number >= of_chosen())
      return (m_row.subranges << m_row.log_vectors) + (number - of_chosen());
    std::int64_t const subrange = m_lists.in_order[number >> m_row.log_vectors];
    return (subrange << m_row.log_vectors) +
           (number & ((std::int64_t{1} << m_row.log_vectors) - 1));
  }

  struct Share {
    std::int64_t begin, end;
  };
  /// The vectors that `count` warps read, from `first_warp` on.
  __device__ Share share_of(std::int64_t first_warp, int count) const {
    std::int64_t const lines = (looked_at() + 31) / 32;
    std::int64_t const each = (lines + warps_of_grid() - 1) / warps_of_grid() * 32;
    std::int64_t const begin = min(first_warp * each, looked_at());
    return {begin, min(begin + count * each, looked_at())};
  }

  /// Calls put(slot, rank, position) for at least the first `most` candidates of the warp's share, in order.
  /// \return how many candidates there are
  template <class Put>
  __device__ unsigned each_candidate(unsigned most, Put const& put) const {
    auto const [begin, end] = share_of(warp_of_grid(), 1);
    unsigned slot = 0;
    if (warp_of_grid() == 0) each_at_end(0, m_row.head, slot, put);
#pragma unroll 1
    for (std::int64_t first = begin; first < end; first += 32 * in_flight) {
      std::int64_t places[in_flight];
      Vector<Bits> vectors[in_flight];
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        std::int64_t const number = first + v * 32 + lane();
        places[v] = number < end ? vector(number) : -1;
      }
#pragma unroll
      for (int v = 0; v < in_flight; ++v)
        vectors[v] = places[v] >= 0 ? m_row.template load<Packed, Row::Use::again>(places[v])
                                    : Vector<Bits>{};
#pragma unroll
      for (int v = 0; v < in_flight; ++v) each_in(vectors[v], places[v], most, slot, put);
    }
    if (warp_of_grid() == warps_of_grid() - 1)
      each_at_end(m_row.position(m_row.vectors), m_row.n, slot, put);
    return slot;
  }

  __device__ bool passes(Bits rank) const { return rank >= m_spread.least; }

  /// The same for one vector of each lane; a lane whose place is negative has none.
  template <class Put>
  __device__ void each_in(Vector<Bits> const& keys, std::int64_t place, unsigned most,
                          unsigned& slot, Put const& put) const {
    unsigned const passing =
        place >= 0 ? keys.passing([&](Bits key) { return passes(m_row.rank(key)); }) : 0;
    if (!__any_sync(full_warp, passing != 0)) return;
    auto const mine = static_cast<unsigned>(__popc(passing));
    unsigned const inclusive = warp_sum_to(mine);
    unsigned const all = __shfl_sync(full_warp, inclusive, 31);
    if (slot < most) put_line(keys, place, passing, inclusive - mine, all, slot, put);
    slot += all;
  }

  template <class Put>
  __device__ void put_line(Vector<Bits> const& keys, std::int64_t place, unsigned passing,
                           unsigned before, unsigned all, unsigned slot, Put const& put) const {
    Line& line = m_shared.lines[warp()];
    if (passing != 0)
      keys.visit([&](Bits key, int i) {
        if ((passing >> i & 1) == 0) return;
        line.ranks[before] = m_row.rank(key);
        line.offsets[before++] = static_cast<std::uint16_t>(lane() * Row::width + i);
      });
    __syncwarp();
#pragma unroll 1
    for (unsigned first = 0; first < all; first += 32) {
      unsigned const i = first + static_cast<unsigned>(lane());
      int const offset = i < all ? line.offsets[i] : 0;
      std::int64_t const its_place = __shfl_sync(full_warp, place, offset / Row::width);
      if (i < all) put(slot + i, line.ranks[i], m_row.position(its_place) + offset % Row::width);
    }
    __syncwarp();
  }

  /// The same for the keys before the first vector or behind the last, which are fewer than 16.
  template <class Put>
  __device__ void each_at_end(std::int64_t begin, std::int64_t end, unsigned& slot,
                              Put const& put) const {
    std::int64_t const position = begin + lane();
    Bits const rank = position < end ? static_cast<Bits>(rank_at(position)) : Bits{0};
    bool const is_mine = position < end && passes(rank);
    unsigned const here = __ballot_sync(full_warp, is_mine);
    if (is_mine) put(slot + __popc(here & ((1u << lane()) - 1)), rank, position);
    slot += static_cast<unsigned>(__popc(here));
  }

  /// Counts and notes the candidates of the warp, and writes the sum of the block for the other blocks.
  __device__ unsigned count() const {
    Note* const notes = m_shared.notes[warp()];
    auto const note = [&](unsigned slot, Bits rank, std::int64_t position) {
      if (slot < most_notes) notes[slot] = {position, rank};
    };
    unsigned const mine = each_candidate(most_notes, note);
    unsigned long long const before = block_before(lane() == 0 ? mine : 0);
    if (threadIdx.x == tuning.threads - 1) m_lists.block_sums[blockIdx.x] = before;
    return mine;
  }

  /// How many candidates the warps before this one have.
  __device__ std::int64_t first_slot(unsigned mine) const {
    unsigned long long others = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += tuning.threads)
      others += __ldcg(&m_lists.block_sums[b]);
    unsigned long long const before = block_before(others);
    if (threadIdx.x == tuning.threads - 1) m_shared.base = before + others;
    unsigned long long const in_block = block_before(lane() == 0 ? mine : 0);
    return static_cast<std::int64_t>(m_shared.base + __shfl_sync(full_warp, in_block, 0));
  }

  /// Writes the noted candidates, or reads the keys again if there were more than notes.
  __device__ void write(unsigned mine, std::int64_t first) const {
    auto const put = [&](unsigned slot, Bits rank, std::int64_t position) {
      m_lists.candidates[first + slot] = m_spread(rank);
      m_lists.positions.store(first + slot, position);
    };
    Note const* const notes = m_shared.notes[warp()];
    if (mine > most_notes)
      each_candidate(mine, put);
    else
      for (unsigned i = static_cast<unsigned>(lane()); i < mine; i += 32)
        put(i, notes[i].rank, notes[i].position);
    if (warp_of_grid() == warps_of_grid() - 1 && lane() < 2)
      m_lists.candidate_offsets[lane()] = lane() == 0 ? 0 : first + mine;
  }

  Row const& m_row;
  DelegateLists<Bits> const& m_lists;
  Shared& m_shared;
  SpreadOrderedBits<Bits> m_spread{};
};

/// All blocks must be on the device at once.
template <class Bits, bool Packed>
__global__ void __launch_bounds__(delegate_tuning.threads, delegate_tuning.blocks)
    concatenate(__grid_constant__ DelegateRow<Bits> const row) {
  __shared__ typename Concatenation<Bits, Packed>::Shared shared;
  wait_for_previous_kernel();
  Concatenation<Bits, Packed>(row, shared).run();
}

}  // namespace ktopk::detail::cuda
