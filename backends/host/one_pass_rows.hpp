// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/one_pass_plan.hpp>
#include <ktopk/detail/positions.hpp>
#include <ktopk/detail/testing.hpp>

#include "scan.hpp"
#include "store_selected.hpp"

// one_pass where a row's sample and what is kept of it fit the memory of one thread: that samples, selects, sorts and
// stores. Where it also has the row to itself, it reads the row before it turns to the next, and needs no other
// workspace.

namespace ktopk::detail::host {

/// Whether a plan is small enough for that.
constexpr bool fits_one_thread(OnePassPlan const& plan) {
  return plan.samples <= 4096 && plan.capacity <= 8192;
}

/// What one thread has of a row.
template <class Bits, class Item>
class OnePassRow {
 public:
  OnePassRow(BulkSink<Bits, Item> const& sink, HostLoops<Bits> const& loops,
             OnePassPlan const& plan, std::int64_t row)
      : m_sink(sink),
        m_map(sink.map),
        m_plan(plan),
        m_row(row),
        m_strata(sink.problem.shape.n, plan.samples),
        m_scan{loops, sink.problem.row_keys(row), sink.problem.key_step, sink.map} {}

  /// About the order-th best of a sample of one key from each stratum. Ties are told apart by position.
  Item threshold() const {
    if (forced_threshold == Threshold::too_high) return ~Item{0};
    auto const samples = static_cast<int>(m_plan.samples);
    ThreadArray<Bits> const memory(samples);
    Bits* const ranks = memory.get();
    for (int i = 0; i < samples; ++i) ranks[i] = key_at(m_strata.place(i));
    loops().ranks(ranks, samples, m_map.rank, ranks);
    auto const order = static_cast<int>(m_plan.order);
    Reached<Bits> const reached = loops().kth(ranks, samples, order);
    if (reached.count == order) return static_cast<Item>(reached.rank) << m_map.position_bits;
    int ties = order - above(ranks, samples, reached.rank);
    int const first = first_wins() ? 0 : samples - 1, step = first_wins() ? 1 : -1;
    int i = first;
    while (ranks[i] != reached.rank || --ties > 0) i += step;
    return m_map.join(reached.rank, static_cast<std::uint64_t>(m_strata.place(i)));
  }

  /// Reads the row and keeps what reaches `threshold` in `kept`; returns how many there are, which may be
  /// more than there is room for.
  int keep(Item threshold, Item* kept) const {
    std::int64_t count = 0;
    auto const add = [&](Item item) {
      kept[count] = item;
      count += count < most_kept;
    };
    for_each_side_of_ties(m_map, threshold, 0, size(), [&](std::int64_t begin, std::int64_t end) {
      for_each_reaching(
          loops(), m_scan.keys, m_scan.step, m_map, begin, end, long_block,
          [&] { return threshold; }, add);
    });
    tally(Count::keys_read, size());
    return static_cast<int>(count);
  }

  /// Moves the k best of `count` items to the front, without a branch that nobody can foretell.
  /// 1 <= k <= count
  void select(Item* items, int count, int k) const {
    ThreadArray<Bits> const rank_memory(count);
    Bits* const ranks = rank_memory.get();
    int filled = 0;
    do ranks[filled] = m_map.rank_of(items[filled]);
    while (++filled < count);
    Bits const least = loops().kth(ranks, count, k).rank;
    ThreadArray<Item> const tied_memory(count + 1);
    Item* const tied = tied_memory.get();
    int found = 0, ties = 0;
    for (int i = 0; i < count; ++i) {
      Item const item = items[i];
      items[found] = tied[ties] = item;
      found += ranks[i] > least;
      ties += ranks[i] == least;
    }
    if (ties > k - found)
      std::nth_element(tied, tied + (k - found), tied + ties, std::greater<Item>());
    std::copy(tied, tied + (k - found), items + found);
  }

  /// The k best without a sample, where its proof failed: the k-th rank bit by bit, each from a read.
  void select_anew(Item* items, int k) const {
    Bits least = 0;
    for (int bit = std::numeric_limits<Bits>::digits - 1; bit >= 0; --bit) {
      Bits const higher = static_cast<Bits>(least | (Bits{1} << bit));
      if (reaching(higher) >= k) least = higher;
    }
    bool const is_most = least == std::numeric_limits<Bits>::max();
    std::int64_t ties = k - (is_most ? 0 : reaching(static_cast<Bits>(least + 1)));
    std::int64_t skipped = first_wins() ? 0 : reaching(least) - k;
    int found = 0;
    for_each_reaching(
        loops(), m_scan.keys, m_scan.step, m_map, 0, size(), long_block,
        [&] { return static_cast<Item>(least) << m_map.position_bits; },
        [&](Item item) {
          Bits const rank = m_map.rank_of(item);
          bool const wins = rank > least || (--skipped < 0 && --ties >= 0);
          if (wins) items[found++] = item;
        });
  }

  void store(Item* winners, int k, Sorted sorted) const {
    if (sorted == Sorted::yes) std::sort(winners, winners + k, std::greater<Item>());
    for (int slot = 0; slot < k; ++slot) m_sink.store(m_row, slot, winners[slot]);
  }

  static constexpr int most_samples = 4096;
  static constexpr int most_kept = 8192;

 private:
  HostLoops<Bits> const& loops() const { return m_scan.loops; }
  std::int64_t size() const { return m_sink.problem.shape.n; }
  bool first_wins() const { return m_map.flip != 0; }

  Bits key_at(std::int64_t place) const { return m_scan.keys[place * m_scan.step]; }

  int above(Bits const* ranks, int count, Bits rank) const {
    if (rank == std::numeric_limits<Bits>::max()) return 0;
    return loops().reaching(ranks, count, static_cast<Bits>(rank + 1));
  }
  std::int64_t reaching(Bits least) const {
    std::int64_t count = 0;
    Bits ranks[filter_block];
    m_scan.blocks(0, size(), [&](Stored<Bits> const* from, std::int64_t, int length) {
      loops().ranks(from, length, m_map.rank, ranks);
      count += loops().reaching(ranks, length, least);
    });
    return count;
  }

  BulkSink<Bits, Item> const& m_sink;
  ItemMap<Bits, Item> const& m_map;
  OnePassPlan const& m_plan;
  std::int64_t m_row;
  Strata m_strata;
  KeyScan<Bits, Item> m_scan;
};

/// Rows that one thread has to itself.
template <class Bits, class Item>
struct OnePassRows {
  BulkSink<Bits, Item> sink;
  HostLoops<Bits> loops;
  OnePassPlan plan;
  Sorted sorted;

  OnePassRow<Bits, Item> row(std::int64_t number) const { return {sink, loops, plan, number}; }

  void operator()(std::int64_t number) const {
    constexpr std::int64_t most = OnePassRow<Bits, Item>::most_kept;
    ThreadArray<Item> const kept(std::min(sink.problem.shape.n, most) + 1);
    auto const work = row(number);
    bool const is_wanted = sink.problem.winners(number) > 0;
    int const count = is_wanted ? work.keep(work.threshold(), kept.get()) : 0;
    finish(number, kept.get(), count, OnePassRow<Bits, Item>::most_kept - 1);
  }

  /// Stores a row's winners, out of the kept if their count proves that they are among them.
  void finish(std::int64_t number, Item* kept, std::int64_t count, std::int64_t capacity) const {
    Problem<Bits> const& problem = sink.problem;
    auto const k = static_cast<int>(problem.winners(number));
    auto const work = row(number);
    if (k > 0) {
      if (forced_threshold != Threshold::too_low && count >= k && count <= capacity)
        work.select(kept, static_cast<int>(count), k);
      else
        work.select_anew(kept, k);
      work.store(kept, k, sorted);
    }
    complete_row(problem, number, k);
  }
};

}  // namespace ktopk::detail::host
