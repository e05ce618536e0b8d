// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ktopk/detail/counters.hpp>

#include "../lane_group.hpp"
#include "bisection_search.hpp"

// Bisection of rows that a group of lanes holds in registers. A row is read once. When few keys are left in the
// interval, they are ranked by composite key.

namespace ktopk::detail {

/// How a lane's keys are read: by loads of 16 bytes, or one by one.
enum class KeyLoads { chunks, keys };

/// Keys that are loaded together.
template <class Bits, int Size>
struct alignas(Size * sizeof(Bits)) KeyChunk {
  Bits keys[Size];
};

/// The most keys of a chunk.
template <class Bits>
inline constexpr int most_in_chunk = 16 / static_cast<int>(sizeof(Bits));

/// Ordered bits that are at least as wide as a register.
template <class Bits>
using HeldBits = std::conditional_t<sizeof(Bits) < 4, std::uint32_t, Bits>;

/// The memory that a group has to itself: first the lanes' extremes, then what is selected, part by part, and the
/// candidates.
struct LaneMemory {
  int part;        // selected keys stored at a time
  int candidates;  // so few are ranked, where lanes share that

  template <class Bits>
  int bytes(int lanes) const {
    using Held = HeldBits<Bits>;
    int const lists = (part + candidates) * static_cast<int>(sizeof(Held) + sizeof(std::uint16_t));
    int const extremes = lanes * static_cast<int>(sizeof(LaneExtremes<Held>));
    return ((lists > extremes ? lists : extremes) + 15) / 16 * 16;
  }
};

/// What is selected of a row: the keys above `most`, and of those in low .. most either the ones that reach a place or
/// the best by composite key.
template <class Bits>
struct Cut {
  Interval<Bits> in;
  int least_place;
  bool is_ranked;
};

/// The search for a row's cut. Each step counts the keys that reach a threshold, or those of the interval that reach a
/// place.
template <class Bits>
class LaneSearch {
 public:
  KOKKOS_FORCEINLINE_FUNCTION LaneSearch(OrderedBitsMap<Bits> const& rank,
                                         BisectionLimits const& limits, Interval<Bits> const& in,
                                         int k, int most_place, int candidates)
      : m_bisector(rank, limits, in.most),
        m_in(in),
        m_k(k),
        m_most_place(most_place),
        m_candidates(limits.is_exact() ? candidates : 0) {
    if (is_interval_found()) leave_interval();
  }

  KOKKOS_FUNCTION bool is_open() const { return m_stage != Stage::done; }
  KOKKOS_FUNCTION bool counts_places() const { return m_stage == Stage::places; }
  KOKKOS_FUNCTION Interval<Bits> const& interval() const { return m_in; }
  KOKKOS_FUNCTION Cut<Bits> cut() const { return {m_in, m_least_place, m_is_ranked}; }

  KOKKOS_FORCEINLINE_FUNCTION Bits threshold() const { return m_bisector.middle(m_in, m_step); }
  KOKKOS_FUNCTION int place() const {
    return m_least_place + (m_most_place - m_least_place) / 2 + 1;
  }

  KOKKOS_FORCEINLINE_FUNCTION void take_reaching(Bits threshold, int reaching) {
    m_in.take(threshold, reaching, m_k);
    ++m_step;
    if (is_interval_found()) leave_interval();
  }
  KOKKOS_FUNCTION void take_places(int place, int reaching) {
    if (reaching >= m_k - m_in.above)
      m_least_place = place;
    else
      m_most_place = place - 1;
    if (m_least_place == m_most_place) m_stage = Stage::done;
  }

 private:
  enum class Stage { interval, places, done };

  KOKKOS_FORCEINLINE_FUNCTION bool is_interval_found() const {
    return m_in.reaching - m_in.above <= m_candidates || m_bisector.is_done(m_in, m_k, m_step);
  }
  KOKKOS_FUNCTION void leave_interval() {
    bool const all = m_in.reaching <= m_k;
    m_is_ranked = !all && m_in.reaching - m_in.above <= m_candidates;
    m_stage = all || m_is_ranked || m_most_place == 0 ? Stage::done : Stage::places;
    tally(Count::iterations, m_step);
  }

  Bisector<Bits> m_bisector;
  Interval<Bits> m_in;
  int m_k;
  int m_least_place = 0;
  int m_most_place;
  int m_candidates;
  int m_step = 0;
  bool m_is_ranked = false;
  Stage m_stage = Stage::interval;
};

/// A row's ordered bits, of which each lane of a group holds up to Most.
template <class Group, class Bits, class CompositeKey, int Most>
class HeldRow {
 public:
  using Held = HeldBits<Bits>;

  KOKKOS_FORCEINLINE_FUNCTION HeldRow(Group& group, SelectedSink<Bits, CompositeKey> const& sink,
                                      int n)
      : m_group(group),
        m_sink(sink),
        m_n(n),
        m_first(chunk * group.rank()),
        m_stride(chunk * group.size()),
        m_count(count_of(n)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(KeyLoads loads) {
    Stored<Bits> const* const keys = m_sink.problem.row_keys(m_group.index());
    if (loads == KeyLoads::chunks)
      read_chunks(keys);
    else
      read_keys(keys, m_sink.problem.key_step);
    each([&](int j) {
      Held const bits = m_sink.map.rank(static_cast<Bits>(m_held[j]));
      m_held[j] = j < m_count ? bits : 0;
    });
    if (m_group.rank() == 0) tally(Count::keys_read, m_n);
  }

  KOKKOS_FORCEINLINE_FUNCTION Interval<Bits> first_interval() const {
    LaneExtremes<Held> here{std::numeric_limits<Held>::max(), 0};
    each([&](int j) {
      Held const bits = m_held[j];
      if (j < m_count) here.least = bits < here.least ? bits : here.least;
      here.greatest = bits > here.greatest ? bits : here.greatest;
    });
    LaneExtremes<Held> const all = m_group.extremes(here);
    return {static_cast<Bits>(all.least), static_cast<Bits>(all.greatest), m_n, 0};
  }

  /// How many of this lane's keys reach a threshold.
  KOKKOS_FORCEINLINE_FUNCTION int reaching(Held threshold) const {
    return passing([&](int j) { return m_held[j] >= threshold; }).count();
  }

  /// How many of this lane's keys are in an interval and reach a place.
  KOKKOS_FORCEINLINE_FUNCTION int reaching_place(Interval<Bits> const& in, int least) const {
    return passing([&](int j) {
             return m_held[j] >= in.low && m_held[j] <= in.most && place(position_of(j)) >= least;
           })
        .count();
  }

  /// Stores what is selected, a part at a time, so that neighboring lanes write neighbors.
  KOKKOS_FORCEINLINE_FUNCTION void store(Cut<Bits> const& cut, int k,
                                         LaneMemory const& memory) const {
    Held* const bits = m_group.template shared<Held>();
    List const list{bits, reinterpret_cast<std::uint16_t*>(bits + memory.part + memory.candidates)};
    auto const selected = passing([&](int j) {
      bool const is_last = !cut.is_ranked && m_held[j] >= cut.in.low;
      return m_held[j] > cut.in.most || (is_last && place(position_of(j)) >= cut.least_place);
    });
    auto const candidates = passing([&](int j) {
      return cut.is_ranked && m_held[j] >= cut.in.low && m_held[j] <= cut.in.most;
    });
    auto const here = static_cast<unsigned>(selected.count() | candidates.count() << 16);
    unsigned const before = m_group.before(here);
    int const sure = cut.is_ranked ? cut.in.above : k;
    auto const most = static_cast<int>(m_sink.problem.shape.k);
    for (int first = 0; first < most; first += memory.part) {
      int slot = static_cast<int>(before & 0xffffu) - first;
      selected.each([&](int j) {
        bool const is_of_part = static_cast<unsigned>(slot) < static_cast<unsigned>(memory.part);
        if (is_of_part) list.set(slot, m_held[j], position_of(j));
        ++slot;
      });
      int candidate = memory.part + static_cast<int>(before >> 16);
      candidates.each([&](int j) { list.set(candidate++, m_held[j], position_of(j)); });
      m_group.barrier();
      if (first == 0 && cut.is_ranked) put_best(list.from(memory.part), cut.in, k);
      put_all(list, first, sure - first < memory.part ? sure - first : memory.part);
      m_group.barrier();
    }
  }

 private:
  static constexpr int capacity = Group::template capacity<Held, Most>;
  static constexpr int chunk = most_in_chunk<Bits> < Most ? most_in_chunk<Bits> : Most;

  /// Keys and their positions, in memory that the group's lanes share.
  struct List {
    Held* bits;
    std::uint16_t* positions;
    KOKKOS_FUNCTION List from(int at) const { return {bits + at, positions + at}; }
    KOKKOS_FUNCTION void set(int at, Held key, int position) const {
      bits[at] = key;
      positions[at] = static_cast<std::uint16_t>(position);
    }
  };

  /// How many keys of the row this lane holds.
  KOKKOS_FORCEINLINE_FUNCTION int count_of(int n) const {
    int const rest = n % m_stride - m_first;
    return n / m_stride * chunk + (rest < 0 ? 0 : rest < chunk ? rest : chunk);
  }
  KOKKOS_FORCEINLINE_FUNCTION int position_of(int j) const {
    return m_first + j / chunk * m_stride + j % chunk;
  }

  /// Calls body(j) for every key that this lane may hold; the first m_count exist.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void each(Body const& body) const {
    m_group.template each_held<Most>(m_count, body);
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_keys(Stored<Bits> const* keys, std::int64_t step) {
    each([&](int j) {
      Bits key = 0;
      if (j < m_count) key = keys[position_of(j) * step];
      m_held[j] = key;
    });
  }
  /// Chunks are whole: the row's length is a multiple of their size.
  KOKKOS_FORCEINLINE_FUNCTION void read_chunks(Stored<Bits> const* keys) {
    KeyChunk<Bits, chunk> now{};
    each([&](int j) {
      if (j % chunk == 0 && j < m_count) {
        auto const* const from = keys + position_of(j);
        std::memcpy(&now, __builtin_assume_aligned(from, sizeof now), sizeof now);
      }
      m_held[j] = now.keys[j % chunk];
    });
  }

  /// Returns a greater number for the position that the tie rule prefers.
  KOKKOS_FORCEINLINE_FUNCTION int place(int position) const {
    return position ^ static_cast<int>(m_sink.map.flip);
  }

  template <class Test>
  KOKKOS_FORCEINLINE_FUNCTION auto passing(Test const& test) const {
    return m_group.template passing<Most>(m_count, test);
  }

  KOKKOS_FORCEINLINE_FUNCTION void put(int slot, Held bits, int position) const {
    m_sink.put(m_group.index(), slot,
               m_sink.map.join(static_cast<Bits>(bits), static_cast<std::uint64_t>(position)));
  }
  KOKKOS_FORCEINLINE_FUNCTION void put_all(List const& selected, int first, int count) const {
    for (int i = m_group.rank(); i < count; i += m_group.size())
      put(first + i, selected.bits[i], selected.positions[i]);
  }
  /// Puts the best candidates, each after those that are better.
  KOKKOS_FORCEINLINE_FUNCTION void put_best(List const& candidates, Interval<Bits> const& in,
                                            int k) const {
    int const count = in.reaching - in.above;
    for (int i = m_group.rank(); i < count; i += m_group.size()) {
      Held const bits = candidates.bits[i];
      int const position = candidates.positions[i];
      int better = 0;
      for (int other = 0; other < count; ++other) {
        Held const others = candidates.bits[other];
        bool const is_tie = others == bits && place(candidates.positions[other]) > place(position);
        better += others > bits || is_tie ? 1 : 0;
      }
      if (better < k - in.above) put(in.above + better, bits, position);
    }
  }

  Group& m_group;
  SelectedSink<Bits, CompositeKey> const& m_sink;
  int m_n;
  int m_first;
  int m_stride;
  int m_count;
  Held m_held[capacity];
};

template <class Bits, class CompositeKey, int Most>
struct BisectHeldRows {
  SelectedSink<Bits, CompositeKey> sink;
  BisectionLimits limits;
  KeyLoads loads;
  LaneMemory memory;
  std::int64_t longest;  // of the rows that lanes hold; longer ones are selected from elsewhere

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group& group) const {
    Problem<Bits> const& problem = sink.problem;
    std::int64_t const row = group.index();
    std::int64_t const length = row < problem.shape.rows ? problem.length(row) : 0;
    int const n = length <= longest ? static_cast<int>(length) : 0;
    int const k = n > 0 ? static_cast<int>(problem.selected_count(row)) : 0;
    HeldRow<Group, Bits, CompositeKey, Most> held(group, sink, k > 0 ? n : 0);
    held.read(loads);
    LaneSearch<Bits> search(sink.map.rank, limits, held.first_interval(), k,
                            static_cast<int>(sink.map.position_mask),
                            group.size() > 1 ? memory.candidates : 0);
    find(group, held, search);
    held.store(search.cut(), k, memory);
  }

 private:
  /// All groups of the team take as many steps as the slowest of them.
  template <class Group, class Row>
  KOKKOS_FORCEINLINE_FUNCTION void find(Group& group, Row const& held,
                                        LaneSearch<Bits>& search) const {
    while (true) {
      Bits threshold = 0;
      int place = 0, here = 0;
      if (search.counts_places()) {
        place = search.place();
        here = held.reaching_place(search.interval(), place);
      } else if (search.is_open()) {
        threshold = search.threshold();
        here = held.reaching(threshold);
      }
      LaneTotal const total = group.sum(here, search.is_open());
      if (!total.any_open) return;
      if (search.counts_places())
        search.take_places(place, total.sum);
      else if (search.is_open())
        search.take_reaching(threshold, total.sum);
    }
  }
};

}  // namespace ktopk::detail
