// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bisection_search.cuh"

// From the search's result to a list of the winners' columns, which is then sorted and stored.

namespace ktopk::detail::cuda {

/// Appends to a list in shared memory the columns whose codes reach the threshold: `column` for the low
/// half of the pair, the next one for the high half.
__device__ __forceinline__ void append_reaching(unsigned& address, unsigned pair,
                                                unsigned threshold, int column) {
  asm volatile(
      "{\n\t.reg .pred low, high;\n\t"
      "setp.ge.f16x2 low|high, %1, %2;\n\t"
      "@low st.shared.u16 [%0], %3;\n\t@low add.u32 %0, %0, 2;\n\t"
      "@high st.shared.u16 [%0], %4;\n\t@high add.u32 %0, %0, 2;\n\t}"
      : "+r"(address)
      : "r"(pair), "r"(threshold), "r"(column), "r"(column + 1)
      : "memory");
}

/// Likewise for codes that equal `value`.
__device__ __forceinline__ void append_equal(unsigned& address, unsigned pair, unsigned value,
                                             int column) {
  asm volatile(
      "{\n\t.reg .pred low, high;\n\t"
      "setp.eq.f16x2 low|high, %1, %2;\n\t"
      "@low st.shared.u16 [%0], %3;\n\t@low add.u32 %0, %0, 2;\n\t"
      "@high st.shared.u16 [%0], %4;\n\t@high add.u32 %0, %0, 2;\n\t}"
      : "+r"(address)
      : "r"(pair), "r"(value), "r"(column), "r"(column + 1)
      : "memory");
}

/// The winners of a warp's rows.
template <class Bits, int Lanes>
class RowWinners {
 public:
  using Item = typename Work<Bits>::Item;
  static constexpr int rows = 32 / Lanes;

  __device__ __forceinline__ RowWinners(WarpMemory<Bits> const& memory, int k)
      : m_memory(memory),
        m_work(memory.work),
        m_place(static_cast<int>(threadIdx.x) % 32 / Lanes),
        m_lane(static_cast<int>(threadIdx.x) % Lanes),
        m_k(k),
        m_row(memory.row(m_place)),
        m_list(memory.list() + m_place * memory.work.problem.shape.k) {}

  /// Lists the columns of the row's k best.
  __device__ __forceinline__ void list(RowSearch<Bits, Lanes> const& search) {
    Cut const sure = search.sure();
    unsigned address = shared_address(m_list + search.before(sure));
    unsigned const threshold = sure.code * 0x10001u;
    search.each_pair(
        [&](unsigned pair, int column) { append_reaching(address, pair, threshold, column); });
    bool const open = !search.is_exact() && m_k > 0;
    if (__any_sync(full_warp, open && !search.is_equal())) rank_ties(search);
    if (__any_sync(full_warp, open && search.is_equal())) take_equals(search);
    __syncwarp();
  }

  /// Best first: a bitonic network without its missing items, which count as the worst.
  __device__ __forceinline__ void sort() {
    int const longest = static_cast<int>(m_work.problem.shape.k);
    for (int size = 2; size < 2 * longest; size *= 2) {
      exchange(longest, size / 2, size - 1);
      for (int half = size / 4; half > 0; half /= 2) exchange(longest, half, half);
    }
  }

  __device__ __forceinline__ void store(std::int64_t first) const {
    if (m_work.stores_quads && first + rows <= m_work.problem.shape.rows)
      store_quads(first);
    else
      store_slots(first);
  }

 private:
  __device__ __forceinline__ Item item(int column) const {
    return m_work.map(m_row[column], static_cast<std::uint64_t>(column));
  }

  /// Ranks the few keys that share the code of the k-th, and lists the best of them.
  __device__ __forceinline__ void rank_ties(RowSearch<Bits, Lanes> const& search) {
    bool const mine = !search.is_exact() && !search.is_equal() && m_k > 0;
    int const above = static_cast<int>(search.high().reaching);
    int const count = mine ? static_cast<int>(search.low().reaching) - above : 0;
    std::uint16_t* const ties = m_memory.ties() + m_place * bisection_tuning.ties;
    int const start = search.before(search.low()) - search.before(search.high());
    if (mine) {
      unsigned address = shared_address(ties + start);
      unsigned const value = search.low().code * 0x10001u;
      search.each_pair(
          [&](unsigned pair, int column) { append_equal(address, pair, value, column); });
    }
    __syncwarp();
    for (int i = m_lane; i < count; i += Lanes) {
      Item const candidate = item(ties[i]);
      int better = 0;
      for (int j = 0; j < count; ++j) better += item(ties[j]) > candidate ? 1 : 0;
      if (above + better < m_k) m_list[above + better] = ties[i];
    }
  }

  /// Lists the first or the last of the keys that share the k-th's rank.
  __device__ __forceinline__ void take_equals(RowSearch<Bits, Lanes> const& search) {
    bool const mine = !search.is_exact() && search.is_equal();
    int const above = static_cast<int>(search.high().reaching);
    int const count = static_cast<int>(search.low().reaching) - above;
    bool const last_wins = m_work.map.flip == 0;
    int const first_part = last_wins ? count - (m_k - above) : m_k - above;
    std::uint64_t mask = mine ? search.tie_mask() : 0;
    int const boundary = boundary_of(mask, first_part);
    std::uint64_t const below = bits_below(boundary);
    mask &= last_wins ? ~below : below;
    int slot = above + lanes_before<Lanes>(__popcll(mask));
    while (mask != 0) {
      int const bit = __ffsll(static_cast<long long>(mask)) - 1;
      m_list[slot++] = static_cast<std::uint16_t>(column_of(bit));
      mask &= mask - 1;
    }
  }

  __device__ __forceinline__ int column_of(int bit) const {
    return 4 * (m_lane + bit / 4 * Lanes) + bit % 4;
  }
  /// The bits of this lane whose columns are below `column`.
  __device__ __forceinline__ std::uint64_t bits_below(int column) const {
    int const chunk = column / 4 - m_lane;
    int const whole = chunk > 0 ? (chunk + Lanes - 1) / Lanes : 0;
    int const bits = 4 * whole + (chunk >= 0 && chunk % Lanes == 0 ? column % 4 : 0);
    return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  /// The least column below which there are `count` of the row's bits.
  __device__ __forceinline__ int boundary_of(std::uint64_t mask, int count) const {
    int low = 0;
    for (int step = bisection_tuning.keys_of_lane * Lanes; step > 0; step /= 2) {
      int found = __popcll(mask & bits_below(low + step));
#pragma unroll
      for (int other = 1; other < Lanes; other *= 2)
        found += __shfl_xor_sync(full_warp, found, other);
      if (found < count) low += step;
    }
    return count > 0 ? low + 1 : 0;
  }

  /// Compares every place with the one that differs from it in the bits of `flip`, all of them at or
  /// below the bit `half`.
  __device__ __forceinline__ void exchange(int longest, int half, int flip) {
    for (int i = m_lane; i < longest; i += Lanes) {
      int const place = (i & ~(half - 1)) * 2 + (i & (half - 1));
      int const other = place ^ flip;
      if (other < m_k) {
        std::uint16_t const here = m_list[place], there = m_list[other];
        if (item(there) > item(here)) {
          m_list[place] = there;
          m_list[other] = here;
        }
      }
    }
    __syncwarp();
  }

  /// Any strides, short rows: a slot at a time.
  __device__ __forceinline__ void store_slots(std::int64_t first) const {
    auto const& problem = m_work.problem;
    auto const k = static_cast<unsigned>(problem.shape.k);
    std::uint16_t const* const list = m_memory.list();
    for (unsigned begin = 0; begin < rows * k; begin += 32) {
      unsigned const at = begin + threadIdx.x % 32;
      unsigned const r = (at * std::uint64_t{m_work.slot_reciprocal}) >> 24;
      unsigned const slot = at - r * k;
      int const real = __shfl_sync(full_warp, m_k, static_cast<int>(r * Lanes));
      std::int64_t const row = first + r;
      if (at >= rows * k || row >= problem.shape.rows) continue;
      if (slot < static_cast<unsigned>(real))
        problem.store(row, slot, m_memory.row(static_cast<int>(r))[list[at]], list[at]);
      else
        problem.store_missing(row, slot);
    }
  }

  /// Packed rows of outputs, k a multiple of four.
  __device__ __forceinline__ void store_quads(std::int64_t first) const {
    auto const& problem = m_work.problem;
    auto const k = static_cast<unsigned>(problem.shape.k);
    auto const* const list = reinterpret_cast<uint2 const*>(m_memory.list());
    std::int64_t const begin = first * problem.shape.k;
    for (unsigned quad = threadIdx.x % 32; 4 * quad < rows * k; quad += 32) {
      uint2 const columns = list[quad];
      unsigned const c[4] = {columns.x & 0xffffu, columns.x >> 16, columns.y & 0xffffu,
                             columns.y >> 16};
      if (problem.values != nullptr) {
        unsigned const r = (4 * quad * std::uint64_t{m_work.slot_reciprocal}) >> 24;
        Bits const* const keys = m_memory.row(static_cast<int>(r));
        Chunk<Bits> chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i) chunk.keys[i] = keys[c[i]];
        reinterpret_cast<Chunk<Bits>*>(problem.values + begin)[quad] = chunk;
      }
      if (problem.indices != nullptr) store_indices(begin, quad, c);
    }
  }

  __device__ __forceinline__ void store_indices(std::int64_t begin, unsigned quad,
                                                unsigned const (&c)[4]) const {
    auto const& problem = m_work.problem;
    if (problem.shape.index_bytes == 4) {
      auto* const to = static_cast<std::uint32_t*>(problem.indices) + begin;
      __stcs(reinterpret_cast<uint4*>(to) + quad, make_uint4(c[0], c[1], c[2], c[3]));
    } else {
      auto* const to = static_cast<std::uint64_t*>(problem.indices) + begin;
      __stcs(reinterpret_cast<ulonglong2*>(to) + 2 * quad, make_ulonglong2(c[0], c[1]));
      __stcs(reinterpret_cast<ulonglong2*>(to) + 2 * quad + 1, make_ulonglong2(c[2], c[3]));
    }
  }

  WarpMemory<Bits> const& m_memory;
  Work<Bits> const& m_work;
  int m_place, m_lane, m_k;
  Bits const* m_row;
  std::uint16_t* m_list;
};

}  // namespace ktopk::detail::cuda
