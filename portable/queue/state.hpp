// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../bitonic/network.hpp"
#include "../group/group.hpp"

// What a group of GridSelect keeps (air-topk-gridselect-sc23, section 4): the k best of all composite keys that it has
// read, and a queue of those that beat the last of them. When the queue is full, it is merged into the list.

namespace ktopk::detail {

/// The state of a team, in its shared memory; all threads call every function together. The queue holds one composite
/// key for each thread, as the paper's 32 are one for each of a warp. It is sorted and merged into the sorted list.
/// Until k composite keys have come, the list ends in zeros, which no composite key is below.
template <class Group, class CompositeKey>
class TeamQueue {
 public:
  static constexpr int capacity = team_size;

  KOKKOS_FUNCTION static constexpr int list_length(std::int64_t k) {
    int length = capacity;
    while (length < k) length *= 2;
    return length;
  }
  static constexpr int shared_bytes(std::int64_t k) {
    return static_cast<int>((list_length(k) + capacity) * sizeof(CompositeKey) + sizeof(int));
  }

  KOKKOS_FUNCTION TeamQueue(Group const& group, std::int64_t k)
      : m_group(group),
        m_k(k),
        m_length(list_length(k)),
        m_list(group.template shared<CompositeKey>()),
        m_queue(m_list + m_length),
        m_queued(reinterpret_cast<int*>(m_queue + capacity)) {
    each(group, 0, m_length, [&](std::int64_t i) { m_list[i] = 0; });
    if (group.rank() == 0) *m_queued = 0;
    group.barrier();
  }

  /// Returns the k best of a range of at least k keys, best first. Every thread goes on to its next key that is wanted,
  /// so that few barriers are in vain.
  template <class Bits>
  KOKKOS_FUNCTION CompositeKey const* best_of(CompositeKeyMap<Bits, CompositeKey> const& map,
                                              Stored<Bits> const* keys, std::int64_t step,
                                              Range range) {
    std::int64_t const chunk = 16 * m_group.size();
    for (std::int64_t first = range.begin; first < range.end; first += chunk) {
      std::int64_t const end = first + chunk < range.end ? first + chunk : range.end;
      std::int64_t i = first + m_group.rank();
      bool wanted;
      CompositeKey composite{};
      do {
        CompositeKey const threshold = m_list[m_k - 1];
        for (wanted = false; i < end && !wanted; i += m_group.size()) {
          composite = map(keys[i * step], static_cast<std::uint64_t>(i));
          wanted = composite > threshold;
        }
      } while (insert(wanted, composite));
    }
    flush(m_before);
    return m_list;
  }

 private:
  /// Parallel two-step insertion: a composite key that finds the queue full enters it after the flush. Returns whether
  /// any thread had one.
  KOKKOS_FUNCTION bool insert(bool wanted, CompositeKey composite) {
    int const place = wanted ? m_group.fetch_add(m_queued, 1) : 0;
    if (wanted && place < capacity) m_queue[place] = composite;
    m_group.barrier();
    int queued = *m_queued;
    m_group.barrier();
    bool const any = queued != m_before;
    if (queued >= capacity) {
      flush(capacity);
      queued -= capacity;
      if (wanted && place >= capacity) m_queue[place - capacity] = composite;
      if (m_group.rank() == 0) *m_queued = queued;
      m_group.barrier();
    }
    m_before = queued;
    return any;
  }
  KOKKOS_FUNCTION void flush(int queued) {
    each(m_group, queued, capacity, [&](std::int64_t i) { m_queue[i] = 0; });
    m_group.barrier();
    TeamSteps<Group> const steps{m_group};
    Runs<CompositeKey> const tail{m_list + m_length - capacity, capacity, 1};
    local_sort(steps, Runs<CompositeKey>{m_queue, capacity, 1});
    ktopk::detail::merge(steps, tail.composites, m_queue, 1, tail);
    rebuild(steps, Runs<CompositeKey>{m_list, m_length, 1});
  }

  Group const& m_group;
  std::int64_t m_k;
  int m_length;
  CompositeKey* m_list;
  CompositeKey* m_queue;
  int* m_queued;
  int m_before = 0;
};

}  // namespace ktopk::detail
