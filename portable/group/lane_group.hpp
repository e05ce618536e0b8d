// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <ktopk/core/unrolled.hpp>

#include "../run/launch.hpp"

// Groups of lanes: some threads of a team share a short row, and each holds some of its keys in registers. The groups
// of a team go through the same barriers, so all of them take the same steps. Lanes exchange values through the team's
// memory: Kokkos's vector reductions would compute a mask by a division in each of their steps.

namespace ktopk::detail {

inline std::atomic<int> forced_lanes{1};

/// For tests. While it lives, at least so many lanes of a device share a row that they hold in registers; a power of
/// two.
class ForceLanes {
 public:
  explicit ForceLanes(int lanes) { forced_lanes = lanes; }
  ~ForceLanes() { forced_lanes = 1; }
  ForceLanes(ForceLanes const&) = delete;
  ForceLanes& operator=(ForceLanes const&) = delete;
};

/// The result of a count: the sum over a group's lanes, and the bits of the states of all groups of the team.
struct LaneTotal {
  int sum;
  unsigned states;
};

template <class T>
struct alignas(2 * sizeof(T)) LaneExtremes {
  T least, greatest;
};

/// How a team is divided into groups. The numbers of lanes and groups are powers of two.
struct LaneLayout {
  int lanes;        // of a group
  int groups;       // of a team
  int lane_shift;   // a thread's rank in the team, shifted by so much, is its lane,
  int group_shift;  // and by so much its group, but for higher bits
  int own_bytes;    // of memory, a group's own; a multiple of 16

  KOKKOS_FUNCTION int count_slots() const { return lanes < 8 ? 8 : lanes; }
  KOKKOS_FUNCTION int flag_bytes() const { return groups < 16 ? 16 : groups; }
  KOKKOS_FUNCTION int group_bytes() const { return 8 * count_slots() + 4 * 16 + own_bytes; }
  KOKKOS_FUNCTION int team_bytes() const { return 2 * flag_bytes() + groups * group_bytes(); }
};

/// Those of the keys that a host's lane holds which reach a threshold.
template <class Key>
struct ReachingOfLone {
  Key const* keys;
  int held;
  Key threshold;

  KOKKOS_FUNCTION bool has(int j) const { return keys[j] >= threshold; }
  KOKKOS_FUNCTION int count() const {
    int reaching = 0;
    for (int j = 0; j < held; ++j) reaching += has(j) ? 1 : 0;
    return reaching;
  }
  /// Most blocks of a row have no selected key; to see that takes a vector instruction or two.
  template <class Body>
  KOKKOS_FUNCTION void each(Body const& body) const {
    int j = 0;
    for (; j + block <= held; j += block)
      if (any_of_block(j)) each_between(j, j + block, body);
    each_between(j, held, body);
  }

 private:
  static constexpr int block = 32;

  KOKKOS_FUNCTION bool any_of_block(int first) const {
    unsigned any = 0;
    for (int j = 0; j < block; ++j) any |= has(first + j) ? 1u : 0u;
    return any != 0;
  }
  template <class Body>
  KOKKOS_FUNCTION void each_between(int begin, int end, Body const& body) const {
    for (int j = begin; j < end; ++j)
      if (has(j)) body(j);
  }
};

/// The keys of one set that are not in another, which is a part of it, and pass a test.
template <class Key, class Test>
struct RestOfLone {
  ReachingOfLone<Key> all, without;
  Test test;

  KOKKOS_FUNCTION int count() const {
    if (test.passes_all()) return all.count() - without.count();
    int rest = 0;
    each([&](int) { ++rest; });
    return rest;
  }
  template <class Body>
  KOKKOS_FUNCTION void each(Body const& body) const {
    all.each([&](int j) {
      if (!(j < without.held && without.has(j)) && test(j)) body(j);
    });
  }
};

/// Those keys of a set that have the numbers begin .. end - 1 in it.
template <class Keys>
struct SliceOfLone {
  Keys keys;
  int begin, end;
  template <class Body>
  KOKKOS_FUNCTION void each(Body const& body) const {
    int number = 0;
    keys.each([&](int j) {
      if (number >= begin && number < end) body(j);
      ++number;
    });
  }
};

/// Some of the keys that a device's lane holds: a mask, which takes fewer instructions than a sum.
template <int Most>
struct KeyMask {
  static_assert(Most <= 32);
  std::uint32_t mask;

  KOKKOS_FORCEINLINE_FUNCTION int count() const {
    return Kokkos::Experimental::popcount_builtin(mask);
  }
  /// Calls body(j) for each of them, in order; j is a constant.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void each(Body const& body) const {
    unrolled<Most>([&](auto j) {
      if ((mask >> j & 1u) != 0) body(j);
    });
  }
};

/// The only lane of a host: a thread that holds all keys of a row.
class LoneLane : public ThreadGroup {
 public:
  using ThreadGroup::ThreadGroup;
  /// How many keys this lane can hold; a device's holds Most.
  template <class Key, int Most>
  static constexpr int capacity = 32 * 1024 / static_cast<int>(sizeof(Key));

  template <int Most, class Body>
  KOKKOS_FUNCTION static void each_held(int count, Body const& body) {
    for (int j = 0; j < count; ++j) body(j);
  }
  /// Those of the first `count` keys that reach a threshold.
  template <int Most, class Key>
  KOKKOS_FUNCTION static ReachingOfLone<Key> reaching(Key const* keys, int count, Key threshold) {
    return {keys, count, threshold};
  }
  /// The keys of one set that are not in another, which is a part of it, and pass a test.
  template <class Key, class Test>
  KOKKOS_FUNCTION static auto rest(ReachingOfLone<Key> const& all,
                                   ReachingOfLone<Key> const& without, Test const& test) {
    return RestOfLone<Key, Test>{all, without, test};
  }
  template <class Keys>
  KOKKOS_FUNCTION static auto slice(Keys const& keys, int begin, int end) {
    return SliceOfLone<Keys>{keys, begin, end};
  }
  KOKKOS_FUNCTION int lane_bits() const { return 0; }
  KOKKOS_FUNCTION bool is_alone() const { return true; }
  KOKKOS_FUNCTION LaneTotal sum(int here, unsigned state) { return {here, state}; }
  template <class T>
  KOKKOS_FUNCTION LaneExtremes<T> extremes(LaneExtremes<T> here) const {
    return here;
  }
  KOKKOS_FUNCTION unsigned before(unsigned) const { return 0; }
};

template <class Member>
class LaneGroup {
 public:
  template <class Key, int Most>
  static constexpr int capacity = Most;

  KOKKOS_FORCEINLINE_FUNCTION LaneGroup(Member const& member, LaneLayout const& layout,
                                        std::int64_t first, std::byte* team_memory)
      : m_member(member),
        m_layout(layout),
        m_rank((member.team_rank() >> layout.lane_shift) & (layout.lanes - 1)),
        m_number((member.team_rank() >> layout.group_shift) & (layout.groups - 1)),
        m_index((first + member.league_rank()) * layout.groups + m_number),
        m_flags(team_memory) {
    std::byte* const memory =
        team_memory + 2 * layout.flag_bytes() + m_number * layout.group_bytes();
    m_counts = reinterpret_cast<std::uint16_t*>(memory);
    m_partial = m_counts + 2 * layout.count_slots();
    m_scanned = reinterpret_cast<unsigned*>(m_partial + 2 * 16);
    m_own = reinterpret_cast<std::byte*>(m_scanned + layout.count_slots());
    clear();
  }

  KOKKOS_FUNCTION std::int64_t index() const { return m_index; }
  KOKKOS_FUNCTION int rank() const { return m_rank; }
  KOKKOS_FUNCTION int size() const { return m_layout.lanes; }
  KOKKOS_FUNCTION void barrier() const { m_member.team_barrier(); }
  template <class T>
  KOKKOS_FUNCTION T* shared(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(m_own + offset);
  }

  /// Calls body(j) for the keys that a lane holds. The calls are unrolled, so that the keys stay in registers.
  template <int Most, class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void each_held(int, Body const& body) {
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL)
#pragma unroll
#endif
    for (int j = 0; j < Most; ++j) body(j);
  }
  /// Those of the first `count` keys that reach a threshold.
  template <int Most, class Key>
  KOKKOS_FORCEINLINE_FUNCTION static KeyMask<Most> reaching(Key const* keys, int count,
                                                            Key threshold) {
    std::uint32_t mask = 0;
    each_held<Most>(count,
                    [&](int j) { mask |= static_cast<std::uint32_t>(keys[j] >= threshold) << j; });
    return {count == 0 ? 0u : mask & (~std::uint32_t{0} >> (32 - count))};
  }
  /// The keys of one set that are not in another, which is a part of it, and pass a test.
  template <int Most, class Test>
  KOKKOS_FORCEINLINE_FUNCTION static KeyMask<Most> rest(KeyMask<Most> all, KeyMask<Most> without,
                                                        Test const& test) {
    std::uint32_t mask = all.mask & ~without.mask;
    if (!test.passes_all())
      each_held<Most>(Most, [&](int j) {
        if (!test(j)) mask &= ~(std::uint32_t{1} << j);
      });
    return {mask};
  }
  /// Those keys of a set that have the numbers begin .. end - 1 in it; mostly, these are all.
  template <int Most>
  KOKKOS_FORCEINLINE_FUNCTION static KeyMask<Most> slice(KeyMask<Most> keys, int begin, int end) {
    std::uint32_t from = keys.mask;
    for (int i = 0; i < begin && from != 0; ++i) from &= from - 1;
    if (end >= keys.count()) return {from};
    std::uint32_t behind = keys.mask;
    for (int i = 0; i < end && behind != 0; ++i) behind &= behind - 1;
    return {from & ~behind};
  }
  KOKKOS_FORCEINLINE_FUNCTION int lane_bits() const {
    return Kokkos::Experimental::popcount_builtin(static_cast<unsigned>(m_layout.lanes - 1));
  }
  /// Whether the team has no other group.
  KOKKOS_FORCEINLINE_FUNCTION bool is_alone() const { return m_layout.groups == 1; }

  /// Adds numbers whose sum is below 2^16. It uses two buffers by turns: a slow lane may still read the previous one.
  /// \param state  of the group, below 2^8
  KOKKOS_FORCEINLINE_FUNCTION LaneTotal sum(int here, unsigned state) {
    m_turn = 1 - m_turn;
    std::byte* const flags = m_flags + m_turn * m_layout.flag_bytes();
    std::uint16_t* const counts = m_counts + m_turn * m_layout.count_slots();
    if (m_rank == 0) flags[m_number] = static_cast<std::byte>(state);
    counts[m_rank] = static_cast<std::uint16_t>(here);
    barrier();
    if (m_layout.lanes <= few) return {sum_of(counts, m_layout.count_slots()), union_of(flags)};
    if (m_rank < 16)
      m_partial[m_rank] = static_cast<std::uint16_t>(
          sum_of(counts + m_rank * (m_layout.lanes / 16), m_layout.lanes / 16));
    barrier();
    return {sum_of(m_partial, 16), union_of(flags)};
  }

  /// Uses the group's own memory, two T for each lane.
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION LaneExtremes<T> extremes(LaneExtremes<T> here) const {
    auto* const all = shared<LaneExtremes<T>>();
    all[m_rank] = here;
    barrier();
    if (m_layout.lanes <= few) return extremes_of(all, 0, m_layout.lanes, 1);
    if (m_rank < 16) all[m_rank] = extremes_of(all, m_rank, m_layout.lanes, 16);
    barrier();
    return extremes_of(all, 0, 16, 1);
  }

  /// The sum over the lanes before this one.
  KOKKOS_FORCEINLINE_FUNCTION unsigned before(unsigned here) const {
    m_scanned[m_rank] = here;
    barrier();
    if (m_layout.lanes <= few) return sum_of(m_scanned, 0, m_rank);
    int const part = m_layout.lanes / 16;
    auto* const parts = reinterpret_cast<unsigned*>(m_partial);
    if (m_rank < 16) parts[m_rank] = sum_of(m_scanned, m_rank * part, m_rank * part + part);
    barrier();
    return sum_of(parts, 0, m_rank / part) + sum_of(m_scanned, m_rank / part * part, m_rank);
  }

 private:
  static constexpr int few = 64;
  struct alignas(16) Words {
    std::uint32_t at[4];
  };

  /// Clears all counts and flags: some are never written, but added up with the rest.
  KOKKOS_FORCEINLINE_FUNCTION void clear() const {
    for (int i = m_rank; i < 2 * m_layout.count_slots(); i += m_layout.lanes) m_counts[i] = 0;
    for (int i = m_member.team_rank(); i < 2 * m_layout.flag_bytes(); i += m_member.team_size())
      m_flags[i] = std::byte{0};
    barrier();
  }
  KOKKOS_FORCEINLINE_FUNCTION static unsigned sum_of(unsigned const* numbers, int begin, int end) {
    unsigned sum = 0;
    for (int i = begin; i < end; ++i) sum += numbers[i];
    return sum;
  }
  /// Adds a multiple of 8 numbers, two in a word; the sum is below 2^16. Mostly there are 8, so unrolling does not pay.
  KOKKOS_FORCEINLINE_FUNCTION static int sum_of(std::uint16_t const* counts, int count) {
    std::uint32_t sum = 0;
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL)
#pragma unroll 1
#endif
    for (int i = 0; i < count; i += 8) {
      Words const words = *reinterpret_cast<Words const*>(counts + i);
      sum += words.at[0] + words.at[1] + words.at[2] + words.at[3];
    }
    return static_cast<int>((sum & 0xffffu) + (sum >> 16));
  }
  KOKKOS_FORCEINLINE_FUNCTION unsigned union_of(std::byte const* flags) const {
    std::uint32_t any = 0;
#if defined(KOKKOS_ENABLE_PRAGMA_UNROLL)
#pragma unroll 1
#endif
    for (int i = 0; i < m_layout.groups; i += 16) {
      Words const words = *reinterpret_cast<Words const*>(flags + i);
      any |= words.at[0] | words.at[1] | words.at[2] | words.at[3];
    }
    any |= any >> 16;
    return (any | any >> 8) & 0xffu;
  }
  template <class T>
  KOKKOS_FORCEINLINE_FUNCTION static LaneExtremes<T> extremes_of(LaneExtremes<T> const* all,
                                                                 int begin, int end, int step) {
    LaneExtremes<T> found = all[begin];
    for (int i = begin + step; i < end; i += step) {
      LaneExtremes<T> const other = all[i];
      found.least = other.least < found.least ? other.least : found.least;
      found.greatest = other.greatest > found.greatest ? other.greatest : found.greatest;
    }
    return found;
  }

  Member const& m_member;
  LaneLayout const& m_layout;
  int m_rank;
  int m_number;
  std::int64_t m_index;
  std::byte* m_flags;
  std::uint16_t* m_counts;
  std::uint16_t* m_partial;
  unsigned* m_scanned;
  std::byte* m_own;
  int m_turn = 0;
};

template <class Body>
struct OnLoneLane {
  Body body;
  int own_bytes;
  void operator()(std::int64_t index) const {
    ThreadArray<std::byte> const own(own_bytes);
    LoneLane lane(index, own.get(), own_bytes);
    body(lane);
  }
};

template <class Body>
struct OnLanes {
  Body body;
  LaneLayout layout;
  std::int64_t first = 0;  // of the teams
  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    auto* const memory = static_cast<std::byte*>(
        member.team_shmem().get_shmem_aligned(static_cast<std::size_t>(layout.team_bytes()), 16));
    LaneGroup<Member> group(member, layout, first, memory);
    body(group);
  }
};

/// The most threads of a team that is divided into groups of lanes. Three such teams must fit the registers of a
/// processor: so many threads hide the latency of each other's steps.
inline constexpr int most_lanes = 256;

enum class Neighbors { lanes, groups };

/// How teams are divided if `lanes` threads hold a row. If neighbors in memory belong to one row, a team has no more
/// threads than a device runs in step, so that its barriers are cheap; otherwise a team has at least four rows.
/// \param in_step  threads that the device runs in step
inline LaneLayout lane_layout(int in_step, int lanes, Neighbors neighbors, int own_bytes) {
  int groups = lanes < in_step ? in_step / lanes : 1;
  auto const log2 = [](int power) { return std::countr_zero(static_cast<unsigned>(power)); };
  if (neighbors == Neighbors::lanes) return {lanes, groups, 0, log2(lanes), own_bytes};
  while (groups < 4 && 2 * groups * lanes <= most_lanes && 2 * groups * own_bytes <= 24 * 1024)
    groups *= 2;
  return {lanes, groups, log2(groups), 0, own_bytes};
}

/// On a host, what most devices run in step: there a layout is only checked.
template <class Exec>
int threads_in_step() {
  return is_host_space<Exec> ? 32 : Kokkos::TeamPolicy<Exec>::vector_length_max();
}

/// Enqueues at least `groups` groups of lanes that call body(group).
template <class Exec, class Body>
void launch_lanes(char const* label, Exec const& exec, std::int64_t groups, int lanes,
                  Neighbors neighbors, int own_bytes, Body const& body) {
  if (groups == 0) return;
  LaneLayout const layout = lane_layout(threads_in_step<Exec>(), lanes, neighbors, own_bytes);
  check_shared_bytes(label, layout.lanes * layout.groups, layout.team_bytes());
  if constexpr (is_host_space<Exec>) {
    host::launch(label, exec, groups, OnLoneLane<Body>{body, own_bytes});
  } else {
    std::int64_t const teams = (groups + layout.groups - 1) / layout.groups;
    for_each_portion(teams, most_teams, [&](std::int64_t first, std::int64_t count) {
      Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<most_lanes, 3>> policy(
          exec, static_cast<int>(count), layout.lanes * layout.groups);
      policy.set_scratch_size(0, Kokkos::PerTeam(layout.team_bytes() + 16));
      Kokkos::parallel_for(label, as_argument(policy), OnLanes<Body>{body, layout, first});
    });
  }
}

}  // namespace ktopk::detail
