// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/unrolled.hpp>

// What one thread keeps of the composite keys that it sees (bitonic-topk-sigmod18, section 3.1): a heap, or for small k
// a sorted list in registers (appendix A).

namespace ktopk::detail {

/// A thread's composite keys that lie one after the other.
template <class CompositeKey>
struct Contiguous {
  CompositeKey* composites;
  KOKKOS_FUNCTION CompositeKey& operator[](std::int64_t i) const { return composites[i]; }
};

/// A thread's composite keys among those of its neighbors: the i-th of all threads lie side by side, so that neighbors
/// never meet at a memory bank.
template <class CompositeKey>
struct Column {
  CompositeKey* composites;
  int columns;
  KOKKOS_FUNCTION CompositeKey& operator[](std::int64_t i) const { return composites[i * columns]; }
};

/// A binary heap of `size` composite keys with the worst of them at its root. It begins with `held` of them, and
/// rejects nothing until it is full.
template <class CompositeKey, class Places>
class MinHeap {
 public:
  KOKKOS_FUNCTION MinHeap(Places const& composites, std::int64_t size, std::int64_t held)
      : m_composites(composites), m_size(size), m_held(held) {}

  /// What a composite key must beat to enter.
  KOKKOS_FUNCTION CompositeKey threshold() const {
    return m_held < m_size ? CompositeKey{0} : m_composites[0];
  }
  KOKKOS_FUNCTION void offer(CompositeKey composite) {
    if (m_held < m_size)
      fill(composite);
    else if (composite > m_composites[0])
      insert(composite);
  }

 private:
  KOKKOS_FUNCTION void fill(CompositeKey composite) {
    m_composites[m_held++] = composite;
    tally(Count::insertions, 1);
    if (m_held < m_size) return;
    for (std::int64_t at = m_size / 2; at-- > 0;) sink(at, m_composites[at]);
  }
  KOKKOS_FUNCTION void insert(CompositeKey composite) {
    sink(0, composite);
    tally(Count::insertions, 1);
  }
  KOKKOS_FUNCTION void sink(std::int64_t at, CompositeKey composite) {
    for (std::int64_t child = 2 * at + 1; child < m_size; child = 2 * at + 1) {
      if (child + 1 < m_size && m_composites[child + 1] < m_composites[child]) ++child;
      if (m_composites[child] >= composite) break;
      m_composites[at] = m_composites[child];
      at = child;
    }
    m_composites[at] = composite;
  }

  Places m_composites;
  std::int64_t m_size;
  std::int64_t m_held;
};

/// The best k <= Capacity composite keys, best first; zeros until as many have come. All indices are constants, so that
/// a GPU's compiler keeps the list in registers, and an insertion compares and exchanges without a branch. If k <
/// Capacity, the first places hold a value that no composite key beats.
template <class CompositeKey, int Capacity>
class RegisterList {
 public:
  KOKKOS_FUNCTION explicit RegisterList(std::int64_t k) : m_taken(Capacity - static_cast<int>(k)) {
    unrolled<Capacity>(
        [&](auto j) { m_composites[j] = j < m_taken ? ~CompositeKey{0} : CompositeKey{0}; });
  }

  KOKKOS_FUNCTION CompositeKey threshold() const { return m_composites[Capacity - 1]; }
  KOKKOS_FORCEINLINE_FUNCTION void offer(CompositeKey composite) {
    if (composite <= threshold()) return;
    tally(Count::insertions, 1);
    unrolled<Capacity - 1>([&](auto j) {
      constexpr int at = Capacity - 1 - j;
      CompositeKey const before = m_composites[at - 1];
      CompositeKey const moved = before < composite ? before : composite;
      m_composites[at] = m_composites[at] < moved ? moved : m_composites[at];
    });
    m_composites[0] = m_composites[0] < composite ? composite : m_composites[0];
  }
  /// Calls body(slot, composite) for the k best in order.
  template <class Body>
  KOKKOS_FUNCTION void visit(Body const& body) const {
    unrolled<Capacity>([&](auto j) {
      if (j >= m_taken) body(j - m_taken, m_composites[j]);
    });
  }

 private:
  int m_taken;
  CompositeKey m_composites[Capacity];
};

/// The largest k whose list is kept in registers: 128 bytes.
template <class CompositeKey>
inline constexpr int most_in_registers = 128 / static_cast<int>(sizeof(CompositeKey));

/// Calls body with the capacity, a constant, of the smallest list that holds k; k <= most_in_registers<CompositeKey>.
template <class CompositeKey, class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_register_capacity(std::int64_t k, Body const& body) {
  constexpr int most = most_in_registers<CompositeKey>;
  if (k <= 4)
    body(std::integral_constant<int, 4>{});
  else if (most == 8 || k <= 8)
    body(std::integral_constant<int, 8>{});
  else
    body(std::integral_constant<int, most>{});
}

}  // namespace ktopk::detail
