// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/unrolled.hpp>
#include <ktopk/team.hpp>

#include "group.hpp"

// A few best keys by a team, which reads a row twice: the k-th largest of the maxima of many strips is a threshold that k
// keys reach and few others (the delegates of Dr. Top-k, Gaihre et al., SC '21, 4.1). What reaches it is ranked by
// comparing all with all.

namespace ktopk::detail {

KOKKOS_INLINE_FUNCTION int power_of_two_from(std::int64_t count) {
  int power = 1;
  while (power < count) power *= 2;
  return power;
}

template <class T, class Group, class Source, class CompositeKey>
class BestOfMaxima {
 public:
  /// It holds so many composite keys of 16 bytes in kth_largest_bytes.
  static constexpr int most_held = 256;
  static constexpr std::int64_t most_k = most_held / 4;
  static constexpr std::int64_t most_n = std::int64_t{1} << 30;

  /// \param shared  kth_largest_bytes of the group's shared memory
  KOKKOS_FUNCTION BestOfMaxima(Group const& group, Source const& source, KeyOrder<T> const& order,
                               CompositeKeyMap<bits_of<T>, CompositeKey> const& map,
                               std::byte* shared)
      : m_group(group),
        m_source(source),
        m_order(order),
        m_map(map),
        m_n(static_cast<int>(source.size())),
        m_count(reinterpret_cast<int*>(shared)),
        m_held(reinterpret_cast<CompositeKey*>(shared + 16)) {}

  /// Lists the composite keys of the k best, the worst first, at the end of `list`, behind zeros. All threads call it
  /// together. Returns false, and leaves nothing of use in `list`, if more keys reach the threshold than it holds: if most
  /// of the best are in few strips.
  /// \param k       at most most_k and the number of keys, which is at most most_n
  /// \param places  of the list
  KOKKOS_FUNCTION bool operator()(int k, CompositeKey* list, int places) const {
    int const strips = strips_for(k);
    if (m_n < 2 * strips) {
      for_each_key([&](bits_of<T> rank, int i) { m_held[i] = join(rank, i); });
      m_group.barrier();
      rank_held(m_n, k, list, places);
      return true;
    }
    find_threshold(k, strips, list);
    hold_reaching(*list);
    int const held = *m_count;
    m_group.barrier();  // before the memory is another's
    if (held > most_held) return false;
    rank_held(held, k, list, places);
    return true;
  }

 private:
  using Bits = bits_of<T>;
  static constexpr int at_once = 8;  // keys that a thread loads together
  struct alignas(16) Pair {
    CompositeKey first, second;
  };

  KOKKOS_FUNCTION CompositeKey join(Bits rank, int i) const {
    return m_map.join(rank, static_cast<std::uint64_t>(i));
  }

  /// Twice as many as k, so that hardly more than k keys reach the threshold; and enough for many threads.
  KOKKOS_FUNCTION int strips_for(int k) const {
    constexpr int most_idle = 64;
    int const threads = m_group.size() < most_idle ? m_group.size() : most_idle;
    return power_of_two_from(2 * k > threads ? 2 * k : threads);
  }

  /// Calls visit(rank, i) for all keys, of which the group's threads take neighbors.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_key(Visit const& visit) const {
    for_each_of_strip(m_group.rank(), m_group.size(), visit);
  }
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_of_strip(int first, int stride,
                                                     Visit const& visit) const {
    for (int begin = first; begin < m_n; begin += at_once * stride) {
      T keys[at_once];
      unrolled<at_once>([&](auto j) {
        int const i = begin + j * stride;
        keys[j] = m_source[i < m_n ? i : begin];  // without a branch, which would wait for the load
      });
      unrolled<at_once>([&](auto j) {
        int const i = begin + j * stride;
        if (i < m_n) visit(m_order.rank(keys[j]), i);
      });
    }
  }

  KOKKOS_FUNCTION CompositeKey best_of_strip(int first, int stride) const {
    Bits best = 0;
    int at = first;
    for_each_of_strip(first, stride, [&](Bits rank, int i) {
      if (rank > best || (rank == best && m_order.highest_wins())) {
        best = rank;
        at = i;
      }
    });
    return join(best, at);
  }

  /// Writes the k-th largest of the strips' maxima.
  KOKKOS_FUNCTION void find_threshold(int k, int strips, CompositeKey* threshold) const {
    int const held = m_group.size() < strips ? hold_maxima(strips) : hold_shared_maxima(strips);
    if (m_group.rank() == 0) *m_count = 0;
    each(m_group, 0, held, [&](std::int64_t i) {
      CompositeKey const own = m_held[i];
      if (count_above(own, held) == k - 1) *threshold = own;
    });
    m_group.barrier();
  }
  /// Each thread has some strips, and so at least as many in all.
  KOKKOS_FUNCTION int hold_maxima(int strips) const {
    int const size = m_group.size();
    int const all = (strips + size - 1) / size * size;
    for (int s = m_group.rank(); s < all; s += size) m_held[s] = best_of_strip(s, all);
    m_group.barrier();
    return all;
  }
  /// Some threads have a strip together.
  KOKKOS_FUNCTION int hold_shared_maxima(int strips) const {
    int const size = m_group.size(), rank = m_group.rank();
    CompositeKey const own = rank < m_n ? best_of_strip(rank, size) : CompositeKey{0};
    CompositeKey& of_strip = m_held[rank & (strips - 1)];
    for (int first = 0; first < size; first += strips) {
      if (first <= rank && rank < first + strips && (first == 0 || of_strip < own)) of_strip = own;
      m_group.barrier();
    }
    return strips;
  }

  KOKKOS_FUNCTION void hold_reaching(CompositeKey threshold) const {
    Bits const least = m_map.ordered_bits_of(threshold);
    for_each_key([&](Bits rank, int i) {
      if (rank < least) return;
      CompositeKey const composite = join(rank, i);
      if (composite < threshold) return;
      int const slot = m_group.fetch_add(m_count, 1);
      if (slot < most_held) m_held[slot] = composite;
    });
    m_group.barrier();
  }

  KOKKOS_FORCEINLINE_FUNCTION int count_above(CompositeKey own, int held) const {
    int const even = held & ~1;
    int above = held > even && m_held[even] > own ? 1 : 0;
    for (int i = 0; i < even; i += 2) {
      Pair const pair = *reinterpret_cast<Pair const*>(m_held + i);
      above += (pair.first > own ? 1 : 0) + (pair.second > own ? 1 : 0);
    }
    return above;
  }
  KOKKOS_FUNCTION void rank_held(int held, int k, CompositeKey* list, int places) const {
    each(m_group, 0, places - k, [&](std::int64_t i) { list[i] = CompositeKey{0}; });
    each(m_group, 0, held, [&](std::int64_t i) {
      CompositeKey const own = m_held[i];
      int const above = count_above(own, held);
      if (above < k) list[places - 1 - above] = own;
    });
    m_group.barrier();
  }

  Group const& m_group;
  Source const& m_source;
  KeyOrder<T> const& m_order;
  CompositeKeyMap<Bits, CompositeKey> const& m_map;
  int m_n;
  int* m_count;  // of held keys, and of those that found no place
  CompositeKey* m_held;
};

}  // namespace ktopk::detail
