// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>
#include <ktopk/team.hpp>

/// \file
/// What the threads of a team find one by one, as in the traversal of a tree.

namespace ktopk {

/// The k best keys that the threads of a team offer, each when it likes:
///
///     TeamAccumulator<float, int> best(member, member.team_scratch(level), k);
///     ... best.offer(key, index); ...
///     best.finish(member, values, indices);
///
/// The rules, and so the bits, are those of top_k, whatever the order of offers: no two keys with the same index may be
/// offered. Of the options, `order`, `ties` (any is lowest_index), `nan` and `by` matter.
///
/// It is a heap in scratch memory behind a lock. An offer that does not reach the worst of k keys takes no lock; another
/// takes O(log k) steps, one thread after the other. k random offers in n are accepted about k log(n / k) times.
/// \tparam I  a 32- or 64-bit integer type
template <class T, class I = std::int64_t>
class TeamAccumulator {
  static_assert(detail::Key<T> && detail::Index<I>);
  using Bits = detail::bits_of<T>;

  struct State {
    std::uint64_t least;  // the rank of the worst, once there are k; a key of less is not accepted
    std::int64_t count;
    int lock;
  };

 public:
  /// The scratch memory it takes, for set_scratch_size(level, Kokkos::PerTeam(...)).
  KOKKOS_FUNCTION static std::size_t scratch_bytes(std::int64_t k) {
    return 16 + bytes_of(k);  // the memory that a team gets is aligned
  }

  /// Holds nothing yet. All threads of the team construct it together.
  /// \param scratch  member.team_scratch(level), of at least scratch_bytes(k)
  /// \param k        at least 0
  template <class Member, class Scratch>
  KOKKOS_FUNCTION TeamAccumulator(Member const& member, Scratch const& scratch, std::int64_t k,
                                  Options const& options = {})
      : m_order(options), m_k(k) {
    std::int64_t const bytes = static_cast<std::int64_t>(bytes_of(k));  // passed by reference
    auto* const memory = static_cast<std::byte*>(scratch.get_shmem_aligned(bytes, 16));
    m_state = reinterpret_cast<State*>(memory);
    m_indices = reinterpret_cast<I*>(memory + head_bytes);
    m_values = reinterpret_cast<T*>(memory + head_bytes + index_bytes(k));
    if (member.team_rank() == 0) *m_state = {0, 0, 0};
    member.team_barrier();
  }

  /// By any thread of the team, whatever the others do.
  KOKKOS_FUNCTION void offer(T key, I index) const {
    Bits const rank = m_order.rank(key);
    if (m_k == 0 || !m_order.is_key(rank) || rank < Kokkos::atomic_load(&m_state->least)) return;
    // The threads of a warp may take their steps together: so who has the lock gives it back in the step in which it was taken.
    for (bool is_done = false; !is_done;) {
      if (Kokkos::atomic_exchange(&m_state->lock, 1) != 0) continue;
      Kokkos::memory_fence();
      insert(rank, key, index);
      Kokkos::memory_fence();
      Kokkos::atomic_exchange(&m_state->lock, 0);
      is_done = true;
    }
  }

  /// Stores the selected keys, best first. All threads of the team call it together, once each has offered its keys; the
  /// outputs are written when it returns.
  /// \param values, indices  as of team_top_k; slots behind the last are filled as a short row's are
  /// \return how many keys there are, in every thread
  template <class Member, class Values, class Indices>
  KOKKOS_FUNCTION std::int64_t finish(Member const& member, Values const& values,
                                      Indices const& indices) const {
    member.team_barrier();
    std::int64_t const count = m_state->count;
    for (std::int64_t slot = member.team_rank(); slot < m_k; slot += member.team_size()) {
      bool const is_used = slot < count;
      std::int64_t const place = is_used ? place_of(slot, count) : slot;
      detail::store_value(values, place, is_used ? m_values[slot] : m_order.worst());
      detail::store_index(indices, place, is_used ? std::int64_t{m_indices[slot]} : -1);
    }
    member.team_barrier();
    return count;
  }

 private:
  static constexpr std::size_t head_bytes = 32;
  static_assert(sizeof(State) <= head_bytes);

  KOKKOS_FUNCTION static std::size_t index_bytes(std::int64_t k) {
    return (static_cast<std::size_t>(k) * sizeof(I) + 15) / 16 * 16;
  }
  KOKKOS_FUNCTION static std::size_t bytes_of(std::int64_t k) {
    return head_bytes + index_bytes(k) + static_cast<std::size_t>(k) * sizeof(T);
  }

  KOKKOS_FUNCTION T key_at(std::int64_t slot) const { return m_values[slot]; }
  KOKKOS_FUNCTION I index_at(std::int64_t slot) const { return m_indices[slot]; }
  KOKKOS_FUNCTION void set(std::int64_t slot, T key, I index) const {
    m_values[slot] = key;
    m_indices[slot] = index;
  }
  using Heap = detail::WorstHeap<T, TeamAccumulator>;
  friend Heap;

  /// Puts a key in the heap. By the thread that has the lock.
  KOKKOS_FUNCTION void insert(Bits rank, T key, I index) const {
    Heap const heap(*this, m_order);
    if (m_state->count < m_k)
      heap.rise(m_state->count++, rank, key, index);
    else if (heap.is_before(rank, index, 0))
      heap.sink(m_k, rank, key, index);
    else
      return;
    if (m_state->count == m_k)
      Kokkos::atomic_store(&m_state->least, std::uint64_t{m_order.rank(m_values[0])});
  }

  /// How many of the keys come before that of a slot.
  KOKKOS_FUNCTION std::int64_t place_of(std::int64_t slot, std::int64_t count) const {
    Bits const rank = m_order.rank(m_values[slot]);
    Heap const heap(*this, m_order);
    std::int64_t before = 0;
    for (std::int64_t other = 0; other < count; ++other)
      if (other != slot && !heap.is_before(rank, m_indices[slot], other)) ++before;
    return before;
  }

  detail::KeyOrder<T> m_order;
  std::int64_t m_k;
  State* m_state;
  I* m_indices;
  T* m_values;
};

}  // namespace ktopk
