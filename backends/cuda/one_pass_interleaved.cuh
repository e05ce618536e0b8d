// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "one_pass_batch_row.cuh"

// Rows whose keys lie side by side, as in LayoutLeft. Neighboring rows are read together, in the order of memory.

namespace ktopk::detail::cuda {

namespace {

/// A block, or a cluster of blocks, selects from a group of neighboring rows. Each thread reads keys of one of them and
/// compares them with the threshold of that row. The rows are sampled and finished one after the other; each block of a
/// cluster finishes some of them.
template <class Bits, class CompositeKey, int Threads, bool Clustered>
class InterleavedSelection {
  using Row = RowSelection<Bits, CompositeKey, Threads, false, true>;
  static constexpr int in_flight = sizeof(Bits) == 8 ? 8 : 16;  // keys of a thread

 public:
  __device__ explicit InterleavedSelection(Batch<Bits, CompositeKey> const& batch)
      : m_batch(batch) {}

  /// All threads of all blocks of the group call it.
  __device__ void run(std::int64_t group) const {
    std::int64_t const first = group * m_batch.lists;
    int const rows =
        static_cast<int>(min(std::int64_t{m_batch.lists}, m_batch.problem.shape.rows - first));
    begin(first, rows);
    if constexpr (Clustered) cluster_sync();
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    if (rank.magnitude != 0 && rank.ordered_nan != 0)
      stream<true>(first, rows);
    else
      stream<false>(first, rows);
    __syncthreads();
    if constexpr (Clustered) {
      exchange(rows);
      cluster_sync();
    }
    for (int r = part(); r < rows; r += parts()) {
      Row const row(m_batch, r);
      row.begin(first + r);
      row.end(notes().filters[r], notes().kept[r]);
      __syncthreads();
    }
  }

 private:
  struct Notes {
    Filter<CompositeKey> filters[tuning.most_lists];
    unsigned
        kept[tuning.most_lists];  // by this block, or by all blocks if this one finishes the row
    // Where this block's composite keys begin in the list of the block that finishes the row.
    unsigned bases[tuning.most_lists];
  };

  __device__ static Notes& notes() {
    __shared__ Notes shared;
    return shared;
  }
  __device__ int parts() const { return Clustered ? m_batch.parts : 1; }
  __device__ int part() const { return static_cast<int>(blockIdx.x) % parts(); }
  __device__ unsigned capacity() const { return static_cast<unsigned>(m_batch.capacity); }
  /// How many threads read a row.
  __device__ int lanes() const { return Threads / m_batch.lists; }

  __device__ void begin(std::int64_t first, int rows) const {
    for (int r = 0; r < rows; ++r) {
      Row const row(m_batch);
      row.begin(first + r);
      Filter<CompositeKey> const filter = row.filter();
      if (threadIdx.x == 0) {
        notes().filters[r] = filter;
        notes().kept[r] = 0;
      }
      __syncthreads();
    }
  }

  /// Sends what this block kept of each row to the block that finishes the row.
  __device__ void exchange(int rows) const {
    int const mine = static_cast<int>(threadIdx.x);
    if (mine < rows && mine % parts() != part())
      notes().bases[mine] =
          atomicAdd(of_block(&notes().kept[mine], mine % parts()), notes().kept[mine]);
    __syncthreads();
    for (int r = 0; r < rows; ++r) {
      if (r % parts() == part()) continue;
      CompositeKey* const from = Row(m_batch, r).list();
      CompositeKey* const to = of_block(from, r % parts());
      unsigned const count = notes().kept[r], base = notes().bases[r];
      for (unsigned i = threadIdx.x; i < count && base + i < capacity() && i < capacity();
           i += Threads)
        to[base + i] = from[i];
    }
  }

  // ---- stream

  template <bool NanWins>
  __device__ void stream(std::int64_t first_row, int rows) const {
    int const r = static_cast<int>(threadIdx.x) % m_batch.lists,
              lane = static_cast<int>(threadIdx.x) / m_batch.lists;
    int const n = static_cast<int>(m_batch.problem.shape.n), lanes = this->lanes(),
              size = lanes * in_flight;
    int const length = (n + parts() * size - 1) / (parts() * size) * size;
    auto const begin = static_cast<int>(min(std::int64_t{part()} * length, std::int64_t{n}));
    int const end =
        r < rows ? static_cast<int>(min(std::int64_t{begin} + length, std::int64_t{n})) : begin;
    CompositeKey const threshold = notes().filters[r < rows ? r : 0].threshold;
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    Bits const least = m_batch.map.ordered_bits_of(threshold);
    QuickTest<Bits> const tie_test(rank, least), test(rank, static_cast<Bits>(least + 1));
    bool const ties_only = least == std::numeric_limits<Bits>::max();
    TieCut<CompositeKey> const ties(m_batch.map, threshold);
    std::int64_t const step = m_batch.problem.key_step;
    Bits const* const keys = m_batch.problem.keys + first_row + r;
#pragma unroll 1
    for (int first = begin + lane; first < end; first += size) {
      Bits found[in_flight];
#pragma unroll
      for (int v = 0; v < in_flight; ++v)
        found[v] = first + v * lanes < end ? __ldcs(keys + (first + v * lanes) * step) : Bits{0};
      bool const tie = ties.in(first, first + size);
      if (!tie && ties_only) continue;
      QuickTest<Bits> quick = test;
      quick.flip = tie ? tie_test.flip : test.flip;
      quick.least = tie ? tie_test.least : test.least;
      bool const nan_passes = NanWins || (tie && least == 0);
      unsigned passed = 0;
#pragma unroll
      for (int v = 0; v < in_flight; ++v) {
        bool const nan = static_cast<Bits>(found[v] & rank.magnitude) > rank.infinity;
        bool const pass = NanWins ? nan || quick(found[v]) : nan ? nan_passes : quick(found[v]);
        passed |= static_cast<unsigned>(pass && first + v * lanes < end) << v;
      }
      if (tie && !ties.covers(first, first + size))
        passed = reaching(threshold, keys, passed, first);
      if (passed != 0) keep(r, keys, passed, first);
    }
  }

  /// The position of the key of the lowest bit.
  __device__ int position(unsigned passed, int first) const {
    return first + (__ffs(static_cast<int>(passed)) - 1) * lanes();
  }

  /// The bits of the keys whose composite keys reach the threshold.
  __device__ unsigned reaching(CompositeKey threshold, Bits const* keys, unsigned passed,
                               int first) const {
    unsigned exact = passed;
    for (; passed != 0; passed &= passed - 1) {
      int const at = position(passed, first);
      if (m_batch.map(keys[at * m_batch.problem.key_step], static_cast<std::uint64_t>(at)) <
          threshold)
        exact ^= passed & (0u - passed);
    }
    return exact;
  }

  /// Keeps the keys whose bit is set, if the list can hold all of them.
  __device__ void keep(int r, Bits const* keys, unsigned passed, int first) const {
    auto const count = static_cast<unsigned>(__popc(passed));
    unsigned slot = atomicAdd(&notes().kept[r], count);
    if (slot + count > capacity()) return;
    CompositeKey* const list = Row(m_batch, r).list();
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      int const at = position(passed, first);
      list[slot++] = Row::raw(keys[at * m_batch.problem.key_step], static_cast<unsigned>(at));
    }
  }

  Batch<Bits, CompositeKey> const& m_batch;
};

}  // namespace

}  // namespace ktopk::detail::cuda
