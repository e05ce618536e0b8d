// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/unrolled.hpp>

#include "../group/group.hpp"

// How the groups of radix write selected keys, and those that may still be selected. They gather them in shared memory
// first, so that groups seldom meet at a counter and write neighbors together (RadiK, Li et al., ICS '24, 3.1.2).

namespace ktopk::detail {

/// A list to which many groups append by put(slot, composite). `capacity` bounds how many are put, not how many are
/// counted.
template <class Put>
struct RadixOutput {
  Put put;
  Count64* count;
  std::int64_t capacity;
};

/// How many composite keys a thread adds to each list.
struct ListedCounts {
  unsigned selected, others;
};

/// How many composite keys a thread may add at a time.
template <class CompositeKey>
inline constexpr int radix_added_at_once = 64 / static_cast<int>(sizeof(CompositeKey));
/// How many a group holds: more than all its threads may add, but so few that the counts of long rows have place, too.
template <class CompositeKey>
inline constexpr int radix_held = team_size * radix_added_at_once<CompositeKey> * 9 / 8;
template <class CompositeKey>
inline constexpr int radix_lists_bytes =
    32 + radix_held<CompositeKey> * static_cast<int>(sizeof(CompositeKey));

/// What a group adds to two lists. It holds the selected keys from the front of its memory, the others from the back.
template <class CompositeKey, class Group>
class RadixLists {
  static constexpr int at_once = radix_added_at_once<CompositeKey>;

 public:
  /// All threads call it together.
  /// \param shared    of the group's shared memory 32 bytes and `capacity` composite keys, aligned to 16
  /// \param capacity  more than all threads may add at a time; a multiple of 16
  KOKKOS_FUNCTION RadixLists(Group const& group, std::byte* shared,
                             int capacity = radix_held<CompositeKey>)
      : m_group(group),
        m_capacity(capacity),
        m_firsts(reinterpret_cast<Count64*>(shared)),
        m_holds(reinterpret_cast<unsigned*>(m_firsts + 2)),
        m_held(reinterpret_cast<CompositeKey*>(shared + 32)) {
    if (group.rank() == 0) *m_holds = 0;
    group.barrier();
  }

  /// Adds of composite_of(0) .. composite_of(count - 1) those for which is_listed(j) is true: if is_selected(j) is true,
  /// too, to the selected, otherwise to the others. Each j is a constant.
  template <int count, class IsSelected, class IsListed, class CompositeOf>
  KOKKOS_FORCEINLINE_FUNCTION ListedCounts add(IsSelected const& is_selected,
                                               IsListed const& is_listed,
                                               CompositeOf const& composite_of) const {
    static_assert(count <= at_once);
    unsigned added = 0;
    unrolled<count>([&](auto j) {
      if (is_listed(j)) added += is_selected(j) ? 1 : one_other;
    });
    if (added == 0) return {0, 0};
    unsigned const before = m_group.fetch_add(m_holds, added);
    int front = static_cast<int>(before % one_other);
    int back = m_capacity - 1 - static_cast<int>(before / one_other);
    unrolled<count>([&](auto j) {
      if (is_listed(j)) m_held[place(is_selected(j) ? front++ : back--)] = composite_of(j);
    });
    return {added % one_other, added / one_other};
  }

  /// Writes what the group holds if there may be no place for what its threads add next. All threads call it together.
  template <class Selected, class Others>
  KOKKOS_FUNCTION void write_fuller(Selected const& selected, Others const& others) const {
    write_above(m_capacity - at_once * m_group.size(), selected, others);
  }
  /// Writes what the group holds. All threads call it together.
  template <class Selected, class Others>
  KOKKOS_FUNCTION void write_all(Selected const& selected, Others const& others) const {
    write_above(0, selected, others);
  }

 private:
  static constexpr unsigned one_other = 1u << 16;
  static_assert(radix_held<CompositeKey> % 128 == 0 &&
                radix_held<CompositeKey> < static_cast<int>(one_other));

  /// Where the i-th lies. Each thread adds several neighbors: so those of neighboring threads lie in different banks.
  KOKKOS_FORCEINLINE_FUNCTION static int place(int i) { return i ^ (i >> 4 & 15); }

  template <class Selected, class Others>
  KOKKOS_FUNCTION void write_above(int most, Selected const& selected, Others const& others) const {
    m_group.barrier();
    unsigned const holds = *m_holds;
    bool const writes = m_group.any_group(m_holds, [&](unsigned held) {
      return static_cast<int>(held % one_other + held / one_other) > most;
    });
    m_group.barrier();
    if (!writes) return;
    int const front = static_cast<int>(holds % one_other);
    int const back = static_cast<int>(holds / one_other);
    if (m_group.rank() == 0) {
      m_firsts[0] = claim(selected.count, front);
      m_firsts[1] = claim(others.count, back);
      *m_holds = 0;
      tally(Count::flushes, 1);
    }
    m_group.barrier();
    put_all(selected, m_firsts[0], front, [](int i) { return i; });
    put_all(others, m_firsts[1], back, [&](int i) { return m_capacity - 1 - i; });
    m_group.barrier();
  }
  KOKKOS_FUNCTION static Count64 claim(Count64* count, int amount) {
    return amount == 0 ? 0 : Kokkos::atomic_fetch_add(count, static_cast<Count64>(amount));
  }
  template <class Output, class Index>
  KOKKOS_FUNCTION void put_all(Output const& to, Count64 first, int count,
                               Index const& index) const {
    each(m_group, 0, count, [&](std::int64_t i) {
      std::int64_t const slot = static_cast<std::int64_t>(first) + i;
      if (slot < to.capacity) to.put(slot, m_held[place(index(static_cast<int>(i)))]);
    });
  }

  Group const& m_group;
  int m_capacity;
  Count64* m_firsts;
  unsigned* m_holds;
  CompositeKey* m_held;
};

}  // namespace ktopk::detail
