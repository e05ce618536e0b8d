// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/thread_lists.hpp>

#include "../bitonic/network.hpp"
#include "../group/group.hpp"

// The lists of a team's threads, and how they are merged.

namespace ktopk::detail {

/// How the lists of a team lie in its scratch memory: list t is a column of one of two halves, which are merged. There
/// are as many lists as fit.
template <class CompositeKey>
struct TeamLists {
  static constexpr int capacity = 32 * 1024 / static_cast<int>(sizeof(CompositeKey));

  int length = 1;  // of a list: k rounded up to a power of two
  int count;       // no more than there are threads

  KOKKOS_FUNCTION explicit TeamLists(std::int64_t k, int threads = team_size) : count(threads) {
    while (length < k) length *= 2;
    while (count > 1 && count * length > capacity) count /= 2;
  }
  KOKKOS_FUNCTION int half() const { return count > 1 ? count / 2 : 1; }
  KOKKOS_FUNCTION int size() const { return count * length; }
  KOKKOS_FUNCTION Column<CompositeKey> list(CompositeKey* composites, int t) const {
    return {composites + t / half() * half() * length + t % half(), half()};
  }
  KOKKOS_FUNCTION Runs<CompositeKey> first_half(CompositeKey* composites) const {
    return {composites, length, half()};
  }
  KOKKOS_FUNCTION Runs<CompositeKey> second_half(CompositeKey* composites) const {
    return {composites + half() * length, length, half()};
  }
};

/// Per-thread top-k: each thread of a team keeps the k best of the keys that it reads, in registers or in a heap; then
/// all lists are merged. If the memory does not hold so many heaps, threads share them. All threads call every function
/// together.
template <class Group, class CompositeKey>
class TeamHeaps {
 public:
  /// The memory of the lists, and for shared ones a composite key of each thread and how many each list is to take.
  static int shared_bytes(std::int64_t k) {
    return static_cast<int>((TeamLists<CompositeKey>(k).size() + team_size) * sizeof(CompositeKey) +
                            team_size * sizeof(int));
  }

  KOKKOS_FUNCTION TeamHeaps(Group const& group, std::int64_t k)
      : m_group(group),
        m_k(k),
        m_lists(k, group.size()),
        m_composites(group.template shared<CompositeKey>()) {
    each(group, 0, m_lists.size(), [&](std::int64_t i) { m_composites[i] = 0; });
    group.barrier();
  }

  /// Returns the k best of a range of at least k keys, best first.
  template <class Bits>
  KOKKOS_FUNCTION CompositeKey const* best_of(CompositeKeyMap<Bits, CompositeKey> const& map,
                                              Stored<Bits> const* keys, std::int64_t step,
                                              Range range) const {
    auto const composite = [&](std::int64_t i) {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    };
    if (in_registers())
      with_register_capacity<CompositeKey>(m_k, [&](auto capacity) {
        read_into_registers<decltype(capacity)::value>(range, composite);
      });
    else if (m_lists.count == m_group.size())
      read_into_heaps(range, composite);
    else
      read_into_shared_heaps(range, composite);
    m_group.barrier();
    return merge_lists();
  }

 private:
  KOKKOS_FUNCTION bool in_registers() const { return m_k <= most_in_registers<CompositeKey>; }
  KOKKOS_FUNCTION Column<CompositeKey> list() const {
    return m_lists.list(m_composites, m_group.rank() % m_lists.count);
  }

  template <int Capacity, class CompositeAt>
  KOKKOS_FUNCTION void read_into_registers(Range range, CompositeAt const& composite) const {
    RegisterList<CompositeKey, Capacity> kept(m_k);
    each(m_group, range.begin, range.end, [&](std::int64_t i) { kept.offer(composite(i)); });
    Column<CompositeKey> const out = list();
    kept.visit([&](int slot, CompositeKey best) { out[slot] = best; });
  }

  template <class CompositeAt>
  KOKKOS_FUNCTION void read_into_heaps(Range range, CompositeAt const& composite) const {
    MinHeap<CompositeKey, Column<CompositeKey>> heap(list(), m_k, m_k);
    each(m_group, range.begin, range.end, [&](std::int64_t i) { heap.offer(composite(i)); });
  }

  /// Threads queue what beats the root; the first of the threads that share a heap inserts it.
  template <class CompositeAt>
  KOKKOS_FUNCTION void read_into_shared_heaps(Range range, CompositeAt const& composite) const {
    int const mine = m_group.rank() % m_lists.count;
    bool const owner = m_group.rank() < m_lists.count;
    MinHeap<CompositeKey, Column<CompositeKey>> heap(list(), m_k, m_k);
    Column<CompositeKey> const queue{m_composites + m_lists.size() + mine, m_lists.count};
    int* const queued =
        reinterpret_cast<int*>(m_composites + m_lists.size() + m_group.size()) + mine;
    if (owner) *queued = 0;
    m_group.barrier();
    for (std::int64_t first = range.begin; first < range.end; first += m_group.size()) {
      std::int64_t const i = first + m_group.rank();
      if (i < range.end) {
        CompositeKey const next = composite(i);
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
  KOKKOS_FUNCTION CompositeKey const* merge_lists() const {
    TeamSteps<Group> const steps{m_group};
    Runs<CompositeKey> const first = m_lists.first_half(m_composites),
                             second = m_lists.second_half(m_composites);
    if (!in_registers()) local_sort(steps, first);
    if (m_lists.count == 1) return first.composites;
    if (!in_registers()) local_sort(steps, second);
    merge(steps, first.composites, second.composites, second.columns, first);
    rebuild(steps, first);
    return merge_columns(steps, first, second);
  }

  Group const& m_group;
  std::int64_t m_k;
  TeamLists<CompositeKey> m_lists;
  CompositeKey* m_composites;
};

}  // namespace ktopk::detail
