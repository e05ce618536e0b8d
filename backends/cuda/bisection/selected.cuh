// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "search.cuh"
#include "sort.cuh"

// Lists the columns of the selected keys from the result of the search, sorts the list, and stores it.

namespace ktopk::detail::cuda {

/// Appends a column to a list in shared memory.
__device__ __forceinline__ void append(unsigned& address, int column) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(static_cast<std::uint16_t>(column))
               : "memory");
  address += 2;
}

/// Appends to a list in shared memory the columns whose codes reach the threshold. `column` is that of the low half of
/// the pair, the next one that of the high half.
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

/// The selected keys of a warp's rows.
template <class Bits, int Lanes, int Keys, Form form>
class WarpSelection {
 public:
  using CompositeKey = typename Work<Bits>::CompositeKey;
  static constexpr int rows = 32 / Lanes;
  static constexpr int most_in_lane = bisection_tuning.most_sorted(sizeof(Bits)) / 32;

  __device__ __forceinline__ WarpSelection(WarpMemory<Bits> const& memory, int n, int k)
      : m_memory(memory),
        m_work(memory.work),
        m_place(static_cast<int>(threadIdx.x) % 32 / Lanes),
        m_lane(static_cast<int>(threadIdx.x) % Lanes),
        m_n(n),
        m_k(k),
        m_row(memory.row(m_place)),
        m_list(memory.list() + m_place * memory.work.problem.shape.k) {}

  /// Lists the columns of the row's k best.
  __device__ __forceinline__ void list(RowSearch<Bits, Lanes, Keys, form> const& search) {
    Cut const sure = search.sure();
    int const before = search.before(sure);
    unsigned address = shared_address(m_list + before);
    unsigned const threshold = sure.pair;
    search.each_pair(before >> 31, [&](unsigned pair, int column) {
      append_reaching(address, pair, threshold, column);
    });
    bool const open = !search.is_exact() && m_k > 0;
    if (__any_sync(full_warp, open)) rank_ties(search, open);
    __syncwarp();
  }

  /// Sorts the list, best first.
  __device__ __forceinline__ void sort() {
    int const longest = m_work.k();
    if (longest <= 4 * Lanes)
      sort_rows<4>(longest);
    else if (most_in_lane > 8 && longest <= 8 * Lanes)
      sort_rows<std::min(most_in_lane, 8)>(longest);
    else
      sort_rows<most_in_lane>(longest);
  }

  __device__ __forceinline__ void store(std::int64_t first) const {
    if (m_work.stores_quads && first + rows <= m_work.problem.shape.rows)
      store_quads(first);
    else
      store_slots(first);
  }

 private:
  __device__ __forceinline__ int n() const { return keys_of_row<Lanes * Keys, form>(m_work, m_n); }
  __device__ __forceinline__ CompositeKey composite(int column) const {
    return m_work.map(m_row[column], static_cast<std::uint64_t>(column));
  }

  /// Ranks the few keys that share the code of the k-th, and lists the best of them.
  __device__ __forceinline__ void rank_ties(RowSearch<Bits, Lanes, Keys, form> const& search,
                                            bool open) {
    int const above = static_cast<int>(search.high().reaching);
    int const count = open ? static_cast<int>(search.low().reaching) - above : 0;
    auto* const ties = m_memory.ties(m_place, bisection_tuning.ties(Lanes));
    int const start = search.before(search.low()) - search.before(search.high());
    if (open) {
      unsigned address = shared_address(ties + start);
      unsigned const from = search.low().pair, end = search.high().pair;
      search.each_of_few(
          [&](unsigned pair) { return reaching_mask(pair, from) & ~reaching_mask(pair, end); },
          [&](int column) { append(address, column); });
    }
    __syncwarp();
    constexpr int most = bisection_tuning.ties(Lanes) / Lanes;
    CompositeKey mine[most];
    int columns[most], better[most] = {};
#pragma unroll
    for (int p = 0; p < most; ++p) {
      int const i = m_lane + p * Lanes;
      columns[p] = i < count ? ties[i] : n();
      mine[p] = composite_or_least(columns[p]);
    }
    int const longest = static_cast<int>(lanes_max<32>(static_cast<unsigned>(count)));
    for (int from = 0; from < min(longest, Lanes); ++from)
#pragma unroll
      for (int p = 0; p < most; ++p) {
        if (p * Lanes >= longest) break;
        CompositeKey const other = shuffle_from(mine[p], m_place * Lanes + from);
#pragma unroll
        for (int q = 0; q < most; ++q) better[q] += other > mine[q] ? 1 : 0;
      }
#pragma unroll
    for (int p = 0; p < most; ++p)
      if (columns[p] < n() && above + better[p] < m_k)
        m_list[above + better[p]] = static_cast<std::uint16_t>(columns[p]);
  }
  /// The composite key of a column, or the least behind the end of the row.
  __device__ __forceinline__ CompositeKey composite_or_least(int column) const {
    return column < n() ? composite(column) : CompositeKey{0};
  }

  /// Sorts as many rows at a time as a warp holds with `Count` selected keys a lane.
  template <int Count>
  __device__ __forceinline__ void sort_rows(int longest) {
    int lanes = 1;
    while (lanes * Count < longest) lanes *= 2;
    int const lane = static_cast<int>(threadIdx.x) % 32, first = lane % lanes * Count;
    for (int begin = 0; begin < rows; begin += 32 / lanes) {
      int const r = begin + lane / lanes;
      CompositeKey composites[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) composites[i] = composite_of_slot(r, first + i);
      sort_over_lanes(composites, lanes);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Count; ++i)
        if (r < rows && first + i < longest)
          m_memory.list()[r * longest + first + i] = column_of(composites[i]);
    }
    __syncwarp();
  }

  /// The composite key of a slot of the warp's row r, or 0 if the slot is empty.
  __device__ __forceinline__ CompositeKey composite_of_slot(int r, int slot) const {
    int const real = __shfl_sync(full_warp, m_k, r * Lanes);
    if (r >= rows || slot >= real) return 0;
    int const column = m_memory.list()[r * m_work.k() + slot];
    return m_work.map(m_memory.row(r)[column], static_cast<std::uint64_t>(column));
  }
  __device__ __forceinline__ std::uint16_t column_of(CompositeKey composite) const {
    return static_cast<std::uint16_t>(m_work.map.position(composite));
  }

  /// Stores for any strides and short rows: a slot at a time.
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
        problem.out.store(row, slot, key(first, r, list[at]), list[at]);
      else
        problem.out.store_missing(row, slot);
    }
  }

  /// Stores for packed rows of outputs and k a multiple of four: four slots at a time.
  __device__ __forceinline__ void store_quads(std::int64_t first) const {
    auto const& problem = m_work.problem;
    auto const k = static_cast<unsigned>(problem.shape.k);
    auto const* const list = reinterpret_cast<uint2 const*>(m_memory.list());
    std::int64_t const begin = first * problem.shape.k;
    for (unsigned quad = threadIdx.x % 32; 4 * quad < rows * k; quad += 32) {
      uint2 const columns = list[quad];
      unsigned const c[4] = {columns.x & 0xffffu, columns.x >> 16, columns.y & 0xffffu,
                             columns.y >> 16};
      if (problem.out.values != nullptr) {
        unsigned const r = (4 * quad * std::uint64_t{m_work.slot_reciprocal}) >> 24;
        Chunk<Bits> chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i) chunk.keys[i] = key(first, r, c[i]);
        reinterpret_cast<Chunk<Bits>*>(problem.out.values + begin)[quad] = chunk;
      }
      if (problem.out.indices != nullptr) store_indices(begin, quad, c);
    }
  }

  /// A key of the warp's row r as it was given.
  __device__ __forceinline__ Bits key(std::int64_t first, unsigned r, unsigned column) const {
    if (m_work.by_magnitude) return m_work.problem.rows.row(first + r)[column];
    return m_memory.row(static_cast<int>(r))[column];
  }

  __device__ __forceinline__ void store_indices(std::int64_t begin, unsigned quad,
                                                unsigned const (&c)[4]) const {
    auto const& problem = m_work.problem;
    if (problem.shape.index_bytes == 4) {
      auto* const to = static_cast<std::uint32_t*>(problem.out.indices) + begin;
      __stcs(reinterpret_cast<uint4*>(to) + quad, make_uint4(c[0], c[1], c[2], c[3]));
    } else {
      auto* const to = static_cast<std::uint64_t*>(problem.out.indices) + begin;
      __stcs(reinterpret_cast<ulonglong2*>(to) + 2 * quad, make_ulonglong2(c[0], c[1]));
      __stcs(reinterpret_cast<ulonglong2*>(to) + 2 * quad + 1, make_ulonglong2(c[2], c[3]));
    }
  }

  WarpMemory<Bits> const& m_memory;
  Work<Bits> const& m_work;
  int m_place, m_lane, m_n, m_k;
  Bits const* m_row;
  std::uint16_t* m_list;
};

}  // namespace ktopk::detail::cuda
