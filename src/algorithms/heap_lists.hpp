// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/thread_lists.hpp>

#include "../group.hpp"
#include "bitonic_network.hpp"

// The lists of a team's threads, and how they are merged.

namespace ktopk::detail {

/// How the lists of a team lie in its scratch memory: list t is a column of one of two halves, which are merged. There
/// are as many lists as fit.
template <class Item>
struct TeamLists {
  static constexpr int room = 32 * 1024 / static_cast<int>(sizeof(Item));

  int length = 1;  // of a list: k rounded up to a power of two
  int count;       // no more than there are threads

  KOKKOS_FUNCTION explicit TeamLists(std::int64_t k, int threads = team_size) : count(threads) {
    while (length < k) length *= 2;
    while (count > 1 && count * length > room) count /= 2;
  }
  KOKKOS_FUNCTION int half() const { return count > 1 ? count / 2 : 1; }
  KOKKOS_FUNCTION int size() const { return count * length; }
  KOKKOS_FUNCTION Column<Item> list(Item* items, int t) const {
    return {items + t / half() * half() * length + t % half(), half()};
  }
  KOKKOS_FUNCTION Runs<Item> first_half(Item* items) const { return {items, length, half()}; }
  KOKKOS_FUNCTION Runs<Item> second_half(Item* items) const {
    return {items + half() * length, length, half()};
  }
};

/// Per-thread top-k: each thread of a team keeps the k best of the keys that it reads, in registers or in a heap; then
/// all lists are merged. If the memory does not hold so many heaps, threads share them. All threads call every function
/// together.
template <class Group, class Item>
class TeamHeaps {
 public:
  /// The memory of the lists, and for shared ones a composite key of each thread and how many each list is to take.
  static int shared_bytes(std::int64_t k) {
    return static_cast<int>((TeamLists<Item>(k).size() + team_size) * sizeof(Item) +
                            team_size * sizeof(int));
  }

  KOKKOS_FUNCTION TeamHeaps(Group const& group, std::int64_t k)
      : m_group(group), m_k(k), m_lists(k, group.size()), m_items(group.template shared<Item>()) {
    each(group, 0, m_lists.size(), [&](std::int64_t i) { m_items[i] = 0; });
    group.barrier();
  }

  /// Returns the k best of a range of at least k keys, best first.
  template <class Bits>
  KOKKOS_FUNCTION Item const* best_of(ItemMap<Bits, Item> const& map, Stored<Bits> const* keys,
                                      std::int64_t step, Range range) const {
    auto const item = [&](std::int64_t i) {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    };
    if (in_registers())
      with_register_room<Item>(
          m_k, [&](auto room) { read_into_registers<decltype(room)::value>(range, item); });
    else if (m_lists.count == m_group.size())
      read_into_heaps(range, item);
    else
      read_into_shared_heaps(range, item);
    m_group.barrier();
    return merge_lists();
  }

 private:
  KOKKOS_FUNCTION bool in_registers() const { return m_k <= most_in_registers<Item>; }
  KOKKOS_FUNCTION Column<Item> list() const {
    return m_lists.list(m_items, m_group.rank() % m_lists.count);
  }

  template <int Room, class ItemAt>
  KOKKOS_FUNCTION void read_into_registers(Range range, ItemAt const& item) const {
    RegisterList<Item, Room> kept(m_k);
    each(m_group, range.begin, range.end, [&](std::int64_t i) { kept.offer(item(i)); });
    Column<Item> const out = list();
    kept.visit([&](int slot, Item best) { out[slot] = best; });
  }

  template <class ItemAt>
  KOKKOS_FUNCTION void read_into_heaps(Range range, ItemAt const& item) const {
    MinHeap<Item, Column<Item>> heap(list(), m_k, m_k);
    each(m_group, range.begin, range.end, [&](std::int64_t i) { heap.offer(item(i)); });
  }

  /// Threads queue what beats the root; the first of the threads that share a heap inserts it.
  template <class ItemAt>
  KOKKOS_FUNCTION void read_into_shared_heaps(Range range, ItemAt const& item) const {
    int const mine = m_group.rank() % m_lists.count;
    bool const owner = m_group.rank() < m_lists.count;
    MinHeap<Item, Column<Item>> heap(list(), m_k, m_k);
    Column<Item> const queue{m_items + m_lists.size() + mine, m_lists.count};
    int* const queued = reinterpret_cast<int*>(m_items + m_lists.size() + m_group.size()) + mine;
    if (owner) *queued = 0;
    m_group.barrier();
    for (std::int64_t first = range.begin; first < range.end; first += m_group.size()) {
      std::int64_t const i = first + m_group.rank();
      if (i < range.end) {
        Item const next = item(i);
        if (next > heap.threshold()) queue[m_group.fetch_add(queued, 1)] = next;
      }
      m_group.barrier();
      if (owner) {
        for (int q = 0; q < *queued; ++q) heap.offer(queue[q]);
        *queued = 0;
      }
      m_group.barrier();
    }
  }

  /// Lists of registers are sorted, heaps are not.
  KOKKOS_FUNCTION Item const* merge_lists() const {
    TeamSteps<Group> const steps{m_group};
    Runs<Item> const first = m_lists.first_half(m_items), second = m_lists.second_half(m_items);
    if (!in_registers()) local_sort(steps, first);
    if (m_lists.count == 1) return first.items;
    if (!in_registers()) local_sort(steps, second);
    merge(steps, first.items, second.items, second.columns, first);
    rebuild(steps, first);
    return merge_columns(steps, first, second);
  }

  Group const& m_group;
  std::int64_t m_k;
  TeamLists<Item> m_lists;
  Item* m_items;
};

}  // namespace ktopk::detail
