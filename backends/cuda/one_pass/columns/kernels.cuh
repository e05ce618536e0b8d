// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../block/row.cuh"
#include "tuning.hpp"

// Rows whose keys lie side by side, as in LayoutLeft: neighboring rows are read together, in the order of memory.
// A block, or a cluster of blocks, selects from a group of such rows:
// sample: each block finds the thresholds of some of the rows and tells them the others.
// stream: each thread reads keys of one row. Each block reads some positions of all rows, and keeps what reaches the
//         thresholds in a list for each row.
// finish: each block selects from what all have kept of its own rows.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassColumnsTuning columns_tuning = one_pass_columns_tuning;

template <class Bits, class CompositeKey>
struct Columns {
  Batch<Bits, CompositeKey> batch;
  int share = 0;         // composite keys of a row that a block can keep
  int slot_samples = 0;  // if warps finish rows: of which a slot holds the best
  int order = 0;         // and the number of slots that reach the threshold
};

/// What a block knows of the rows of its group.
template <class CompositeKey>
struct GroupNotes {
  Filter<CompositeKey> filters[columns_tuning.most_rows];
  unsigned kept[columns_tuning.most_rows];  // by this block, even if its list could not hold all
  unsigned unproven;                        // a bit for each row

  __device__ static GroupNotes& of_this_block() {
    __shared__ GroupNotes notes;
    return notes;
  }
};

/// Which rows a block reads, and which of them it samples and finishes.
template <bool Clustered>
struct Group {
  std::int64_t first;
  int rows, part, parts, own_begin, own_end;

  template <class Bits, class CompositeKey>
  __device__ Group(Batch<Bits, CompositeKey> const& batch, std::int64_t group)
      : first(group * batch.lists),
        rows(static_cast<int>(min(std::int64_t{batch.lists}, batch.problem.shape.rows - first))),
        part(Clustered ? static_cast<int>(blockIdx.x) % batch.parts : 0),
        parts(Clustered ? batch.parts : 1) {
    int const own = max(1, batch.lists / parts);
    own_begin = min(part * own, rows);
    own_end = min(own_begin + own, rows);
  }

  /// All blocks of the group arrive.
  __device__ static void sync() {
    if constexpr (Clustered)
      cluster_sync();
    else
      __syncthreads();
  }
  template <class T>
  __device__ static T* of(T* mine, int block) {
    return Clustered ? of_block(mine, block) : mine;
  }
};

// ---- stream

/// Whether a key reaches a rank.
template <class Bits, bool NanWins>
struct ColumnTest {
  QuickTest<Bits> quick;
  bool nan_passes;

  __device__ ColumnTest(OrderedBitsMap<Bits> const& rank, Bits least)
      : quick(rank, least), nan_passes(NanWins || least == 0) {}
  __device__ bool operator()(OrderedBitsMap<Bits> const& rank, Bits key) const {
    bool const nan = static_cast<Bits>(key & rank.magnitude) > rank.infinity;
    if constexpr (NanWins) return nan || quick(key);
    return nan ? nan_passes : quick(key);
  }
  /// One of two tests, without a branch.
  __device__ static ColumnTest either(bool first, ColumnTest const& a, ColumnTest const& b) {
    ColumnTest chosen = b;
    chosen.quick = QuickTest<Bits>::either(first, a.quick, b.quick);
    chosen.nan_passes = first ? a.nan_passes : b.nan_passes;
    return chosen;
  }
};

/// The same for floats if NaN is the best key, the largest are wanted, and the rank is a number's: no NaN is less.
template <class Bits>
struct FloatColumnTest {
  float least;

  __device__ FloatColumnTest(OrderedBitsMap<Bits> const& rank, Bits least_rank)
      : least(__uint_as_float(rank.key_of(least_rank))) {}
  __device__ bool operator()(OrderedBitsMap<Bits> const&, Bits key) const {
    return !(__uint_as_float(key) < least);
  }
  __device__ static FloatColumnTest either(bool first, FloatColumnTest const& a,
                                           FloatColumnTest const& b) {
    FloatColumnTest chosen = b;
    chosen.least = first ? a.least : b.least;
    return chosen;
  }
  /// Whether it decides for this rank and the next.
  __device__ static bool serves(OrderedBitsMap<Bits> const& rank, Bits least) {
    return least < rank.ordered(rank.infinity);
  }
};

/// Which positions of a row win a tie with its threshold: those up to `cut`, or those from it on.
struct RowTies {
  int cut;
  bool low_positions_win;

  __device__ bool in(int begin, int end) const {
    return low_positions_win ? begin <= cut : end > cut;
  }
  __device__ bool cover(int begin, int end) const {
    return low_positions_win ? end <= cut + 1 : begin >= cut;
  }
};

/// Reads a block's positions of all rows of a group, and keeps the keys that reach the threshold of their row.
template <class Bits, class CompositeKey, bool Clustered, int Threads>
class ColumnStream {
 public:
  /// \param list  list(r) can hold `share` composite keys of row r
  template <class List>
  __device__ ColumnStream(Columns<Bits, CompositeKey> const& columns, Group<Clustered> const& group,
                          List const& list)
      : m_columns(columns),
        m_group(group),
        m_row(static_cast<int>(threadIdx.x) % columns.batch.lists),
        m_list(list(m_row)),
        m_apart(Threads / columns.batch.lists * group.parts),
        m_stride(m_apart * columns.batch.problem.rows.step * std::int64_t{sizeof(Bits)}) {}

  __device__ void run() const {
    OrderedBitsMap<Bits> const& rank = m_columns.batch.map.rank;
    bool const nan_wins = rank.magnitude != 0 && rank.ordered_nan != 0;
    if constexpr (sizeof(Bits) == 4) {
      bool const serves =
          FloatColumnTest<Bits>::serves(rank, m_columns.batch.map.ordered_bits_of(threshold()));
      if (compare_as_numbers(rank) && __syncthreads_and(serves))
        return read<FloatColumnTest<Bits>>();
    }
    if (nan_wins)
      read<ColumnTest<Bits, true>>();
    else
      read<ColumnTest<Bits, false>>();
  }

 private:
  /// Keys that a thread loads before it uses any. A block of a cluster has a processor to itself.
  static constexpr int in_flight = (Clustered ? 32 : 16) / (sizeof(Bits) == 8 ? 2 : 1);
  static constexpr unsigned all_bits = ~0u >> (32 - in_flight);
  using Notes = GroupNotes<CompositeKey>;

  __device__ CompositeKey threshold() const {
    return Notes::of_this_block().filters[m_row < m_group.rows ? m_row : 0].threshold;
  }

  template <class Test>
  __device__ void read() const {
    Batch<Bits, CompositeKey> const& batch = m_columns.batch;
    OrderedBitsMap<Bits> const& rank = batch.map.rank;
    CompositeKey const threshold = this->threshold();
    Bits const least = batch.map.ordered_bits_of(threshold);
    Test const with_ties(rank, least), without(rank, static_cast<Bits>(least + 1));
    bool const ties_only = least == std::numeric_limits<Bits>::max();
    RowTies const ties{static_cast<int>(batch.map.position(threshold)), batch.map.flip != 0};
    int const size = m_apart * in_flight, begin = m_group.part * (m_apart / m_group.parts) +
                                                  static_cast<int>(threadIdx.x) / batch.lists;
    int const n = m_row < m_group.rows ? static_cast<int>(batch.problem.shape.n) : 0;
    auto const* from = reinterpret_cast<char const*>(batch.problem.rows.keys + m_group.first +
                                                     m_row + begin * batch.problem.rows.step);
#pragma unroll 1
    for (int first = begin; first < n; first += size, from += m_stride * in_flight) {
      unsigned const valid = valid_bits(n - first);
      Bits found[in_flight];
      load(found, from, valid);
      bool const tie = ties.in(first, first + size);
      if (!tie && ties_only) continue;
      Test const test = Test::either(tie, with_ties, without);
      unsigned passed = 0;
#pragma unroll
      for (int v = 0; v < in_flight; ++v)
        passed |= static_cast<unsigned>(test(rank, found[v])) << v;
      passed &= valid;
      if (tie && !ties.cover(first, first + size))
        passed = reaching(threshold, from, passed, first);
      if (passed != 0) keep(found, from, passed, first);
    }
  }

  __device__ static Bits load(char const* at) { return __ldcs(reinterpret_cast<Bits const*>(at)); }

  __device__ void load(Bits (&found)[in_flight], char const* at, unsigned valid) const {
    if (valid == all_bits) {
#pragma unroll
      for (int v = 0; v < in_flight; ++v, at = next(at)) found[v] = load(at);
    } else {
#pragma unroll
      for (int v = 0; v < in_flight; ++v, at = next(at))
        found[v] = (valid >> v & 1) != 0 ? load(at) : Bits{0};
    }
  }

  /// The compiler would make each address from the first one, which takes more instructions.
  __device__ char const* next(char const* at) const {
    at += m_stride;
    asm("" : "+l"(at));
    return at;
  }

  /// A bit for each of a thread's keys that comes before the end of the row.
  __device__ unsigned valid_bits(int left) const {
    if (left > (in_flight - 1) * m_apart) return all_bits;
    if (left <= 0) return 0;
    return (2u << ((left - 1) / m_apart)) - 1;
  }

  /// The bits of the keys whose composite keys reach the threshold.
  __device__ unsigned reaching(CompositeKey threshold, char const* from, unsigned passed,
                               int first) const {
    unsigned exact = passed;
    for (; passed != 0; passed &= passed - 1) {
      int const v = __ffs(static_cast<int>(passed)) - 1;
      Bits const key = load(from + v * m_stride);
      if (m_columns.batch.map(key, static_cast<std::uint64_t>(first + v * m_apart)) < threshold)
        exact ^= passed & (0u - passed);
    }
    return exact;
  }

  /// Keeps the keys whose bit is set, if the list can hold all of them. A few are read again, since it takes an
  /// instruction or more for each register to pick them from there.
  __device__ void keep(Bits const (&found)[in_flight], char const* from, unsigned passed,
                       int first) const {
    auto const count = static_cast<unsigned>(__popc(passed));
    unsigned const slot = atomicAdd(&Notes::of_this_block().kept[m_row], count);
    if (slot + count > static_cast<unsigned>(m_columns.share)) return;
    CompositeKey* to = m_list + slot;
    if (__any_sync(__activemask(), count > columns_tuning.few_kept)) {
#pragma unroll
      for (int v = 0; v < in_flight; ++v)
        if ((passed >> v & 1) != 0) *to++ = kept(found[v], first, v);
    } else {
#pragma unroll 1
      for (; passed != 0; passed &= passed - 1) {
        int const v = __ffs(static_cast<int>(passed)) - 1;
        *to++ = kept(load(from + v * m_stride), first, v);
      }
    }
  }

  __device__ CompositeKey kept(Bits key, int first, int v) const {
    return RowSelection<Bits, CompositeKey, Threads, false, true>::raw(
        key, static_cast<unsigned>(first + v * m_apart));
  }

  Columns<Bits, CompositeKey> const& m_columns;
  Group<Clustered> const& m_group;
  int m_row;
  CompositeKey* m_list;
  int m_apart;            // positions between two loads of a thread
  std::int64_t m_stride;  // the same in bytes
};

/// Selects by digits from the rows of which not enough or too many keys were kept. All threads of the block call it.
template <class Row, class Bits, class CompositeKey>
__device__ void end_exactly(Batch<Bits, CompositeKey> const& batch, std::int64_t first) {
  unsigned left = GroupNotes<CompositeKey>::of_this_block().unproven;
  for (; left != 0; left &= left - 1) {
    __syncthreads();
    Row const row(batch);
    row.begin(first + __ffs(static_cast<int>(left)) - 1);
    row.end({CompositeKey{0}, 0}, 0);
    __syncthreads();
  }
}

// ---- rows finished by blocks

/// Each block samples and finishes its own rows one after the other.
template <class Bits, class CompositeKey, bool Clustered>
class ColumnsByBlocks {
  static constexpr int threads = columns_tuning.threads;
  using Row = RowSelection<Bits, CompositeKey, threads, false, true>;
  using Notes = GroupNotes<CompositeKey>;

 public:
  __device__ ColumnsByBlocks(Columns<Bits, CompositeKey> const& columns, std::int64_t group)
      : m_columns(columns), m_group(columns.batch, group) {}

  /// All threads of all blocks of the group call it.
  __device__ void run() const {
    begin();
    m_group.sync();
    ColumnStream<Bits, CompositeKey, Clustered, threads>(m_columns, m_group, [&](int r) {
      return list(r);
    }).run();
    m_group.sync();
    for (int r = m_group.own_begin; r < m_group.own_end; ++r) end_row(r);
    m_group.sync();
    end_exactly<Row>(m_columns.batch, m_group.first);
  }

  /// How many composite keys have memory where RowSelection works only if it reads a row.
  static constexpr int kept_in_gap() { return static_cast<int>(gap_bytes / sizeof(CompositeKey)); }

 private:
  static constexpr std::size_t gap_begin = bins_of(threads) * sizeof(unsigned);
  static constexpr std::size_t gap_bytes = work_bytes(threads) - gap_begin;

  /// What this block keeps of a row. The list of the row that the block finishes comes before most of these.
  __device__ CompositeKey* list(int r) const {
    int const in_gap = kept_in_gap() / m_columns.share;
    if (r < in_gap)
      return reinterpret_cast<CompositeKey*>(dynamic_shared + gap_begin) + r * m_columns.share;
    return Row(m_columns.batch, 1).list() + (r - in_gap) * m_columns.share;
  }

  __device__ void begin() const {
    Notes& notes = Notes::of_this_block();
    if (threadIdx.x < columns_tuning.most_rows) notes.kept[threadIdx.x] = 0;
    if (threadIdx.x == 0) notes.unproven = 0;
    for (int r = m_group.own_begin; r < m_group.own_end; ++r) {
      Row const row(m_columns.batch);
      row.begin(m_group.first + r);
      Filter<CompositeKey> const filter = row.filter();
      if (static_cast<int>(threadIdx.x) < m_group.parts)
        *m_group.of(&notes.filters[r], static_cast<int>(threadIdx.x)) = filter;
      __syncthreads();
    }
  }

  __device__ void end_row(int r) const {
    Row const row(m_columns.batch);
    row.begin(m_group.first + r);
    unsigned const size = gather(r, row.list());
    auto const k = static_cast<unsigned>(m_columns.batch.problem.selected_count(m_group.first + r));
    __syncthreads();
    bool const proven = size >= k && size <= static_cast<unsigned>(m_columns.batch.capacity);
    if (proven || k == 0)
      row.end(Notes::of_this_block().filters[r], size);
    else if (threadIdx.x == 0)
      Notes::of_this_block().unproven |= 1u << r;
    __syncthreads();
  }

  /// Brings the keys that all blocks kept of a row to this block's list. Returns how many these are, or more than the
  /// list holds if a block could not keep all.
  __device__ unsigned gather(int r, CompositeKey* to) const {
    int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    auto const share = static_cast<unsigned>(m_columns.share),
               capacity = static_cast<unsigned>(m_columns.batch.capacity);
    unsigned const mine =
        lane < m_group.parts ? *m_group.of(&Notes::of_this_block().kept[r], lane) : 0;
    unsigned const up_to = warp_sum_to(mine), total = __shfl_sync(full_warp, up_to, 31);
    if (__any_sync(full_warp, mine > share) || total > capacity) return capacity + 1;
    int const block = warp % m_group.parts;
    unsigned const count = __shfl_sync(full_warp, mine, block),
                   base = __shfl_sync(full_warp, up_to, block) - count;
    CompositeKey const* const from = m_group.of(list(r), block);
    auto const step = static_cast<unsigned>(threads / m_group.parts);
#pragma unroll 4
    for (unsigned i = static_cast<unsigned>(warp / m_group.parts * 32 + lane); i < count; i += step)
      to[base + i] = from[i];
    return total;
  }

  Columns<Bits, CompositeKey> const& m_columns;
  Group<Clustered> const m_group;
};

}  // namespace

}  // namespace ktopk::detail::cuda
