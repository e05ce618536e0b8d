// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/positions.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../../../runtime/host_threads.hpp"
#include "../../../runtime/thread_memory.hpp"
#include "../loops.hpp"
#include "../pivot.hpp"

namespace ktopk::detail {
namespace host {

/// The k-th best of some ordered bits.
/// \param k  1 <= k <= count
template <class Bits>
Bits kth_of(HostLoops<Bits> const& loops, Bits const* ordered, int count, int k) {
  constexpr int least_sampled = 8192;
  Pivot<Bits> pivot;
  if (count < least_sampled || !find_pivot(loops, {}, ordered, count, k, pivot))
    pivot = pivot_of(loops, ordered, count, k);
  if (pivot.surplus != 0) return pivot.rank;
  // Exactly k reach it: the least of these is the k-th.
  Bits least = std::numeric_limits<Bits>::max();
  for (int i = 0; i < count; ++i)
    least = ordered[i] >= pivot.rank && ordered[i] < least ? ordered[i] : least;
  return least;
}

// ---- rows in a cache

template <class Bits>
struct RanksInCache {
  RanksAsked<Bits> asked;
  RankStore<Bits> store;
  HostLoops<Bits> loops;

  void operator()(std::int64_t row) const {
    std::int64_t const n = asked.rows.n;
    ThreadArray<Bits> const ordered(n);
    loops.ranks(asked.rows.pointer(row), static_cast<int>(n), asked.rank, ordered.get());
    std::int64_t nth[most_ranks];
    Bits found[most_ranks];
    for (int key = 0; key < asked.keys; ++key) {
      nth[key] = asked.nth(row, key);
      if (key > 0 && nth[key] == nth[key - 1])
        found[key] = found[key - 1];
      else if (nth[key] > 0)
        found[key] = kth_of(loops, ordered.get(), static_cast<int>(n), static_cast<int>(nth[key]));
    }
    store(row, nth, found);
  }
};

// ---- longer rows

/// How many keys of a row are sampled. A bracket of four standard deviations to both sides then holds 4 / sqrt(samples) of
/// them at most, and `together` brackets fit a quarter of the row.
struct RankSample {
  explicit RankSample(std::int64_t n)
      : samples(n >= 1 << 20   ? 8192
                : n >= 1 << 17 ? 2048
                               : 1024),
        together(n >= 1 << 20   ? intervals_together
                 : n >= 1 << 17 ? 2
                                : 1) {}
  int samples, together;
};

/// Brackets the ranks of a row by a sample.
template <class Bits>
struct BracketRanks {
  RanksAsked<Bits> asked;
  HostLoops<Bits> loops;
  HostRankLayout<Bits> work;

  void operator()(std::int64_t row) const {
    std::int64_t const n = asked.rows.n;
    int const samples = RankSample(n).samples;
    ThreadArray<Bits> const sample(samples);
    Strata const strata{n, samples};
    Stored<Bits> const* const keys = asked.rows.pointer(row);
    for (int i = 0; i < samples; ++i) sample.get()[i] = asked.rank(keys[strata.place(i)]);
    RankState<Bits>& state = work.states[row];
    int in_order[most_ranks], wanted = 0;
    for (int key = 0; key < asked.keys; ++key) {
      state.nth[key] = asked.nth(row, key);
      state.interval[key] = -1;
      if (state.nth[key] > 0) in_order[wanted++] = key;
    }
    std::sort(in_order, in_order + wanted,
              [&](int a, int b) { return state.nth[a] < state.nth[b]; });
    state.intervals = 0;
    for (int i = 0; i < wanted; ++i) add(state, in_order[i], sample.get(), samples, n);
    for (int i = 0; i < state.intervals; ++i)
      state.has_ties[i] = are_many(sample.get(), samples, state.low[i], state.high[i], n);
  }

 private:
  void add(RankState<Bits>& state, int key, Bits const* sample, int samples, std::int64_t n) const {
    double const part = (static_cast<double>(state.nth[key]) - 0.5) / static_cast<double>(n);
    double const middle = part * samples;
    double const margin = 4 * std::sqrt(middle * (1 - part)) + 4;
    Bits const high = of_sample(sample, samples, static_cast<int>(std::floor(middle - margin)));
    Bits const low = of_sample(sample, samples, static_cast<int>(std::ceil(middle + margin)));
    int const last = state.intervals - 1;
    if (last >= 0 && high >= state.low[last]) {
      state.low[last] = std::min(state.low[last], low);
    } else {
      state.high[state.intervals] = high;
      state.low[state.intervals++] = low;
    }
    state.interval[key] = state.intervals - 1;
  }
  /// Whether more keys than fit the buffer are probably from `low` to `high`: then many are equal.
  bool are_many(Bits const* sample, int samples, Bits low, Bits high, std::int64_t n) const {
    bool const is_last = high == std::numeric_limits<Bits>::max();
    int const above = is_last ? 0 : loops.reaching(sample, samples, static_cast<Bits>(high + 1));
    int const within = loops.reaching(sample, samples, low) - above;
    return 9 * within * RankSample(n).together > 2 * samples;
  }
  Bits of_sample(Bits const* sample, int samples, int place) const {
    if (place < 0) return std::numeric_limits<Bits>::max();
    if (place >= samples) return 0;
    return kth_of(loops, sample, samples, place + 1);
  }
};

/// Counts the keys around some intervals of a row, and moves those inside to the row's part of the buffer.
template <class Bits>
struct ReadIntervals {
  static constexpr int block = 2048;

  StoredRows<Bits> rows;
  OrderedBitsMap<Bits> rank;
  HostLoops<Bits> loops;
  HostRankLayout<Bits> work;
  std::int64_t parts;
  int first;  // interval

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / parts, part = index % parts, n = rows.n;
    RankState<Bits> const& state = work.states[row];
    int const count = std::min(RankSample(n).together, state.intervals - first);
    if (count <= 0) return;
    Stored<Bits> const* const keys = rows.pointer(row);
    ThreadArray<Bits> const ordered(block);
    ThreadArray<std::uint16_t> const hits(block + 1);
    IntervalCounts sums[intervals_together] = {};
    std::int64_t const end = n * (part + 1) / parts;
    for (std::int64_t at = n * part / parts; at < end; at += block) {
      int const size = static_cast<int>(std::min<std::int64_t>(block, end - at));
      loops.ranks(keys + at, size, rank, ordered.get());
      for (int i = 0; i < count; ++i) read(state, row, i, ordered.get(), size, hits.get(), sums[i]);
    }
    for (int i = 0; i < count; ++i) {
      IntervalCounts& all = work.counts_of(row)[i];
      std::atomic_ref(all.above).fetch_add(sums[i].above);
      std::atomic_ref(all.reach_high).fetch_add(sums[i].reach_high);
      std::atomic_ref(all.reach_low).fetch_add(sums[i].reach_low);
    }
  }

 private:
  void read(RankState<Bits> const& state, std::int64_t row, int i, Bits const* ordered, int size,
            std::uint16_t* hits, IntervalCounts& sums) const {
    Bits low = state.low[first + i], high = state.high[first + i];
    if (high != std::numeric_limits<Bits>::max())
      sums.above += loops.reaching(ordered, size, static_cast<Bits>(high + 1));
    if (state.has_ties[first + i]) {
      sums.reach_high += loops.reaching(ordered, size, high);
      sums.reach_low += loops.reaching(ordered, size, low);
      if (high - low < 2) return;
      ++low, --high;
    }
    int const found = loops.filter(ordered, size, {}, {low, static_cast<Bits>(high - low)}, hits);
    if (found == 0) return;
    // Only which keys are held matters, not their order.
    std::int64_t const capacity = work.capacity / RankSample(rows.n).together;
    std::int64_t const begin =
        std::atomic_ref(work.counts_of(row)[i].held).fetch_add(std::int64_t{found});
    if (begin + found > capacity) return;
    Bits* const to = work.buffer + row * work.capacity + i * capacity + begin;
    for (int h = 0; h < found; ++h) to[h] = ordered[hits[h]];
  }
};

/// Finds the keys of an interval in which all is counted.
template <class Bits>
struct SearchInterval {
  RanksAsked<Bits> asked;
  HostLoops<Bits> loops;
  HostRankLayout<Bits> work;
  int first, together;
  std::atomic<bool>* has_failed;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / together;
    int const i = static_cast<int>(index % together);
    RankState<Bits>& state = work.states[row];
    for (int key = 0; key < asked.keys; ++key)
      if (state.nth[key] > 0 && state.interval[key] == first + i && !find(state, row, i, key))
        has_failed->store(true, std::memory_order_relaxed);
  }

 private:
  bool find(RankState<Bits>& state, std::int64_t row, int i, int key) const {
    IntervalCounts counts = work.counts_of(row)[i];
    if (!state.has_ties[first + i]) {
      counts.reach_high = counts.above;
      counts.reach_low = counts.above + counts.held;
    }
    std::int64_t const capacity = work.capacity / together, nth = state.nth[key];
    if (counts.above >= nth || counts.reach_low < nth) return false;
    std::int64_t const inside = nth - counts.reach_high;
    if (inside <= 0) {
      state.ordered[key] = state.high[first + i];
    } else if (inside > counts.held) {
      state.ordered[key] = state.low[first + i];
    } else {
      if (counts.held > std::min<std::int64_t>(capacity, std::numeric_limits<int>::max()))
        return false;
      state.ordered[key] = kth_of(loops, work.buffer + row * work.capacity + i * capacity,
                                  static_cast<int>(counts.held), static_cast<int>(inside));
    }
    return true;
  }
};

template <class Bits>
struct StoreFound {
  RankStore<Bits> store;
  HostRankLayout<Bits> work;
  void operator()(std::int64_t row) const {
    store(row, work.states[row].nth, work.states[row].ordered);
  }
};

template <class Exec, class Bits>
bool find_in_long_rows(Exec const& exec, RanksAsked<Bits> const& asked,
                       RankStore<Bits> const& store, HostLoops<Bits> const& loops,
                       HostRankLayout<Bits> const& work) {
  std::int64_t const rows = work.rows, n = asked.rows.n;
  std::int64_t const parts = host::parts_of_row(device_of(exec), rows, n);
  int const together = RankSample(n).together;
  std::atomic<bool> has_failed{false};
  host::launch("ktopk::host::ranks::bracket", exec, rows, BracketRanks<Bits>{asked, loops, work});
  int intervals = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    intervals = std::max(intervals, work.states[row].intervals);
  for (int first = 0; first < intervals; first += together) {
    std::fill_n(work.counts, rows * intervals_together, IntervalCounts{});
    host::launch("ktopk::host::ranks::read", exec, rows * parts,
                 ReadIntervals<Bits>{asked.rows, asked.rank, loops, work, parts, first});
    host::launch("ktopk::host::ranks::search", exec, rows * together,
                 SearchInterval<Bits>{asked, loops, work, first, together, &has_failed});
    if (has_failed) return false;
  }
  host::launch_each("ktopk::host::ranks::store", exec, rows, StoreFound<Bits>{store, work});
  return true;
}

template <class Exec, class Bits>
bool find_ranks(Exec const& exec, RanksAsked<Bits> const& asked, RankStore<Bits> const& store,
                void* workspace) {
  HostLoops<Bits> const loops = pick_host_loops<Bits>();
  if (asked.shape.n > longest_ranked_in_cache(asked.shape.key_bytes))
    return find_in_long_rows(exec, asked, store, loops,
                             HostRankLayout<Bits>(workspace, asked.shape));
  host::launch("ktopk::host::ranks::row", exec, asked.shape.rows,
               RanksInCache<Bits>{asked, store, loops});
  return true;
}

}  // namespace host

#define KTOPK_HOST_RANKS(Space)                                                        \
  template bool host::find_ranks(Space const&, host::RanksAsked<std::uint32_t> const&, \
                                 host::RankStore<std::uint32_t> const&, void*);        \
  template bool host::find_ranks(Space const&, host::RanksAsked<std::uint64_t> const&, \
                                 host::RankStore<std::uint64_t> const&, void*);
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_HOST_RANKS)
#undef KTOPK_HOST_RANKS

}  // namespace ktopk::detail
