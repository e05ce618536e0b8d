// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <type_traits>

#include "../counters.hpp"
#include "../group.hpp"
#include "../host_scan.hpp"
#include "../sort_items.hpp"
#include "bitonic_network.hpp"
#include "queue.hpp"

// What a group of GridSelect keeps (air-topk-gridselect-sc23, section 4): the best k items of all that was
// pushed, and a queue of newcomers that beat the last of them. Only when the queue is full do they meet.
// Keys come chunk by chunk, in any number of pushes.

namespace ktopk::detail {

/// The state of one thread on a host; SIMD turns most keys away before they are items. The queue lies
/// behind the list and is as long, or has the paper's room of 32. A host need not sort where they meet:
/// SIMD counts its way to the k-th of both, and what reaches that is the new list.
template <class Item>
class HostQueue {
 public:
  static constexpr std::int64_t room(std::int64_t k) { return k < 32 ? 32 : k; }

  /// \param items  room for k + room(k) of them
  HostQueue(Item* items, std::int64_t k) : m_items(items), m_k(static_cast<int>(k)), m_limit(m_k) {}

  /// Takes the keys of a range of positions; `keys` is where position 0 lies.
  template <class Bits>
  void push(HostLoops<Bits> const& loops, ItemMap<Bits, Item> const& map, Stored<Bits> const* keys,
            std::int64_t step, Range range) {
    if constexpr (!std::is_same_v<Item, Item64>) m_shift = map.position_bits;
    Item bar = m_bar;
    int held = m_held;
    auto const insert = [&](Item item) {  // without a branch on whether it is wanted
      m_items[held] = item;
      held += item >= bar;
      if (held < m_limit) return;
      m_held = held;
      flush();
      bar = m_bar;
      held = m_held;
    };
    for_each_reaching_best_end_first(
        loops, keys, step, map, range.begin, range.end, 64, m_k, [&] { return bar; }, insert);
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
    m_limit = static_cast<int>(m_k + room(m_k));
    if (m_held == m_k) {
      m_bar = *std::min_element(m_items, m_items + m_k);
      return;
    }
    tally(Count::flushes, 1);
    Reached<Item64> const reached = kth();
    m_bar = static_cast<Item>(reached.rank) << m_shift;
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
      kept += item >= m_bar;
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
    m_bar = m_items[m_k - 1];
    m_held = m_k;
  }

  Item* m_items;
  int m_k;
  int m_limit;
  int m_listed = 0;
  int m_held = 0;
  int m_shift = 0;
  Item m_bar = 0;
  HostLoops<Item64> m_loops = pick_host_loops<Item64>();
};

/// The state of a team, in memory that it shares; its threads call every function together. The queue has
/// as much room as the team has threads, as the paper's 32 are a warp's; it is sorted and merged into the
/// sorted list. Until k items have come the list ends in items 0, which any item beats or is.
template <class Group, class Item>
class TeamQueue {
 public:
  static constexpr int room = team_size;

  KOKKOS_FUNCTION static constexpr int list_length(std::int64_t k) {
    int length = room;
    while (length < k) length *= 2;
    return length;
  }
  static constexpr int shared_bytes(std::int64_t k) {
    return static_cast<int>((list_length(k) + room) * sizeof(Item) + sizeof(int));
  }

  KOKKOS_FUNCTION TeamQueue(Group const& group, std::int64_t k)
      : m_group(group),
        m_k(k),
        m_length(list_length(k)),
        m_list(group.template shared<Item>()),
        m_queue(m_list + m_length),
        m_queued(reinterpret_cast<int*>(m_queue + room)) {
    each(group, 0, m_length, [&](std::int64_t i) { m_list[i] = 0; });
    if (group.rank() == 0) *m_queued = 0;
    group.barrier();
  }

  /// Every thread goes on to its next key that is wanted, so that few meetings are in vain.
  template <class Bits>
  KOKKOS_FUNCTION void push(ItemMap<Bits, Item> const& map, Stored<Bits> const* keys,
                            std::int64_t step, Range range) {
    std::int64_t const chunk = 16 * m_group.size();
    for (std::int64_t first = range.begin; first < range.end; first += chunk) {
      std::int64_t const end = first + chunk < range.end ? first + chunk : range.end;
      std::int64_t i = first + m_group.rank();
      bool wanted;
      Item item{};
      do {
        Item const bar = m_list[m_k - 1];
        for (wanted = false; i < end && !wanted; i += m_group.size()) {
          item = map(keys[i * step], static_cast<std::uint64_t>(i));
          wanted = item > bar;
        }
      } while (insert(wanted, item));
    }
  }
  KOKKOS_FUNCTION Item const* finish() {
    flush(m_before);
    return m_list;
  }

 private:
  /// Parallel two-step insertion: who finds no room in the queue goes in after it was flushed. Tells
  /// whether any thread had an item.
  KOKKOS_FUNCTION bool insert(bool wanted, Item item) {
    int const place = wanted ? m_group.fetch_add(m_queued, 1) : 0;
    if (wanted && place < room) m_queue[place] = item;
    m_group.barrier();
    int queued = *m_queued;
    m_group.barrier();
    bool const any = queued != m_before;
    if (queued >= room) {
      flush(room);
      queued -= room;
      if (wanted && place >= room) m_queue[place - room] = item;
      if (m_group.rank() == 0) *m_queued = queued;
      m_group.barrier();
    }
    m_before = queued;
    return any;
  }
  KOKKOS_FUNCTION void flush(int queued) {
    each(m_group, queued, room, [&](std::int64_t i) { m_queue[i] = 0; });
    m_group.barrier();
    TeamSteps<Group> const steps{m_group};
    Runs<Item> const tail{m_list + m_length - room, room, 1};
    local_sort(steps, Runs<Item>{m_queue, room, 1});
    ktopk::detail::merge(steps, tail.items, m_queue, 1, tail);
    rebuild(steps, Runs<Item>{m_list, m_length, 1});
  }

  Group const& m_group;
  std::int64_t m_k;
  int m_length;
  Item* m_list;
  Item* m_queue;
  int* m_queued;
  int m_before = 0;
};

}  // namespace ktopk::detail
