// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ktopk/core/counters.hpp>

#include "../group/lane_group.hpp"
#include "search.hpp"

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

/// A held key above its place, by which the tie rule orders equal keys: one integer.
template <class Held>
using ListedKey = std::conditional_t<sizeof(Held) == 8, CompositeKey128, CompositeKey64>;

/// The memory that a group has to itself: first the lanes' extremes, then what is selected, part by part, and the
/// candidates.
struct LaneMemory {
  int part;        // selected keys stored at a time
  int candidates;  // so few are ranked, where lanes share that

  template <class Bits>
  int bytes(int lanes) const {
    using Held = HeldBits<Bits>;
    int const lists = (part + candidates) * static_cast<int>(sizeof(ListedKey<Held>));
    int const extremes = lanes * static_cast<int>(sizeof(LaneExtremes<Held>));
    return ((lists > extremes ? lists : extremes) + 15) / 16 * 16;
  }
};

/// Whether a lane's keys reach a place. The tie rule prefers the greater.
struct PlaceTest {
  int lane_place, stride, chunk, least;

  KOKKOS_FORCEINLINE_FUNCTION bool passes_all() const { return least == 0; }
  /// Lane, stride and place within a chunk have no bit in common.
  KOKKOS_FORCEINLINE_FUNCTION int place(int j) const {
    return lane_place ^ (j / chunk * stride) ^ (j % chunk);
  }
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(int j) const { return place(j) >= least; }
};

/// The search for a row's cut: what is above `most` is selected, and of the keys in low .. most either those that reach
/// a place or the best by composite key. Each step counts the keys that reach a threshold, or those of the interval
/// that reach a place. A lane remembers which of its keys reach the interval and which are above.
template <class Bits, class Keys>
class LaneSearch {
 public:
  enum State : unsigned { done = 0, open = 1, counts_places = 2 };

  KOKKOS_FORCEINLINE_FUNCTION LaneSearch(OrderedBitsMap<Bits> const& rank,
                                         BisectionLimits const& limits, Interval<Bits> const& in,
                                         int k, int most_place, int candidates, Keys const& all,
                                         Keys const& none)
      : m_bisector(rank, limits, in.most),
        m_in(in),
        m_reaching(all),
        m_above(none),
        m_k(k),
        m_most_place(most_place),
        m_candidates(limits.is_exact() ? candidates : 0),
        m_is_estimate(limits.is_exact()) {
    if (is_interval_found()) leave_interval();
  }

  KOKKOS_FORCEINLINE_FUNCTION State state() const { return m_state; }
  KOKKOS_FORCEINLINE_FUNCTION Interval<Bits> const& interval() const { return m_in; }
  KOKKOS_FORCEINLINE_FUNCTION Keys const& reaching() const { return m_reaching; }
  KOKKOS_FORCEINLINE_FUNCTION Keys const& above() const { return m_above; }
  KOKKOS_FORCEINLINE_FUNCTION bool is_ranked() const { return m_is_ranked; }
  KOKKOS_FORCEINLINE_FUNCTION int least_place() const { return m_least_place; }

  /// If the k-th key is in the lowest eighth of an interval whose low end is not counted, that end is counted next.
  KOKKOS_FORCEINLINE_FUNCTION Bits threshold() const {
    return m_step == 3 && m_is_estimate ? m_in.low : m_bisector.middle(m_in, m_step);
  }
  KOKKOS_FUNCTION int place() const {
    return m_least_place + (m_most_place - m_least_place) / 2 + 1;
  }

  KOKKOS_FORCEINLINE_FUNCTION void take(Bits threshold, int reaching, Keys const& keys) {
    m_in.take(threshold, reaching, m_k);
    if (reaching >= m_k) {
      m_reaching = keys;
      m_is_estimate = false;
    } else {
      m_above = keys;
    }
    ++m_step;
    if (is_interval_found()) leave_interval();
  }
  /// Before places are counted: the low end of a bracket may never have been counted.
  KOKKOS_FORCEINLINE_FUNCTION void set_reaching(Keys const& keys) { m_reaching = keys; }
  KOKKOS_FUNCTION void take_place(int place, int reaching) {
    if (reaching >= m_k - m_in.above)
      m_least_place = place;
    else
      m_most_place = place - 1;
    if (m_least_place == m_most_place) m_state = done;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool is_interval_found() const {
    return m_in.reaching - m_in.above <= m_candidates || m_bisector.is_done(m_in, m_k, m_step);
  }
  KOKKOS_FORCEINLINE_FUNCTION void leave_interval() {
    bool const all = m_in.reaching <= m_k;
    m_is_ranked = !all && m_in.reaching - m_in.above <= m_candidates;
    m_state = all || m_is_ranked || m_most_place == 0 ? done : counts_places;
    tally(Count::iterations, m_step);
  }

  Bisector<Bits> m_bisector;
  Interval<Bits> m_in;
  Keys m_reaching;
  Keys m_above;
  int m_k;
  int m_least_place = 0;
  int m_most_place;
  int m_candidates;
  bool m_is_estimate;  // the interval may say that more keys reach it than do
  int m_step = 0;
  bool m_is_ranked = false;
  State m_state = open;
};

/// The sink of one row, in which that is row 0: where the row begins is computed once.
template <class Bits, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION SelectedSink<StoredRows<Bits>, CompositeKey> sink_of_row(
    SelectedSink<StoredRows<Bits>, CompositeKey> const& sink, std::int64_t row) {
  SelectedSink<StoredRows<Bits>, CompositeKey> of_row = sink;
  StoredProblem<Bits>& problem = of_row.problem;
  problem.rows.keys = sink.problem.rows.pointer(row);
  problem.rows.offsets = problem.rows.ends = {};
  if (problem.out.values) problem.out.values += row * problem.out.value_row;
  if (problem.out.indices)
    problem.out.indices = static_cast<std::byte*>(problem.out.indices) +
                          row * problem.out.index_row * problem.shape.index_bytes;
  if (of_row.composites != nullptr) of_row.composites += row * problem.shape.k;
  return of_row;
}

/// A row's ordered bits, of which each lane of a group holds up to Most.
template <class Group, class Bits, class CompositeKey, int Most>
class HeldRow {
 public:
  using Held = HeldBits<Bits>;
  using Keys =
      decltype(Group::template reaching<Most>(static_cast<Held const*>(nullptr), 0, Held{}));

  KOKKOS_FORCEINLINE_FUNCTION HeldRow(Group& group,
                                      SelectedSink<StoredRows<Bits>, CompositeKey> const& sink,
                                      int n)
      : m_group(group),
        m_sink(sink),
        m_n(n),
        m_first(chunk * group.rank()),
        m_stride(chunk * group.size()),
        m_whole(n >> (chunk_bits + group.lane_bits())),
        m_count(count_of(n)) {}

  KOKKOS_FORCEINLINE_FUNCTION void read(KeyLoads loads) {
    Stored<Bits> const* const keys = m_sink.problem.rows.pointer(row());
    if (loads == KeyLoads::chunks)
      read_chunks(keys);
    else
      read_keys(keys, m_sink.problem.rows.step);
    rank();
    if (m_group.rank() == 0) tally(Count::keys_read, m_n);
  }

  /// The interval from the row's minimum, or from a threshold that k keys reach, to its maximum.
  KOKKOS_FORCEINLINE_FUNCTION Interval<Bits> first_interval(int k, bool is_exact) const {
    Held best[most_groups] = {};
    each([&](int j) { best[j % most_groups] = greater(best[j % most_groups], m_held[j]); });
    int const groups = is_exact ? groups_for(k) : 0;
    LaneExtremes<Held> here{groups == 0 ? least() : least_maximum(best, groups), 0};
    for (int i = 0; i < most_groups; ++i) here.greatest = greater(here.greatest, best[i]);
    LaneExtremes<Held> const all = m_group.extremes(here);
    return {static_cast<Bits>(all.least), static_cast<Bits>(all.greatest), m_n, 0};
  }

  /// Those of this lane's keys that reach a threshold.
  KOKKOS_FORCEINLINE_FUNCTION Keys reaching(Held threshold) const {
    return m_group.template reaching<Most>(m_held, m_count, threshold);
  }
  KOKKOS_FORCEINLINE_FUNCTION Keys none() const {
    return m_group.template reaching<Most>(m_held, 0, Held{});
  }
  /// The least key of the row that reaches a threshold.
  KOKKOS_FORCEINLINE_FUNCTION Bits least_reaching(Held threshold) const {
    Held least = std::numeric_limits<Held>::max();
    each([&](int j) {
      if (j < m_count && m_held[j] >= threshold) least = lesser(least, m_held[j]);
    });
    return static_cast<Bits>(m_group.extremes(LaneExtremes<Held>{least, 0}).least);
  }
  /// Those of the interval that reach a place.
  KOKKOS_FORCEINLINE_FUNCTION auto tied(Keys const& reaching, Keys const& above, int least) const {
    return m_group.rest(reaching, above, places(least));
  }

  /// Stores what is selected, a part at a time, so that neighboring lanes write neighbors.
  template <class Search>
  KOKKOS_FORCEINLINE_FUNCTION void store(Search const& search, int k,
                                         LaneMemory const& memory) const {
    auto* const list = m_group.template shared<Listed>();
    auto const tied = this->tied(search.reaching(), search.above(), search.least_place());
    Interval<Bits> const in = search.interval();
    auto const here = static_cast<unsigned>(search.above().count() | tied.count() << 16);
    unsigned const before = m_group.before(here);
    int const sure = search.is_ranked() ? in.above : k;
    auto const most = static_cast<int>(m_sink.problem.shape.k);
    auto const sink = sink_of_row(m_sink, row());
    for (int first = 0; first < most; first += memory.part) {
      int const ties = search.is_ranked() ? memory.part : in.above - first;
      int const end = search.is_ranked() ? memory.part + memory.candidates : memory.part;
      set(list, search.above(), static_cast<int>(before & 0xffffu) - first, memory.part);
      set(list, tied, static_cast<int>(before >> 16) + ties, end);
      m_group.barrier();
      if (first == 0 && search.is_ranked()) put_best(sink, list + memory.part, in, k);
      put_all(sink, list, first, sure - first < memory.part ? sure - first : memory.part);
      m_group.barrier();
    }
  }

 private:
  using Listed = ListedKey<Held>;
  static constexpr int capacity = Group::template capacity<Held, Most>;
  static constexpr int chunk = most_in_chunk<Bits> < Most ? most_in_chunk<Bits> : Most;
  static constexpr int chunk_bits = std::countr_zero(static_cast<unsigned>(chunk));
  /// A lane's keys are divided into at most so many groups.
  static constexpr int most_groups = 8;
  static constexpr int place_bits = 32;  // of a listed key

  /// A group without a row must read no offset of one.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row() const { return m_n > 0 ? m_group.index() : 0; }
  /// How many keys of the row this lane holds.
  KOKKOS_FORCEINLINE_FUNCTION int count_of(int n) const {
    int const rest = (n & (m_stride - 1)) - m_first;
    return m_whole * chunk + (rest < 0 ? 0 : rest < chunk ? rest : chunk);
  }
  KOKKOS_FORCEINLINE_FUNCTION int position_of(int j) const {
    return m_first + j / chunk * m_stride + j % chunk;
  }
  KOKKOS_FORCEINLINE_FUNCTION PlaceTest places(int least) const {
    return {m_first ^ static_cast<int>(m_sink.map.flip), m_stride, chunk, least};
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
      if (j % chunk == 0) {
        now = {};
        auto const* const from = keys + position_of(j);
        if (j < m_count) std::memcpy(&now, __builtin_assume_aligned(from, sizeof now), sizeof now);
      }
      m_held[j] = now.keys[j % chunk];
    });
  }

  /// Replaces the keys by their ordered bits. It ranks them only if one of them is not an ordinary number. Keys that do
  /// not exist become zero.
  KOKKOS_FORCEINLINE_FUNCTION void rank() {
    auto const& rank = m_sink.map.rank;
    unsigned minus_zeros = 0;
    Held least = std::numeric_limits<Held>::max(), most = 0;
    each([&](int j) {
      auto const key = static_cast<Bits>(m_held[j]);
      Held const bits = rank.ordered(key);
      minus_zeros |= key == rank.minus_zero ? 1u : 0u;
      least = lesser(least, bits);
      most = greater(most, bits);
      m_held[j] = bits;
    });
    bool const are_numbers =
        rank.is_number(static_cast<Bits>(least)) && rank.is_number(static_cast<Bits>(most));
    if (!rank.is_flip() && (minus_zeros != 0 || !are_numbers))
      each([&](int j) { m_held[j] = rank(rank.key_of(static_cast<Bits>(m_held[j]))); });
    if (m_count < Most) each([&](int j) { m_held[j] = j < m_count ? m_held[j] : 0; });
  }

  KOKKOS_FORCEINLINE_FUNCTION static Held greater(Held a, Held b) { return a > b ? a : b; }
  KOKKOS_FORCEINLINE_FUNCTION static Held lesser(Held a, Held b) { return a < b ? a : b; }

  KOKKOS_FORCEINLINE_FUNCTION Held least() const {
    Held least = std::numeric_limits<Held>::max();
    each([&](int j) { least = j < m_count ? lesser(least, m_held[j]) : least; });
    return least;
  }
  /// Into how many groups each lane's keys are divided, so that there are at least k and none is empty; 0 if that
  /// cannot be.
  KOKKOS_FORCEINLINE_FUNCTION int groups_for(int k) const {
    int groups = 1;
    while (groups * m_group.size() < k) groups *= 2;
    return groups <= most_groups && groups <= m_whole * chunk ? groups : 0;
  }
  /// The least maximum of this lane's groups. At least as many keys reach the least of all lanes as there are groups.
  /// \param best  the maxima of most_groups groups
  KOKKOS_FORCEINLINE_FUNCTION static Held least_maximum(Held const (&best)[most_groups],
                                                        int groups) {
    Held maxima[most_groups], least = 0;
    for (int i = 0; i < most_groups; ++i) maxima[i] = best[i];
    unrolled<4>([&](auto step) {
      constexpr int size = most_groups >> step;
      if (groups == size) {
        least = maxima[0];
        for (int i = 1; i < size; ++i) least = lesser(least, maxima[i]);
      }
      for (int i = 0; i < size / 2; ++i) maxima[i] = greater(maxima[i], maxima[i + size / 2]);
    });
    return least;
  }

  /// Lists keys of this lane from `slot` on, those whose slots are in 0 .. end - 1.
  template <class Some>
  KOKKOS_FORCEINLINE_FUNCTION void set(Listed* list, Some const& keys, int slot, int end) const {
    PlaceTest const places = this->places(0);
    Listed* at = list + (slot > 0 ? slot : 0);
    m_group.slice(keys, -slot, end - slot).each([&](int j) {
      *at = static_cast<Listed>(m_held[j]) << place_bits | static_cast<unsigned>(places.place(j));
      ++at;
    });
  }
  using Sink = SelectedSink<StoredRows<Bits>, CompositeKey>;
  KOKKOS_FORCEINLINE_FUNCTION static void put(Sink const& sink, int slot, Listed listed) {
    auto const bits = static_cast<Bits>(listed >> place_bits);
    std::uint64_t const position = static_cast<unsigned>(listed) ^ sink.map.flip;
    if (sink.composites != nullptr) {
      sink.composites[slot] = sink.map.join(bits, position);
      return;
    }
    Bits key = sink.map.rank.key_of(bits);
    if (!sink.map.rank.has_one_key(bits))
      key = sink.problem.rows.keys[static_cast<std::int64_t>(position) * sink.problem.rows.step];
    sink.problem.out.store(0, slot, key, position);
  }
  KOKKOS_FORCEINLINE_FUNCTION void put_all(Sink const& sink, Listed const* selected, int first,
                                           int count) const {
    for (int i = m_group.rank(); i < count; i += m_group.size()) put(sink, first + i, selected[i]);
  }
  /// Puts the best candidates, each after those that are better.
  KOKKOS_FORCEINLINE_FUNCTION void put_best(Sink const& sink, Listed const* candidates,
                                            Interval<Bits> const& in, int k) const {
    int const count = in.reaching - in.above;
    for (int i = m_group.rank(); i < count; i += m_group.size()) {
      Listed const listed = candidates[i];
      int better = 0;
      for (int other = 0; other < count; ++other) better += candidates[other] > listed ? 1 : 0;
      if (better < k - in.above) put(sink, in.above + better, listed);
    }
  }

  Group& m_group;
  SelectedSink<StoredRows<Bits>, CompositeKey> const& m_sink;
  int m_n;
  int m_first;
  int m_stride;
  int m_whole;  // strides of the row in which every lane has a chunk
  int m_count;
  Held m_held[capacity];
};

/// All groups of the team take as many steps as the slowest of them. Returns the bits of their states.
template <class Group, class Row, class Search>
KOKKOS_FORCEINLINE_FUNCTION unsigned find_interval(Group& group, Row const& held, Search& search) {
  while (true) {
    bool const is_open = search.state() == Search::open;
    auto const threshold = is_open ? search.threshold() : 0;
    auto const keys = is_open ? held.reaching(threshold) : held.none();
    LaneTotal const total = group.sum(keys.count(), search.state());
    if (is_open) search.take(threshold, total.sum, keys);
    unsigned const states = group.is_alone() ? search.state() : total.states;
    if ((states & Search::open) == 0) return states;
  }
}

template <class Bits, class CompositeKey, int Most>
struct BisectHeldRows {
  SelectedSink<StoredRows<Bits>, CompositeKey> sink;
  BisectionLimits limits;
  KeyLoads loads;
  LaneMemory memory;
  std::int64_t longest;  // of the rows that lanes hold; longer ones are selected from elsewhere

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group& group) const {
    using Row = HeldRow<Group, Bits, CompositeKey, Most>;
    StoredProblem<Bits> const& problem = sink.problem;
    std::int64_t const row = group.index();
    std::int64_t const length = row < problem.shape.rows ? problem.length(row) : 0;
    int const n = length <= longest ? static_cast<int>(length) : 0;
    int const k = n > 0 ? static_cast<int>(problem.selected_count(row)) : 0;
    Row held(group, sink, k > 0 ? n : 0);
    held.read(loads);
    LaneSearch<Bits, typename Row::Keys> search(
        sink.map.rank, limits, held.first_interval(k, limits.is_exact()), k,
        static_cast<int>(sink.map.position_mask), group.size() > 1 ? memory.candidates : 0,
        held.reaching(0), held.none());
    if ((find_interval(group, held, search) & search.counts_places) != 0)
      find_place(group, held, search);
    held.store(search, k, memory);
  }

 private:
  template <class Group, class Row, class Search>
  KOKKOS_FORCEINLINE_FUNCTION static void find_place(Group& group, Row const& held,
                                                     Search& search) {
    if (search.state() == Search::counts_places)
      search.set_reaching(held.reaching(search.interval().low));
    while (true) {
      bool const is_open = search.state() == Search::counts_places;
      int const place = search.place();
      int const here = is_open ? held.tied(search.reaching(), search.above(), place).count() : 0;
      LaneTotal const total = group.sum(here, search.state());
      if (is_open) search.take_place(place, total.sum);
      unsigned const states = group.is_alone() ? search.state() : total.states;
      if (states == Search::done) return;
    }
  }
};

/// The narrowest composite key for rows that bisection supports.
template <class Bits>
using BisectionCompositeKey =
    std::conditional_t<sizeof(Bits) == 8, CompositeKey128, CompositeKey64>;

/// How many keys a lane holds at most: each takes registers.
template <class Bits>
inline constexpr int most_held = sizeof(Bits) == 8 ? 16 : 32;

/// How many lanes hold a row of n keys.
template <class Bits>
int lanes_for(std::int64_t n) {
  constexpr int held = most_held<Bits>;
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>((n + held - 1) / held)));
}

/// Whether the lanes of a team, or a thread of a host, hold a row.
template <class Bits>
bool fits_lanes(std::int64_t n) {
  return n <= LoneLane::capacity<HeldBits<Bits>, most_held<Bits>> &&
         lanes_for<Bits>(n) <= most_lanes;
}

template <class Bits>
KeyLoads loads_of(StoredProblem<Bits> const& problem) {
  constexpr std::int64_t chunk = most_in_chunk<Bits>;
  if (problem.rows.are_ragged()) return KeyLoads::keys;
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(problem.rows.keys) % 16 == 0;
  bool const are_whole = problem.rows.step == 1 && problem.rows.row_stride % chunk == 0 &&
                         problem.shape.n % chunk == 0;
  return is_aligned && are_whole ? KeyLoads::chunks : KeyLoads::keys;
}

}  // namespace ktopk::detail
