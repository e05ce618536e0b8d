// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/detail/backend.hpp>

#include "../backends/host/memory.hpp"
#include "../backends/host/shares.hpp"
#include "counters.hpp"

// A group is what works on one part of a row: one thread on a host, a team on a device. Implementations are
// written once on groups; on a host every helper below is a plain loop or nothing at all.

namespace ktopk::detail {

/// What many groups count with. Kokkos adds to it by one instruction; to the other unsigned type of
/// 64 bits, on CUDA unsigned long long and on HIP std::uint64_t, by exchanging until nobody came between,
/// which takes ever longer the more threads meet at one counter.
#if defined(KOKKOS_ENABLE_HIP)
using Count64 = unsigned long long;
#else
using Count64 = std::uint64_t;
#endif

inline constexpr int team_size = 256;

class ThreadGroup {
 public:
  static constexpr bool is_host = true;
  /// How many neighbors in memory a thread had better take side by side. On a device neighboring threads do so.
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

 private:
  Member const& m_member;
  std::int64_t m_first;
  std::byte* m_shared;
};

/// Calls body(i) for i in begin .. end, the group's threads side by side.
template <class Group, class Body>
KOKKOS_FORCEINLINE_FUNCTION void each(Group const& group, std::int64_t begin, std::int64_t end,
                                      Body const& body) {
  for (std::int64_t i = begin + group.rank(); i < end; i += group.size()) body(i);
}

template <class Body>
struct OnThreads {
  Body body;
  HostShares* shares;
  HostMemory memory;
  int shared_bytes;
  void operator()(std::int64_t thread) const {
    UseThreadMemory const use(memory.part(thread));
    ThreadArray<std::byte> const shared(shared_bytes);
    shares->work(thread,
                 [&](std::int64_t index) { body(ThreadGroup(index, shared.get(), shared_bytes)); });
  }
};

template <class Body>
struct OnTeams {
  Body body;
  int shared_bytes;
  std::int64_t first = 0;  // of the groups
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const shared = static_cast<std::byte*>(
        member.team_shmem().get_shmem_aligned(static_cast<std::size_t>(shared_bytes), 16));
    body(TeamGroup<Member>(member, first, shared));
  }
};

/// Spaces whose kernels are over when the call that launches them returns. There the host may look at
/// what they wrote, and need not launch what would do nothing.
template <class Exec>
inline constexpr bool runs_at_once = false
#if defined(KOKKOS_ENABLE_SERIAL)
                                     || std::is_same_v<Exec, Kokkos::Serial>
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
                                     || std::is_same_v<Exec, Kokkos::OpenMP>
#endif
#if defined(KOKKOS_ENABLE_THREADS)
                                     || std::is_same_v<Exec, Kokkos::Threads>
#endif
    ;

/// The policy with its functor passed as a kernel's argument. Kokkos else copies one of more than 512 bytes
/// to a GPU's constant memory, which waits for the kernel before and cannot be captured in a graph.
template <class Policy>
auto as_argument(Policy const& policy) {
  return Kokkos::Experimental::require(policy,
                                       Kokkos::Experimental::WorkItemProperty::HintLightWeight);
}

/// Calls body() as a kernel of this name. One thread's work is too little to wake the others for.
template <class Exec, class Body>
void call_alone(char const* label, Exec const& exec, Body const& body) {
  bool const is_watched = Kokkos::Tools::profileLibraryLoaded();
  std::uint64_t kernel = 0;
  if (is_watched)
    Kokkos::Tools::beginParallelFor(label, Kokkos::Tools::Experimental::device_id(exec), &kernel);
  body();
  if (is_watched) Kokkos::Tools::endParallelFor(kernel);
}

/// Calls body(first, count) for parts of 0 .. total, each of at most `most`.
template <class Body>
void for_each_portion(std::int64_t total, std::int64_t most, Body const& body) {
  for (std::int64_t first = 0; first < total; first += most)
    body(first, total - first < most ? total - first : most);
}

/// Of one launch. Some devices number no more threads, and a TeamPolicy counts its teams by an int.
inline constexpr std::int64_t most_teams = std::numeric_limits<int>::max() / team_size;

/// Enqueues `groups` groups that call body(group), each with `shared_bytes` of memory of its own.
template <class Exec, class Body>
void launch(char const* label, Exec const& exec, std::int64_t groups, int shared_bytes,
            Body const& body) {
  if (groups == 0) return;
  if constexpr (is_host_space<Exec>) {
    static_assert(runs_at_once<Exec>);
    HostMemory const memory = call_memory;
    std::int64_t const all = exec.concurrency();
    HostShares shares(groups, memory.threads > 0 ? std::min(all, memory.threads) : all);
    OnThreads<Body> const on_threads{body, &shares, memory, shared_bytes};
    if (shares.threads() == 1) return call_alone(label, exec, [&] { on_threads(0); });
    Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0,
                                                                            shares.threads());
    Kokkos::parallel_for(label, policy, on_threads);
  } else {
    for_each_portion(groups, most_teams, [&](std::int64_t first, std::int64_t count) {
      Kokkos::TeamPolicy<Exec> policy(exec, static_cast<int>(count), team_size);
      policy.set_scratch_size(0, Kokkos::PerTeam(shared_bytes + 16));
      Kokkos::parallel_for(label, as_argument(policy), OnTeams<Body>{body, shared_bytes, first});
    });
  }
}

/// Enqueues body(i) for i in 0 .. count, independent of each other. A host does a single one at once: it is too
/// little to wake threads for.
template <class Exec, class Body>
void launch_each(char const* label, Exec const& exec, std::int64_t count, Body const& body) {
  if (count == 0) return;
  if constexpr (runs_at_once<Exec>)
    if (count == 1) return body(std::int64_t{0});
  Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>> const policy(exec, 0, count);
  Kokkos::parallel_for(label, as_argument(policy), body);
}

template <class Body>
struct OfGroupIndex {
  Body body;
  void operator()(ThreadGroup const& group) const { body(group.index()); }
};

/// The same on a host for what needs arrays of its thread.
template <class Exec, class Body>
void launch_each_with_arrays(char const* label, Exec const& exec, std::int64_t count,
                             Body const& body) {
  launch(label, exec, count, 0, OfGroupIndex<Body>{body});
}

/// How many groups fill the device.
inline std::int64_t groups_on(Device const& device) {
  return device.host ? 4 * device.concurrency : device.concurrency / team_size;
}

/// How many keys are worth a group.
inline std::int64_t smallest_part(Device const& device) { return device.host ? 32768 : 8192; }

/// How many groups share a row, so that the device is full and no part is tiny.
inline std::int64_t parts_of_row(Device const& device, std::int64_t rows, std::int64_t n) {
  std::int64_t const by_size = n / smallest_part(device);
  std::int64_t const by_device = rows > 0 ? groups_on(device) / rows : 1;
  std::int64_t const parts = by_size < by_device ? by_size : by_device;
  return parts > 1 ? parts : 1;
}

struct Range {
  std::int64_t begin, end;
};

/// The `part`-th of `parts` contiguous ranges of 0 .. n, cut at multiples of 64.
KOKKOS_INLINE_FUNCTION Range part_of(std::int64_t n, std::int64_t part, std::int64_t parts) {
  std::int64_t const length = ((n + parts - 1) / parts + 63) / 64 * 64;
  std::int64_t const begin = part * length < n ? part * length : n;
  std::int64_t const end = begin + length < n ? begin + length : n;
  return {begin, end};
}

template <class Item>
struct PutInList {
  Item* list;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, Item item) const { list[slot] = item; }
};

/// `size` places cut into strata of equal length (and a rest that is shorter than one of them).
class Strata {
 public:
  KOKKOS_FUNCTION Strata(std::int64_t size, std::int64_t count)
      : m_length(static_cast<std::uint64_t>(size / count)) {}
  std::int64_t length() const { return static_cast<std::int64_t>(m_length); }
  /// A well-mixed place in stratum i: the finalizer of SplitMix64, scaled to the length.
  KOKKOS_FUNCTION std::int64_t place(std::int64_t i, int pass = 0) const {
    std::uint64_t x = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull +
                      static_cast<std::uint64_t>(pass) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    x ^= x >> 31;
    auto const within = static_cast<std::uint64_t>((Item128{x} * m_length) >> 64);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * m_length + within);
  }
  /// The stratum of a place; that of the rest comes after all others.
  KOKKOS_FUNCTION std::int64_t of(std::int64_t place) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(place) / m_length);
  }

 private:
  std::uint64_t m_length;
};

/// What an Appender of a team needs of the memory that the team shares.
template <class Item>
KOKKOS_FUNCTION constexpr int appender_bytes() {
  return 2 * team_size * static_cast<int>(sizeof(Item)) + 16;
}

/// Appends items to what many groups fill by put(slot, item). It gathers them first, so that groups seldom
/// meet at the counter and write neighbors together: a team up to 2 * team_size of them, written out when
/// more than half are held (RadiK 3.1.2). `capacity` bounds what is put, not what is counted.
/// A team constructs and flushes it together, and calls flush_fuller after each stride.
template <class Item, class Group, class Put = PutInList<Item>>
class Appender {
 public:
  /// \param shared  appender_bytes<Item>() that the group shares, as aligned as an Item
  KOKKOS_FUNCTION Appender(Group const& group, std::byte* shared, Put const& put, Count64* count,
                           std::int64_t capacity)
      : m_group(group),
        m_put(put),
        m_count(count),
        m_capacity(static_cast<Count64>(capacity)),
        m_first(reinterpret_cast<Count64*>(shared)),
        m_holds(reinterpret_cast<int*>(m_first + 1)),
        m_held(reinterpret_cast<Item*>(shared + 16)) {
    if (group.rank() == 0) *m_holds = 0;
    group.barrier();
  }
  KOKKOS_FUNCTION void add_if(bool wanted, Item item) {
    if (wanted) m_held[m_group.fetch_add(m_holds, 1)] = item;
  }
  /// How many items are held; the same in all threads between two barriers.
  KOKKOS_FUNCTION int holds() const { return *m_holds; }
  /// Writes out what is held, if it is more than `most`.
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
  Item* m_held;
};

/// A thread's holds its items itself and writes them out when it is full.
template <class Item, class Put>
class Appender<Item, ThreadGroup, Put> {
 public:
  KOKKOS_FUNCTION Appender(ThreadGroup const&, std::byte*, Put const& put, Count64* count,
                           std::int64_t capacity)
      : m_put(put), m_count(count), m_capacity(static_cast<Count64>(capacity)) {}
  /// Without a branch on `wanted`, which nobody can foretell.
  KOKKOS_FUNCTION void add_if(bool wanted, Item item) {
    m_held[m_holds] = item;
    m_holds += wanted;
    if (m_holds == room) flush();
  }
  /// Adds which of item(0) .. item(count - 1) reach `least`, to `winners` which reach `certain`; returns the best of
  /// all.
  template <class MakeItem, class Winners>
  Item add_reaching(int count, Item least, Item certain, MakeItem const& item, Winners& winners) {
    constexpr int stride = room / 2;
    Item best = 0;
    for (int first = 0; first < count; first += stride) {
      if (m_holds > room - stride) flush();
      if (winners.m_holds > room - stride) winners.flush();
      int const end = first + stride < count ? first + stride : count;
      int holds = m_holds,
          wins = winners.m_holds;  // copies that no store can change stay in registers
      for (int i = first; i < end; ++i) {
        Item const next = m_held[holds] = winners.m_held[wins] = item(i);
        best = next > best ? next : best;
        holds += next >= least && next < certain;
        wins += next >= certain;
      }
      m_holds = holds;
      winners.m_holds = wins;
    }
    return best;
  }
  KOKKOS_FUNCTION void flush() {
    if (m_holds == 0) return;
    auto const count = static_cast<Count64>(m_holds);
    Count64 const slot = Kokkos::atomic_fetch_add(m_count, count);
    Count64 const room_left = slot < m_capacity ? m_capacity - slot : 0;
    Put const put = m_put;  // a copy that no store can change stays in registers
    auto const puts = static_cast<int>(count < room_left ? count : room_left);
    if constexpr (requires { put.many(std::int64_t{}, m_held, puts); }) {
      KOKKOS_IF_ON_HOST((put.many(static_cast<std::int64_t>(slot), m_held, puts);))
    } else {
      for (int i = 0; i < puts; ++i) put(static_cast<std::int64_t>(slot) + i, m_held[i]);
    }
    m_holds = 0;
    tally(Count::flushes, 1);
  }

  static constexpr int room = 256;

 private:
  template <class, class, class>
  friend class Appender;

  Put m_put;
  Count64* m_count;
  Count64 m_capacity;
  int m_holds = 0;
  Item m_held[room + 1];
};

/// Ends a stride in which each thread added no more than one item to each: writes out whose buffers are
/// more than half full.
template <class Group, class First, class... More>
KOKKOS_FORCEINLINE_FUNCTION void flush_fuller(Group const& group, First& first, More&... more) {
  if constexpr (!Group::is_host) {
    group.barrier();
    int const holds[] = {first.holds(), more.holds()...};
    group.barrier();
    first.flush_above(group.size(), holds[0]);
    int i = 0;
    (more.flush_above(group.size(), holds[++i]), ...);
  }
}

/// Calls visit(read(i)) for i in begin .. end, and settle() by all threads together after each stride. Reads
/// run ahead of the barriers. A team begins `lead` places earlier, with nothing there.
template <class Group, class Read, class Visit, class Settle>
KOKKOS_FORCEINLINE_FUNCTION void each_together(Group const& group, Range range, std::int64_t lead,
                                               Read const& read, Visit const& visit,
                                               Settle const& settle) {
  if constexpr (Group::is_host) {
    for (std::int64_t i = range.begin; i < range.end; ++i) visit(read(i));
  } else {
    constexpr int ahead = 4;
    using Item = decltype(read(range.begin));
    for (std::int64_t first = range.begin - lead; first < range.end;
         first += ahead * group.size()) {
      Item items[ahead] = {};
      for (int a = 0; a < ahead; ++a) {
        std::int64_t const i = first + a * group.size() + group.rank();
        if (i >= range.begin && i < range.end) items[a] = read(i);
      }
      for (int a = 0; a < ahead && first + a * group.size() < range.end; ++a) {
        std::int64_t const i = first + a * group.size() + group.rank();
        if (i >= range.begin && i < range.end) visit(items[a]);
        settle();
      }
    }
  }
}

/// True in the group that is the last of `groups` to come here; what the others wrote is then visible.
/// `flag` is memory that the group shares.
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
