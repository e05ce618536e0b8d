// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/positions.hpp>
#include <ktopk/core/selected.hpp>

// A group works on one part of a row: it is one thread on a host, a team on a device. Implementations are written once,
// on groups; on a host every helper below is a plain loop or nothing at all. A group gets its shared memory from whoever
// makes it: launch() of run/launch.hpp, or a team of a caller's kernel.

namespace ktopk::detail {

inline constexpr int team_size = 256;
/// The size of teams of which few are launched, so that each must be fast by itself.
inline constexpr int wide_team_size = 1024;

class ThreadGroup {
 public:
  static constexpr bool is_host = true;
  /// How many neighbors in memory a thread should take itself. On a device neighboring threads take them.
  static constexpr int neighbors = 64;

  KOKKOS_FUNCTION ThreadGroup(std::int64_t index, std::byte* shared, int shared_bytes)
      : m_index(index), m_shared(shared), m_shared_bytes(shared_bytes) {}

  KOKKOS_FUNCTION std::int64_t index() const { return m_index; }
  KOKKOS_FUNCTION int rank() const { return 0; }
  KOKKOS_FUNCTION int size() const { return 1; }
  KOKKOS_FUNCTION void barrier() const {}
  template <class T>
  KOKKOS_FUNCTION T* shared(std::size_t offset = 0) const {
    assert(offset <= static_cast<std::size_t>(m_shared_bytes));
    return reinterpret_cast<T*>(m_shared + offset);
  }
  /// Adds to memory that the group shares; returns what was there.
  template <class T>
  KOKKOS_FUNCTION T fetch_add(T* counter, T amount) const {
    T const before = *counter;
    *counter += amount;
    return before;
  }
  /// Returns the sum of the values of the threads of lower rank. All threads call it together.
  template <class T>
  KOKKOS_FUNCTION T sum_before(T) const {
    return 0;
  }
  /// Replaces each thread's least and most by those of the group. All threads call it together.
  template <class T>
  KOKKOS_FUNCTION void merge_extremes(T&, T&) const {}
  /// Whether a test is true of what any group of the team has where this one has `own`.
  template <class T, class Test>
  KOKKOS_FUNCTION bool any_group(T const* own, Test const& test) const {
    return test(*own);
  }

 private:
  std::int64_t m_index;
  std::byte* m_shared;
  [[maybe_unused]] int m_shared_bytes;
};

template <class Member>
class TeamGroup {
 public:
  static constexpr bool is_host = false;
  static constexpr int neighbors = 1;

  KOKKOS_FUNCTION TeamGroup(Member const& member, std::int64_t first, std::byte* shared)
      : m_member(member), m_first(first), m_shared(shared) {}

  KOKKOS_FUNCTION std::int64_t index() const { return m_first + m_member.league_rank(); }
  KOKKOS_FUNCTION int rank() const { return m_member.team_rank(); }
  KOKKOS_FUNCTION int size() const { return m_member.team_size(); }
  KOKKOS_FUNCTION void barrier() const { m_member.team_barrier(); }
  template <class T>
  KOKKOS_FUNCTION T* shared(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(m_shared + offset);
  }
  template <class T>
  KOKKOS_FUNCTION T fetch_add(T* counter, T amount) const {
    return Kokkos::atomic_fetch_add(counter, amount);
  }
  template <class T>
  KOKKOS_FUNCTION T sum_before(T amount) const {
    return m_member.team_scan(amount);
  }
  template <class T>
  KOKKOS_FUNCTION void merge_extremes(T& least, T& most) const {
    Kokkos::MinMaxScalar<T> both{least, most};
    m_member.team_reduce(Kokkos::MinMax<T>(both));
    least = both.min_val;
    most = both.max_val;
  }
  template <class T, class Test>
  KOKKOS_FUNCTION bool any_group(T const* own, Test const& test) const {
    return test(*own);
  }

 private:
  Member const& m_member;
  std::int64_t m_first;
  std::byte* m_shared;
};

/// One of the groups into which a team is divided. All of them go through the same barriers, and neighboring threads
/// belong to different groups.
template <class Team>
class PartOfTeam {
 public:
  /// \param groups  by which the team's size can be divided
  /// \param bytes   of the team's shared memory that each has
  KOKKOS_FUNCTION PartOfTeam(Team const& team, int groups, int bytes)
      : m_team(team),
        m_groups(groups),
        m_number(team.rank() % groups),
        m_rank(team.rank() / groups),
        m_size(team.size() / groups),
        m_bytes(bytes) {}

  KOKKOS_FUNCTION int number() const { return m_number; }
  KOKKOS_FUNCTION int rank() const { return m_rank; }
  KOKKOS_FUNCTION int size() const { return m_size; }
  KOKKOS_FUNCTION void barrier() const { m_team.barrier(); }
  template <class T>
  KOKKOS_FUNCTION T* shared() const {
    return m_team.template shared<T>(static_cast<std::size_t>(m_number * m_bytes));
  }
  template <class T>
  KOKKOS_FUNCTION T fetch_add(T* counter, T amount) const {
    return m_team.fetch_add(counter, amount);
  }
  template <class T, class Test>
  KOKKOS_FUNCTION bool any_group(T const* own, Test const& test) const {
    auto const* const first = reinterpret_cast<std::byte const*>(own) - m_number * m_bytes;
    bool any = false;
    for (int i = 0; i < m_groups; ++i)
      any = any || test(*reinterpret_cast<T const*>(first + i * m_bytes));
    return any;
  }

 private:
  Team const& m_team;
  int m_groups;
  int m_number;
  int m_rank;
  int m_size;
  int m_bytes;
};

/// Calls body(i) for i in begin .. end; the group's threads take neighbors.
template <class Group, class Body>
KOKKOS_FORCEINLINE_FUNCTION void each(Group const& group, std::int64_t begin, std::int64_t end,
                                      Body const& body) {
  for (std::int64_t i = begin + group.rank(); i < end; i += group.size()) body(i);
}

template <class CompositeKey>
struct PutInList {
  CompositeKey* list;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, CompositeKey composite) const {
    list[slot] = composite;
  }
};

/// The shared memory that an Appender of a team needs.
template <class CompositeKey>
KOKKOS_FUNCTION constexpr int appender_bytes() {
  return 2 * team_size * static_cast<int>(sizeof(CompositeKey)) + 16;
}

/// Appends composite keys, by put(slot, composite), to a list that many groups fill. It gathers them first, so that
/// groups seldom meet at the counter and write neighbors together: a team holds up to 2 * team_size, and writes them
/// when it holds more than half of that (RadiK 3.1.2). `capacity` bounds how many are put, not how many are counted.
/// A team constructs and flushes it together, and calls flush_fuller after each stride; a single thread need not.
template <class CompositeKey, class Group, class Put = PutInList<CompositeKey>>
class Appender {
 public:
  /// \param shared  appender_bytes<CompositeKey>() of the group's shared memory, aligned for CompositeKey
  KOKKOS_FUNCTION Appender(Group const& group, std::byte* shared, Put const& put, Count64* count,
                           std::int64_t capacity)
      : m_group(group),
        m_put(put),
        m_count(count),
        m_capacity(static_cast<Count64>(capacity)),
        m_first(reinterpret_cast<Count64*>(shared)),
        m_holds(reinterpret_cast<int*>(m_first + 1)),
        m_held(reinterpret_cast<CompositeKey*>(shared + 16)) {
    if (group.rank() == 0) *m_holds = 0;
    group.barrier();
  }
  KOKKOS_FUNCTION void add_if(bool wanted, CompositeKey composite) {
    if (wanted) m_held[m_group.fetch_add(m_holds, 1)] = composite;
    if constexpr (Group::is_host)
      if (*m_holds == 2 * team_size) flush();
  }
  /// How many composite keys it holds; the same in all threads between two barriers.
  KOKKOS_FUNCTION int holds() const { return *m_holds; }
  /// Writes what it holds, if that is more than `most`.
  KOKKOS_FUNCTION void flush_above(int most, int holds) {
    if (holds <= most) return;
    if (m_group.rank() == 0) {
      *m_first = Kokkos::atomic_fetch_add(m_count, static_cast<Count64>(holds));
      *m_holds = 0;
      tally(Count::flushes, 1);
    }
    m_group.barrier();
    Count64 const first = *m_first;
    for (int i = m_group.rank(); i < holds; i += m_group.size())
      if (first + static_cast<Count64>(i) < m_capacity)
        m_put(static_cast<std::int64_t>(first) + i, m_held[i]);
    m_group.barrier();
  }
  KOKKOS_FUNCTION void flush() {
    m_group.barrier();
    int const all = holds();
    m_group.barrier();
    flush_above(0, all);
  }

 private:
  Group const& m_group;
  Put m_put;
  Count64* m_count;
  Count64 m_capacity;
  Count64* m_first;
  int* m_holds;
  CompositeKey* m_held;
};

/// Ends a stride in which each thread added no more than one composite key to each appender: flushes those that are
/// more than half full.
template <class Group, class First, class... More>
KOKKOS_FORCEINLINE_FUNCTION void flush_fuller(Group const& group, First& first, More&... more) {
  group.barrier();
  int const holds[] = {first.holds(), more.holds()...};
  group.barrier();
  first.flush_above(team_size, holds[0]);
  [[maybe_unused]] int i = 0;
  (more.flush_above(team_size, holds[++i]), ...);
}

/// Calls visit(read(i)) for i in begin .. end; all threads call settle() together after each stride. Reads run ahead of
/// the barriers. A team begins `lead` places earlier, where it reads nothing.
template <class Group, class Read, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void each_together(Group const& group, Range range, std::int64_t lead,
                                               Read const& read, Visit const& visit,
                                               Settle const& settle) {
  constexpr int ahead = 4;
  using CompositeKey = decltype(read(range.begin));
  for (std::int64_t first = range.begin - lead; first < range.end; first += ahead * group.size()) {
    CompositeKey composites[ahead] = {};
    for (int a = 0; a < ahead; ++a) {
      std::int64_t const i = first + a * group.size() + group.rank();
      if (i >= range.begin && i < range.end) composites[a] = read(i);
    }
    for (int a = 0; a < ahead && first + a * group.size() < range.end; ++a) {
      std::int64_t const i = first + a * group.size() + group.rank();
      if (i >= range.begin && i < range.end) visit(composites[a]);
      settle();
    }
  }
}

/// Returns true in the group that is the last of `groups` to arrive; it sees what the others wrote.
/// \param flag  in the group's shared memory
template <class Group>
KOKKOS_FUNCTION bool last_to_arrive(Group const& group, unsigned* arrived, std::int64_t groups,
                                    int* flag) {
  Kokkos::memory_fence();
  group.barrier();
  if (group.rank() == 0) {
    bool const last = Kokkos::atomic_fetch_add(arrived, 1u) + 1u == static_cast<unsigned>(groups);
    if (last) Kokkos::atomic_store(arrived, 0u);
    *flag = last;
  }
  group.barrier();
  bool const last = *flag != 0;
  group.barrier();
  Kokkos::memory_fence();
  return last;
}

}  // namespace ktopk::detail
