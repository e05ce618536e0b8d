// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../common/warp.cuh"
#include "work.cuh"

// The delegate vector: one read of the row finds the greatest rank of every subrange. A warp reads neighboring vectors.
// A long subrange takes one reduction per warp. For short ones the lanes exchange through shared memory what they have
// read, and each goes on with neighboring vectors (coalesced load and strided compute, section 5.3 of the paper).

namespace ktopk::detail::cuda {

/// Codes for keys, which have the order of the ranks and cost fewer operations. Only the greatest is made a rank.
template <class Bits>
struct KeyCodes {
  OrderedBitsMap<Bits> rank;
  Bits
      base;  // ordered keys below it wrap around to the end, so that NaNs of both signs are on one side

  __device__ explicit KeyCodes(OrderedBitsMap<Bits> const& rank_)
      : rank(rank_), base(base_of(rank_)) {}

  __device__ Bits ordered_bits_of(Bits code) const {
    return rank(rank.key_of(static_cast<Bits>(code + base)));
  }

  /// The greatest code of the keys in a vector.
  __device__ Bits greatest(Vector<Bits> const& keys) const {
    if constexpr (sizeof(Bits) == 1) {
      return keys.greatest(rank.always);
    } else if constexpr (sizeof(Bits) == 2) {
      return greatest_of_pairs(keys);
    } else if constexpr (sizeof(Bits) == 4) {
      return max(max(code(keys.word[0]), code(keys.word[1])),
                 max(code(keys.word[2]), code(keys.word[3])));
    } else {
      return max(code(static_cast<Bits>(keys.word[1]) << 32 | keys.word[0]),
                 code(static_cast<Bits>(keys.word[3]) << 32 | keys.word[2]));
    }
  }

 private:
  __device__ static Bits base_of(OrderedBitsMap<Bits> const& rank) {
    if (rank.magnitude == 0) return 0;
    bool const nan_is_best = rank.ordered_nan != 0;
    Bits const one = rank.ordered(rank.infinity);
    // By magnitude NaNs are beyond infinity, and at one end already.
    if (rank.is_by_magnitude() && nan_is_best == QuickTest<Bits>::wants_largest(rank)) return 0;
    Bits const other = rank.ordered(static_cast<Bits>(rank.infinity | rank.minus_zero));
    return static_cast<Bits>(nan_is_best ? min(one, other) : max(one, other) + 1);
  }

  __device__ Bits code(Bits key) const { return static_cast<Bits>(rank.ordered(key) - base); }

  /// The same for two keys in a word at a time.
  __device__ Bits greatest_of_pairs(Vector<Bits> const& keys) const {
    constexpr unsigned both = 0x00010001u;
    unsigned const negative = rank.negative * both, always = rank.always * both;
    unsigned const minus_base = static_cast<std::uint16_t>(-base) * both;
    unsigned best = 0;
#pragma unroll
    for (unsigned const word : keys.word) {
      unsigned signs;
      asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(signs) : "r"(word));
      best = __viaddmax_u16x2(word ^ (signs & negative) ^ always, minus_base, best);
    }
    return static_cast<Bits>(max(best >> 16, best & 0xffffu));
  }
};

template <class Bits>
class DelegateBuilder {
  using Row = DelegateRow<Bits>;
  static constexpr DelegateTuning tuning = delegate_tuning;
  static constexpr int in_flight = tuning.vectors_in_flight;
  static constexpr int warps = tuning.threads / 32;
  static constexpr int log_warp_vectors = std::bit_width(unsigned{delegate_warp_vectors}) - 1;
  static_assert(1 << log_warp_vectors == delegate_warp_vectors && in_flight == 4);
  static constexpr int log_tile_vectors = std::bit_width(unsigned{delegate_tile_vectors}) - 1;
  static_assert(1 << log_tile_vectors == delegate_tile_vectors);
  static_assert(tuning.gathered % (delegate_tile_vectors / in_flight) == 0);

 public:
  struct alignas(16) Shared {
    Bits gathered[tuning.gathered];
    alignas(16) Bits exchanged[warps][delegate_warp_vectors];
  };

  __device__ DelegateBuilder(Row const& row, Shared& shared)
      : m_row(row),
        m_codes(row.rank),
        m_shared(shared),
        m_end(row.subranges << row.log_vectors),
        m_log_part(min(row.log_vectors, log_warp_vectors)) {}

  template <bool Packed>
  __device__ void build() const {
    std::int64_t const tiles = (m_end + delegate_tile_vectors - 1) >> log_tile_vectors;
    int const most_rounds = tuning.gathered >> log_parts();
    int round = 0;
#pragma unroll 1
    for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      std::int64_t const first = (tile << log_tile_vectors) + warp() * delegate_warp_vectors;
      Vector<Bits> vectors[in_flight];
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        std::int64_t const vector = first + v * 32 + lane();
        vectors[v] =
            vector < m_end ? m_row.template load<Packed, Row::Use::once>(vector) : Vector<Bits>{};
      }
      Bits codes[in_flight];
#pragma unroll
      for (int v = 0; v < in_flight; ++v) codes[v] = m_codes.greatest(vectors[v]);
      gather(codes, round << log_parts());
      if (++round < most_rounds && tile + gridDim.x < tiles) continue;
      store_gathered(tile - std::int64_t{round - 1} * gridDim.x, round);
      round = 0;
    }
  }

 private:
  using Shuffled = std::conditional_t<sizeof(Bits) == 8, CompositeKey64, unsigned>;

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  __device__ static Bits greatest_of(Bits const (&codes)[in_flight]) {
    return static_cast<Bits>(max(max(codes[0], codes[1]), max(codes[2], codes[3])));
  }

  /// log2 of the parts of a tile. A part is a subrange, or the vectors of a warp if these are fewer.
  __device__ int log_parts() const { return log_tile_vectors - m_log_part; }

  /// Stores the greatest code of each of the warp's parts among those of the block's tile, which begin at `tile`.
  __device__ void gather(Bits const (&codes)[in_flight], int tile) const {
    Bits* const to = &m_shared.gathered[tile + (warp() << (log_warp_vectors - m_log_part))];
    if (m_log_part < log_warp_vectors) return gather_short(codes, to);
    Bits const greatest = warp_greatest(greatest_of(codes));
    if (lane() == 0) *to = greatest;
  }

  /// The same if a warp has read several subranges: each lane goes on with four neighboring vectors.
  __device__ void gather_short(Bits const (&codes)[in_flight], Bits* to) const {
    constexpr std::size_t bytes = in_flight * sizeof(Bits);
    struct alignas(bytes < 16 ? bytes : 16) Neighbors {
      Bits codes[in_flight];
    };
    Bits* const exchanged = m_shared.exchanged[warp()];
#pragma unroll
    for (int v = 0; v < in_flight; ++v) exchanged[v * 32 + lane()] = codes[v];
    __syncwarp();
    Neighbors const mine = reinterpret_cast<Neighbors const*>(exchanged)[lane()];
    __syncwarp();
    Shuffled code = greatest_of(mine.codes);
    int const lanes = (1 << m_log_part) / in_flight;
#pragma unroll 1
    for (int mask = 1; mask < lanes; mask *= 2) code = max(code, shuffle_xor(code, mask));
    if (lane() % lanes == 0) to[lane() / lanes] = static_cast<Bits>(code);
  }

  /// Stores the delegates of many tiles together, because single small stores are slow. A subrange has up to 16 parts.
  __device__ void store_gathered(std::int64_t first_tile, int rounds) const {
    int const parts = 1 << (m_row.log_vectors - m_log_part);
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < rounds << log_parts(); first += tuning.threads) {
      int const part = first + static_cast<int>(threadIdx.x);
      bool const is_part = part < rounds << log_parts();
      Shuffled code = is_part ? m_shared.gathered[part] : 0;
#pragma unroll 1
      for (int mask = 1; mask < parts; mask *= 2) code = max(code, shuffle_xor(code, mask));
      std::int64_t const tile = first_tile + std::int64_t{part >> log_parts()} * gridDim.x;
      std::int64_t const vector =
          (tile << log_tile_vectors) + (part % (1 << log_parts()) << m_log_part);
      if (is_part && part % parts == 0 && vector < m_end)
        m_row.lists.delegates[vector >> m_row.log_vectors] =
            m_codes.ordered_bits_of(static_cast<Bits>(code));
    }
    __syncthreads();
  }

  DelegateRow<Bits> const& m_row;
  KeyCodes<Bits> m_codes;
  Shared& m_shared;
  std::int64_t m_end;  // how many vectors belong to subranges
  int m_log_part;      // log2 of the vectors in a part
};

/// Also clears the counters of the concatenation.
template <class Bits, bool Packed>
__global__ void __launch_bounds__(delegate_tuning.threads, delegate_tuning.blocks)
    build_delegates(__grid_constant__ DelegateRow<Bits> const row) {
  __shared__ typename DelegateBuilder<Bits>::Shared shared;
  std::int64_t const words = std::int64_t{row.chunks()} * row.chunk_words;
  std::int64_t const stride = std::int64_t{gridDim.x} * delegate_tuning.threads;
  std::int64_t const thread = std::int64_t{blockIdx.x} * delegate_tuning.threads + threadIdx.x;
  for (std::int64_t i = thread; i < words; i += stride) row.lists.is_chosen[i] = 0;
  for (std::int64_t i = thread; i < row.chunks(); i += stride) row.lists.chunk_sums[i] = 0;
  if (thread == 0) *row.lists.counters = {};
  DelegateBuilder<Bits>(row, shared).template build<Packed>();
}

}  // namespace ktopk::detail::cuda
