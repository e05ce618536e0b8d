// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/rank.hpp>

#include "../counters.hpp"
#include "../group.hpp"
#include "bitonic_network.hpp"

// What one thread keeps of the items that it sees (bitonic-topk-sigmod18, section 3.1): a heap, or for
// small k a sorted list in registers (appendix A).

namespace ktopk::detail {

/// Items that lie one after the other.
template <class Item>
struct Contiguous {
  Item* items;
  KOKKOS_FUNCTION Item& operator[](std::int64_t i) const { return items[i]; }
};

/// Items of one thread among those of its neighbors: item i of all of them lies side by side, so that
/// neighbors never meet at a memory bank.
template <class Item>
struct Column {
  Item* items;
  int columns;
  KOKKOS_FUNCTION Item& operator[](std::int64_t i) const { return items[i * columns]; }
};

/// A binary heap of `size` items with the worst of them at its root. Of these `held` are there at first;
/// nothing is turned away until all are.
template <class Item, class Places>
class MinHeap {
 public:
  KOKKOS_FUNCTION MinHeap(Places const& items, std::int64_t size, std::int64_t held)
      : m_items(items), m_size(size), m_held(held) {}

  /// What an item must beat.
  KOKKOS_FUNCTION Item bar() const { return m_held < m_size ? Item{0} : m_items[0]; }
  KOKKOS_FUNCTION void offer(Item item) {
    if (m_held < m_size)
      fill(item);
    else if (item > m_items[0])
      insert(item);
  }

 private:
  KOKKOS_FUNCTION void fill(Item item) {
    m_items[m_held++] = item;
    tally(Count::insertions, 1);
    if (m_held < m_size) return;
    for (std::int64_t at = m_size / 2; at-- > 0;) sink(at, m_items[at]);
  }
  KOKKOS_FUNCTION void insert(Item item) {
    sink(0, item);
    tally(Count::insertions, 1);
  }
  KOKKOS_FUNCTION void sink(std::int64_t at, Item item) {
    for (std::int64_t child = 2 * at + 1; child < m_size; child = 2 * at + 1) {
      if (child + 1 < m_size && m_items[child + 1] < m_items[child]) ++child;
      if (m_items[child] >= item) break;
      m_items[at] = m_items[child];
      at = child;
    }
    m_items[at] = item;
  }

  Places m_items;
  std::int64_t m_size;
  std::int64_t m_held;
};

/// Calls body(j) for j = 0 .. Count - 1, each a constant.
template <int Count, class Body>
KOKKOS_FORCEINLINE_FUNCTION void unrolled(Body const& body) {
  [&]<int... j>(std::integer_sequence<int, j...>) {
    (body(std::integral_constant<int, j>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

/// The best k <= Room items, best first, and items 0 until as many have come. All indices are constants,
/// so that a GPU's compiler keeps the items in registers, and an insertion compares and exchanges without a
/// branch. Where k < Room the first places are taken by what no item beats.
template <class Item, int Room>
class RegisterList {
 public:
  KOKKOS_FUNCTION explicit RegisterList(std::int64_t k) : m_taken(Room - static_cast<int>(k)) {
    unrolled<Room>([&](auto j) { m_items[j] = j < m_taken ? ~Item{0} : Item{0}; });
  }

  KOKKOS_FUNCTION Item bar() const { return m_items[Room - 1]; }
  KOKKOS_FORCEINLINE_FUNCTION void offer(Item item) {
    if (item <= bar()) return;
    tally(Count::insertions, 1);
    unrolled<Room - 1>([&](auto j) {
      constexpr int at = Room - 1 - j;
      Item const before = m_items[at - 1];
      Item const moved = before < item ? before : item;
      m_items[at] = m_items[at] < moved ? moved : m_items[at];
    });
    m_items[0] = m_items[0] < item ? item : m_items[0];
  }
  /// Calls body(slot, item) for the k best in order.
  template <class Body>
  KOKKOS_FUNCTION void visit(Body const& body) const {
    unrolled<Room>([&](auto j) {
      if (j >= m_taken) body(j - m_taken, m_items[j]);
    });
  }

 private:
  int m_taken;
  Item m_items[Room];
};

/// The largest k whose lists are kept in registers: 128 bytes of them.
template <class Item>
inline constexpr int most_in_registers = 128 / static_cast<int>(sizeof(Item));

/// Calls body with the room, a constant, of the smallest list that holds k; k <= most_in_registers<Item>.
template <class Item, class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_register_room(std::int64_t k, Body const& body) {
  constexpr int most = most_in_registers<Item>;
  if (k <= 4)
    body(std::integral_constant<int, 4>{});
  else if (most == 8 || k <= 8)
    body(std::integral_constant<int, 8>{});
  else
    body(std::integral_constant<int, most>{});
}

/// How the lists of a team lie in its scratch memory: list t is a column of one of two halves, which are
/// merged item by item. As many lists as there is room for.
template <class Item>
struct TeamLists {
  static constexpr int room = 32 * 1024 / static_cast<int>(sizeof(Item));

  int length = 1;  // of a list: k rounded up to a power of two
  int count = team_size;

  KOKKOS_FUNCTION explicit TeamLists(std::int64_t k) {
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

/// Per-thread top-k: each thread of a team keeps the best k of the keys that it reads, in registers or in
/// a heap, then all lists are merged. Where there is no room for so many heaps, threads share them. The
/// threads call every function together.
template <class Group, class Item>
class TeamHeaps {
 public:
  /// Lists, and for shared ones an item of each thread and how many each list is to take.
  static int shared_bytes(std::int64_t k) {
    return static_cast<int>((TeamLists<Item>(k).size() + team_size) * sizeof(Item) +
                            team_size * sizeof(int));
  }

  KOKKOS_FUNCTION TeamHeaps(Group const& group, std::int64_t k)
      : m_group(group), m_k(k), m_lists(k), m_items(group.template shared<Item>()) {
    each(group, 0, m_lists.size(), [&](std::int64_t i) { m_items[i] = 0; });
    group.barrier();
  }

  /// The best k of the keys of a range, which are no fewer, best first.
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

  /// What beats the root is queued, for the first of the threads that share a heap to insert.
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
        if (next > heap.bar()) queue[m_group.fetch_add(queued, 1)] = next;
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
