// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/rank.hpp>
#include <ktopk/detail/unrolled.hpp>

// What one thread keeps of the composite keys that it sees (bitonic-topk-sigmod18, section 3.1): a heap, or for small k
// a sorted list in registers (appendix A).

namespace ktopk::detail {

/// A thread's composite keys that lie one after the other.
template <class Item>
struct Contiguous {
  Item* items;
  KOKKOS_FUNCTION Item& operator[](std::int64_t i) const { return items[i]; }
};

/// A thread's composite keys among those of its neighbors: the i-th of all threads lie side by side, so that neighbors
/// never meet at a memory bank.
template <class Item>
struct Column {
  Item* items;
  int columns;
  KOKKOS_FUNCTION Item& operator[](std::int64_t i) const { return items[i * columns]; }
};

/// A binary heap of `size` composite keys with the worst of them at its root. It begins with `held` of them, and
/// rejects nothing until it is full.
template <class Item, class Places>
class MinHeap {
 public:
  KOKKOS_FUNCTION MinHeap(Places const& items, std::int64_t size, std::int64_t held)
      : m_items(items), m_size(size), m_held(held) {}

  /// What a composite key must beat to enter.
  KOKKOS_FUNCTION Item threshold() const { return m_held < m_size ? Item{0} : m_items[0]; }
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

/// The best k <= Room composite keys, best first; zeros until as many have come. All indices are constants, so that a
/// GPU's compiler keeps the list in registers, and an insertion compares and exchanges without a branch. If k < Room,
/// the first places hold a value that no composite key beats.
template <class Item, int Room>
class RegisterList {
 public:
  KOKKOS_FUNCTION explicit RegisterList(std::int64_t k) : m_taken(Room - static_cast<int>(k)) {
    unrolled<Room>([&](auto j) { m_items[j] = j < m_taken ? ~Item{0} : Item{0}; });
  }

  KOKKOS_FUNCTION Item threshold() const { return m_items[Room - 1]; }
  KOKKOS_FORCEINLINE_FUNCTION void offer(Item item) {
    if (item <= threshold()) return;
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

/// The largest k whose list is kept in registers: 128 bytes.
template <class Item>
inline constexpr int most_in_registers = 128 / static_cast<int>(sizeof(Item));

/// Calls body with the capacity, a constant, of the smallest list that holds k; k <= most_in_registers<Item>.
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

}  // namespace ktopk::detail
