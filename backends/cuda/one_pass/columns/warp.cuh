// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "kernels.cuh"

// Many short rows whose keys lie side by side: a warp finds a row's threshold, and later selects from what was kept of
// the row.

namespace ktopk::detail::cuda {

namespace {

/// Samples of a row are kept in so many slots, each of which holds the best of its samples.
constexpr int sample_slots = 32;

/// The chance that fewer than `order` of the slots, each with a chance of `share`, are reached.
__host__ __device__ inline double chance_below(int order, double share) {
  double term = 1, sum = 0;
  for (int i = 0; i < sample_slots; ++i) term *= 1 - share;
  for (int i = 0; i < order; ++i) {
    sum += term;
    term *= share / (1 - share) * (sample_slots - i) / (i + 1);
  }
  return sum;
}

/// How many slots must reach a threshold, so that k of n keys hardly ever do not; more than there are if none would do.
__host__ __device__ inline int slots_to_reach(std::int64_t n, std::int64_t k, int slot_samples) {
  double const missed = 1 - static_cast<double>(k) / static_cast<double>(n);
  double none = 1;
  for (int i = 0; i < slot_samples; ++i) none *= missed;
  int order = 1;
  while (order <= sample_slots && chance_below(order, 1 - none) < 1 - columns_tuning.unproven_share)
    ++order;
  return order;
}

/// Raises `low` and lowers `high` until exactly `order` of a warp's values reach `low`, or both are equal. Returns how
/// many reach `low`, if it was raised. At least `order` values do.
/// \param count  count(value) is how many of a warp's values reach it
template <class T, class Count>
__device__ int narrow_in_warp(int order, T& low, T high, Count const& count) {
  int reach_low = -1;
  while (low < high && reach_low != order) {
    T const middle = static_cast<T>(low + (high - low) / 2 + 1);
    int const reach = count(middle);
    if (reach < order) {
      high = static_cast<T>(middle - 1);
    } else {
      low = middle;
      reach_low = reach;
    }
  }
  return reach_low;
}

/// Each warp samples and finishes some of the block's rows.
template <class Bits, class CompositeKey>
class ColumnsByWarps {
  static constexpr int threads = columns_tuning.threads, warps = threads / 32;
  using Row = RowSelection<Bits, CompositeKey, threads, false, true>;
  using Notes = GroupNotes<CompositeKey>;
  /// Rank and position, in order as composite keys are. It takes no shifts to make one.
  using Entry = std::uint64_t;

 public:
  __device__ ColumnsByWarps(Columns<Bits, CompositeKey> const& columns, std::int64_t group)
      : m_columns(columns), m_group(columns.batch, group) {}

  /// All threads of the block call it.
  __device__ void run() const {
    begin();
    __syncthreads();
    ColumnStream<Bits, CompositeKey, false, threads>(m_columns, m_group, [&](int r) {
      return list(r);
    }).run();
    __syncthreads();
    for (int r = warp(); r < m_group.rows; r += warps) end_row(r);
    __syncthreads();
    end_exactly<Row>(m_columns.batch, m_group.first);
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// They lie where the samples were, and where RowSelection works if it selects from a row.
  __device__ CompositeKey* list(int r) const {
    return reinterpret_cast<CompositeKey*>(dynamic_shared) + r * m_columns.share;
  }
  /// The slots of a row. Neighboring rows are in different banks.
  __device__ static Entry* slots(int r) {
    return reinterpret_cast<Entry*>(dynamic_shared) + r * (sample_slots + 1);
  }
  __device__ CompositeKeyMap<Bits, CompositeKey> const& map() const { return m_columns.batch.map; }
  __device__ unsigned flip() const { return static_cast<unsigned>(map().flip); }
  __device__ Entry entry(Bits key, unsigned position) const {
    return static_cast<Entry>(map().rank(key)) << 32 | (position ^ flip());
  }
  __device__ static Bits rank_of(Entry entry) { return static_cast<Bits>(entry >> 32); }
  __device__ unsigned position_of(Entry entry) const {
    return static_cast<unsigned>(entry) ^ flip();
  }
  __device__ int wanted(int r) const {
    return static_cast<int>(m_columns.batch.problem.selected_count(m_group.first + r));
  }

  // ---- sample

  __device__ void begin() const {
    Notes& notes = Notes::of_this_block();
    if (threadIdx.x < columns_tuning.most_rows) notes.kept[threadIdx.x] = 0;
    if (threadIdx.x == 0) notes.unproven = 0;
    take_samples();
    __syncthreads();
    for (int r = warp(); r < m_group.rows; r += warps) {
      CompositeKey const threshold = threshold_of(r);
      if (lane() == 0) notes.filters[r].threshold = threshold;
    }
  }

  __device__ void take_samples() const {
    StoredProblem<Bits> const& problem = m_columns.batch.problem;
    int const lists = m_columns.batch.lists, r = static_cast<int>(threadIdx.x) % lists;
    if (r >= m_group.rows) return;
    Bits const* const keys = problem.rows.keys + m_group.first + r;
    constexpr int together = 8;  // loads of a thread
    auto const stratum = static_cast<unsigned>(problem.shape.n) /
                         static_cast<unsigned>(sample_slots * m_columns.slot_samples);
    for (int slot = static_cast<int>(threadIdx.x) / lists; slot < sample_slots;
         slot += threads / lists) {
      Entry best = 0;
      for (int first = 0; first < m_columns.slot_samples; first += together) {
        Bits found[together];
        unsigned positions[together];
#pragma unroll
        for (int i = 0; i < together; ++i) {
          auto const sample = static_cast<unsigned>((first + i) * sample_slots + slot);
          positions[i] = sample * stratum + __umulhi(mixed(sample), stratum);
          if (first + i < m_columns.slot_samples)
            found[i] = __ldg(keys + positions[i] * problem.rows.step);
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
          Entry const next = entry(found[i], positions[i]);
          if (first + i < m_columns.slot_samples) best = next > best ? next : best;
        }
      }
      slots(r)[slot] = best;
    }
  }

  __device__ static unsigned mixed(unsigned x) {
    x = (x + 1) * 0x9e3779b9u;
    return (x ^ (x >> 15)) * 0x85ebca6bu;
  }

  __device__ CompositeKey threshold_of(int r) const {
    Threshold const forced = m_columns.batch.forced;
    int const k = wanted(r);
    if (k == 0 || forced == Threshold::too_high)
      return (CompositeKey{1} << (map().width() - 1) << 1) - 1;
    if (forced == Threshold::too_low) return 0;
    Shape const& shape = m_columns.batch.problem.shape;
    int const order =
        k == shape.k ? m_columns.order : slots_to_reach(shape.n, k, m_columns.slot_samples);
    if (order > sample_slots) return 0;
    Entry const threshold = slot_of_order(r, order);
    return map().join(rank_of(threshold), position_of(threshold));
  }

  /// The order-th best slot of a row.
  __device__ Entry slot_of_order(int r, int order) const {
    Entry const mine = slots(r)[lane()];
    int better = 0;
#pragma unroll
    for (int slot = 0; slot < sample_slots; ++slot) better += slots(r)[slot] > mine ? 1 : 0;
    unsigned const here = __ballot_sync(full_warp, better == order - 1);
    return __shfl_sync(full_warp, static_cast<unsigned long long>(mine),
                       __ffs(static_cast<int>(here)) - 1);
  }

  // ---- finish

  __device__ void end_row(int r) const {
    int const k = wanted(r), size = static_cast<int>(Notes::of_this_block().kept[r]);
    if (k > 0 && (size < k || size > m_columns.share)) {
      if (lane() == 0) atomicOr(&Notes::of_this_block().unproven, 1u << r);
      return;
    }
    if (k > 0) {
      if (size <= 4 * 32)
        select<4>(r, k, size);
      else if (size <= 8 * 32)
        select<8>(r, k, size);
      else
        select_of_many(m_columns, m_group.first / m_columns.batch.lists, r, k, size);
      store(r, k);
    }
    fill_row_by_warp(r, k);
  }

  /// Leaves the selected keys at the begin of the row's list, which had up to 32 * Each.
  template <int Each>
  __device__ void select(int r, int k, int size) const {
    Bits ranks[Each];
    unsigned positions[Each];
    Bits best = 0;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      bool const is_one = e * 32 + lane() < size;
      CompositeKey const raw = is_one ? list(r)[e * 32 + lane()] : CompositeKey{0};
      auto const position = static_cast<unsigned>(raw);
      ranks[e] =
          is_one ? map().rank(static_cast<Bits>(raw >> (4 * sizeof(CompositeKey)))) : Bits{0};
      // One more, so that it is 0 where there is none.
      positions[e] = is_one ? (position ^ flip()) + 1 : 0;
      best = ranks[e] > best ? ranks[e] : best;
    }
    Bits low = map().ordered_bits_of(Notes::of_this_block().filters[r].threshold);
    unsigned least_position = 1;
    int const reach = size == k ? k : narrow_in_warp(k, low, warp_greatest(best), [&](Bits least) {
      unsigned count = 0;
#pragma unroll
      for (int e = 0; e < Each; ++e) count += ranks[e] >= least ? 1 : 0;
      return static_cast<int>(warp_total(count));
    });
    if (reach != k) least_position = cut_ties(ranks, positions, low, k);
    __syncwarp();
    int slot = 0;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      bool const is_selected =
          positions[e] != 0 &&
          (ranks[e] > low || (ranks[e] == low && positions[e] >= least_position));
      unsigned const all = __ballot_sync(full_warp, is_selected);
      if (is_selected)
        list(r)[slot + __popc(all & ((1u << lane()) - 1))] =
            static_cast<Entry>(ranks[e]) << 32 | (positions[e] - 1);
      slot += __popc(all);
    }
  }

  /// Which positions of the keys of rank `tie` are selected.
  template <int Each>
  __device__ static unsigned cut_ties(Bits const (&ranks)[Each], unsigned const (&positions)[Each],
                                      Bits tie, int k) {
    unsigned better = 0, low = 1;
#pragma unroll
    for (int e = 0; e < Each; ++e) better += positions[e] != 0 && ranks[e] > tie ? 1 : 0;
    int const order = k - static_cast<int>(warp_total(better));
    narrow_in_warp(order, low, std::numeric_limits<unsigned>::max() / 2, [&](unsigned least) {
      unsigned count = 0;
#pragma unroll
      for (int e = 0; e < Each; ++e) count += ranks[e] == tie && positions[e] >= least ? 1 : 0;
      return static_cast<int>(warp_total(count));
    });
    return low;
  }

  /// The same for the longest lists. They are rare, and so many registers would be in the way of all others.
  __device__ static __noinline__ void select_of_many(Columns<Bits, CompositeKey> const& columns,
                                                     std::int64_t group, int r, int k, int size) {
    ColumnsByWarps(columns, group).template select<columns_tuning.kept_by_warp / 32>(r, k, size);
  }

  /// Stores the k entries of the row's list, best first if they are to be sorted.
  __device__ void store(int r, int k) const {
    Entry const* const entries = list(r);
    StoredProblem<Bits> const& problem = m_columns.batch.problem;
    std::int64_t const row = m_group.first + r;
    __syncwarp();
    for (int i = lane(); i < k; i += 32) {
      Entry const mine = entries[i];
      int slot = i;
      if (m_columns.batch.sorted == Sorted::yes) {
        slot = 0;
#pragma unroll 4
        for (int j = 0; j < k; ++j) slot += entries[j] > mine ? 1 : 0;
      }
      unsigned const position = position_of(mine);
      Bits const rank = rank_of(mine);
      Bits const found = map().rank.has_one_key(rank)
                             ? map().rank.key_of(rank)
                             : problem.rows.keys[row + position * problem.rows.step];
      problem.out.store(row, slot, found, position);
    }
  }

  __device__ void fill_row_by_warp(int r, int k) const {
    StoredProblem<Bits> const& problem = m_columns.batch.problem;
    std::int64_t const row = m_group.first + r;
    if (lane() == 0 && problem.counts) problem.counts.store(row, k);
    for (std::int64_t slot = k + lane(); slot < problem.shape.k; slot += 32)
      problem.out.store_missing(row, slot);
  }

  Columns<Bits, CompositeKey> const& m_columns;
  Group<false> const m_group;
};

}  // namespace

}  // namespace ktopk::detail::cuda
