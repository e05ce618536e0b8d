// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <type_traits>

#include "../counters.hpp"
#include "../group.hpp"
#include "../host_filter.hpp"
#include "../sort_items.hpp"
#include "bitonic_network.hpp"

// What a group of GridSelect keeps (air-topk-gridselect-sc23, section 4): the best k items of all that was
// pushed, best first, and a queue of newcomers that beat the last of them. Only when the queue is full is
// it sorted and merged into the list. Keys come chunk by chunk, in any number of pushes. Until k items
// have come the list ends in items 0, which any item beats or is.

namespace ktopk::detail {

/// The state of one thread on a host; SIMD turns most keys away before they are items. The queue has the
/// paper's room of 32, or an eighth of a long list's length, so that merging costs little for each item.
template <class Item>
class HostQueue {
 public:
  /// \param list  room for k items
  HostQueue(Item* list, std::int64_t k)
      : m_list(list),
        m_k(k),
        m_room(static_cast<int>(std::clamp<std::int64_t>(k / 8, 32, most_room))) {
    std::fill(list, list + k, Item{0});
  }

  /// Takes the keys of a range of positions; `keys` is where position 0 lies.
  template <class Bits>
  void push(HostLoops<Bits> const& loops, ItemMap<Bits, Item> const& map, Bits const* keys,
            std::int64_t step, Range range) {
    for_each_reaching(
        loops, keys, step, map, range.begin, range.end, 64, [&] { return bar(); },
        [&](Item item) { insert(item); });
  }
  /// The best k, best first.
  Item const* finish() {
    flush();
    tally(Count::flushes, m_flushes);
    tally(Count::insertions, m_insertions);
    return m_list;
  }

 private:
  static constexpr int most_room = 256;

  Item bar() const { return m_list[m_k - 1]; }

  /// Without a branch on whether the item is wanted, which nobody can foretell.
  void insert(Item item) {
    m_queue[m_queued] = item;
    m_queued += item > bar();
    if (m_queued == m_room) flush();
  }
  void flush() {
    if (m_queued == 0) return;
    ++m_flushes;
    m_insertions += m_queued;
    sort();
    merge();
    m_queued = 0;
  }
  void sort() {
    if (std::is_sorted(m_queue, m_queue + m_queued)) {
      std::reverse(m_queue, m_queue + m_queued);
      return;
    }
    if constexpr (std::is_same_v<Item, Item64>) {
      if (m_queued <= most_counted_slots) return sort_by_counting();
    }
    std::sort(m_queue, m_queue + m_queued, std::greater<Item>());
  }
  void sort_by_counting() {
    Item slots[most_counted_slots], sorted[most_counted_slots];
    m_loops.slots(m_queue, m_queued, slots);
    for (int q = 0; q < m_queued; ++q) sorted[slots[q]] = m_queue[q];
    std::copy(sorted, sorted + m_queued, m_queue);
  }
  /// From the last place of the list on. What is worse than all newcomers moves in one stretch; after
  /// that there is no branch on which of two comes next.
  void merge() {
    std::int64_t old = merge_split(m_list, m_k, m_queue, m_queued, m_k);
    std::int64_t fresh = m_k - old;
    if (fresh == 0) return;
    Item* const better =
        std::lower_bound(m_list, m_list + old, m_queue[fresh - 1], std::greater<Item>());
    Item* place = std::move_backward(better, m_list + old, m_list + m_k);
    old = better - m_list;
    while (old > 0 && fresh > 0) {
      Item const a = m_list[old - 1], b = m_queue[fresh - 1];
      bool const take_old = a < b;
      *--place = take_old ? a : b;
      old -= take_old;
      fresh -= !take_old;
    }
    std::copy(m_queue, m_queue + fresh, m_list);
  }

  Item* m_list;
  std::int64_t m_k;
  int m_room;
  int m_queued = 0;
  std::int64_t m_flushes = 0;
  std::int64_t m_insertions = 0;
  HostLoops<Item64> m_loops = pick_host_loops<Item64>();
  Item m_queue[most_room + 1];
};

/// The state of a team, in memory that it shares; its threads call every function together. The queue has
/// as much room as the team has threads, as the paper's 32 are a warp's.
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
  KOKKOS_FUNCTION void push(ItemMap<Bits, Item> const& map, Bits const* keys, std::int64_t step,
                            Range range) {
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
