// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <type_traits>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/positions.hpp>

#include "scan.hpp"
#include "sort.hpp"

// What a thread of queue keeps (air-topk-gridselect-sc23, section 4): the best k items of all that was pushed, and a
// queue of newcomers that beat the last of them. Only when the queue is full do they meet. Keys come chunk by chunk, in
// any number of pushes.

namespace ktopk::detail {

/// SIMD turns most keys away before they are items. The queue lies
/// behind the list and is as long, or has the 32 places of the paper. They need not be sorted where they meet:
/// SIMD counts its way to the k-th of both, and what reaches that is the new list.
template <class Item>
class HostQueue {
 public:
  static constexpr std::int64_t queue_length(std::int64_t k) { return k < 32 ? 32 : k; }

  /// \param items  room for k + queue_length(k) of them
  HostQueue(Item* items, std::int64_t k) : m_items(items), m_k(static_cast<int>(k)), m_limit(m_k) {}

  /// Takes the keys of a range of positions; `keys` is where position 0 lies.
  template <class Bits>
  void push(HostLoops<Bits> const& loops, ItemMap<Bits, Item> const& map, Stored<Bits> const* keys,
            std::int64_t step, Range range) {
    if constexpr (!std::is_same_v<Item, Item64>) m_shift = map.position_bits;
    Item threshold = m_threshold;
    int held = m_held;
    auto const insert = [&](Item item) {  // without a branch on whether it is wanted
      m_items[held] = item;
      held += item >= threshold;
      if (held < m_limit) return;
      m_held = held;
      flush();
      threshold = m_threshold;
      held = m_held;
    };
    for_each_reaching_best_end_first(
        loops, keys, step, map, range.begin, range.end, 64, m_k, [&] { return threshold; }, insert);
    m_held = held;
  }
  /// The best k of at least as many that were pushed.
  Item const* finish(Sorted sorted) {
    if (m_held > m_k) flush();
    if (sorted == Sorted::yes && !std::is_sorted(m_items, m_items + m_k, std::greater<Item>()))
      sort();
    return m_items;
  }

 private:
  void flush() {
    tally(Count::insertions, m_held - m_listed);
    m_listed = m_k;
    m_limit = static_cast<int>(m_k + queue_length(m_k));
    if (m_held == m_k) {
      m_threshold = *std::min_element(m_items, m_items + m_k);
      return;
    }
    tally(Count::flushes, 1);
    Reached<Item64> const reached = kth();
    m_threshold = static_cast<Item>(reached.rank) << m_shift;
    keep_reaching();
    if (reached.count > m_k) drop_ties();
  }
  /// By the upper bits where an item is too wide.
  Reached<Item64> kth() const {
    if constexpr (std::is_same_v<Item, Item64>) {
      return m_loops.kth(m_items, m_held, m_k);
    } else {
      ThreadArray<Item64> const memory(m_held);
      Item64* const ranks = memory.get();
      for (int i = 0; i < m_held; ++i) ranks[i] = static_cast<Item64>(m_items[i] >> m_shift);
      return m_loops.kth(ranks, m_held, m_k);
    }
  }
  void keep_reaching() {
    int kept = 0;
    for (int i = 0; i < m_held; ++i) {
      Item const item = m_items[i];
      m_items[kept] = item;
      kept += item >= m_threshold;
    }
    m_held = kept;
  }
  void sort() {
    if constexpr (std::is_same_v<Item, Item64>) {
      if (m_k <= most_counted_slots) return sort_by_counting();
    }
    sort_alone(m_items, m_items + m_k, m_k);
  }
  void sort_by_counting() {
    alignas(64) Item slots[most_counted_slots];
    Item* const sorted = m_items + m_k;
    m_loops.slots(m_items, m_k, slots);
    for (int i = 0; i < m_k; ++i) sorted[slots[i]] = m_items[i];
    std::copy(sorted, sorted + m_k, m_items);
  }
  void drop_ties() {
    std::nth_element(m_items, m_items + m_k - 1, m_items + m_held, std::greater<Item>());
    m_threshold = m_items[m_k - 1];
    m_held = m_k;
  }

  Item* m_items;
  int m_k;
  int m_limit;
  int m_listed = 0;
  int m_held = 0;
  int m_shift = 0;
  Item m_threshold = 0;
  HostLoops<Item64> m_loops = pick_host_loops<Item64>();
};

}  // namespace ktopk::detail
