// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/radix_digits.hpp>

#include "ranks.hpp"
#include "reading.hpp"
#include "sort.hpp"

// What a group does with a row whose ranks are searched.

namespace ktopk::detail {

/// What a group shares besides its counters.
template <class Bits>
struct RankShared {
  RankRow<Bits> row;  // where one group has the row to itself; else a copy of what a pass reads
  Bits low[most_ranks], high[most_ranks];  // where each rank lies next
  Count64 left[most_ranks], need[most_ranks];
  Count64 inside;  // keys in the bracket
  SeenKeys seen;  // by all threads; 32 bits, to which a group adds in its memory by one instruction
  int flag;
};

/// The shared memory of a group: RankShared, the counters, what it holds for the buffer, and the counts of rows that
/// are too long for those of the counters. Samples and keys to sort lie where it holds keys.
template <class Bits>
struct RankMemory {
  static constexpr int most_sorted = 2048;
  static constexpr int held_bytes =
      std::max(radix_lists_bytes<Bits>, most_sorted* static_cast<int>(sizeof(Bits)));
  static constexpr int counters_begin = (static_cast<int>(sizeof(RankShared<Bits>)) + 15) / 16 * 16;
  static constexpr int held_begin = counters_begin + 4 * RankScratch<Bits>::counters;
  static constexpr int totals_begin = held_begin + held_bytes;

  static int bytes(RankScratch<Bits> const& scratch) {
    bool const has_totals = scratch.is_long && !scratch.is_shared();
    return totals_begin + (has_totals ? 8 * RankScratch<Bits>::counters : 0);
  }
};

/// The ordered bits of the one or two keys of which a value is made, in a row of so many keys.
template <class Bits>
struct RankFound {
  bool exists;
  Bits first, second;
  std::int64_t present;
};

template <Rows R>
struct RankSearch {
  using Bits = typename R::Bits;
  using Row = RankRow<Bits>;
  using Shared = RankShared<Bits>;
  using Memory = RankMemory<Bits>;
  using Scratch = RankScratch<Bits>;
  static constexpr Bits greatest = std::numeric_limits<Bits>::max();
  static constexpr std::int64_t least_sampled = 8192;

  R rows;
  OrderedBitsMap<Bits> rank;
  Bits worst;
  Bits lowest;  // ordered bits; keys of less, which are NaN, are none
  RankOutput out;
  RankRequest request;
  Scratch scratch;
  std::int64_t first;  // of the values that are found together
  int values, keys;    // how many they are, and of how many keys they are made

  template <class Group>
  KOKKOS_FUNCTION static Shared& shared(Group const& group) {
    return *group.template shared<Shared>();
  }
  template <class Group>
  KOKKOS_FUNCTION static unsigned* counters(Group const& group) {
    return group.template shared<unsigned>(Memory::counters_begin);
  }
  template <class Group>
  KOKKOS_FUNCTION static Count64* totals(Group const& group) {
    return group.template shared<Count64>(Memory::totals_begin);
  }

  /// Begins a row: brackets its ranks by a sample. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void begin(Group const& group, Row& state, std::int64_t row) const {
    std::int64_t const size = rows.length(row);
    if (group.rank() == 0) {
      state.clear(keys);
      state.buffer = buffer_range(row, size);
      state.open.count = 1;
      state.open.low[0] = lowest;
      state.open.high[0] = greatest;
    }
    int const samples = samples_of(size);
    if (samples > 0) sample(group, row, size, samples);
    group.barrier();
    if (group.rank() == 0) {
      if (samples > 0) bracket(state, row, size, sorting(group), samples, shared(group).flag);
      lay_digits(state.open);
    }
    group.barrier();
  }

  /// How much a pass reads of a row.
  KOKKOS_FUNCTION std::int64_t size_of(Row const& state, std::int64_t row) const {
    return state.in_buffer ? static_cast<std::int64_t>(state.held) : rows.length(row);
  }

  /// Counts the digits of a range, and calls add(counter, count) for each that is not 0. All threads call it together.
  /// \param open  of the state, in the group's shared memory
  template <class Group, class Add>
  KOKKOS_FUNCTION void count(Group const& group, Row& state, RankIntervals<Bits> const& open,
                             std::int64_t row, Range range, Add const& add) const {
    unsigned* const histogram = counters(group);
    int const used = open.count * Scratch::bins_of(open.count);
    Range piece{range.begin, range.begin};
    do {
      bool const is_last = range.end - piece.begin <= scratch.most_counted;
      piece.end = is_last ? range.end : piece.begin + scratch.most_counted;
      each(group, 0, used, [&](std::int64_t i) { histogram[i] = 0; });
      if (group.rank() == 0) shared(group).seen = {};
      group.barrier();
      SeenKeys const seen = open.count == 1
                                ? read<1>(group, state, open, row, piece, histogram)
                                : read<most_ranks>(group, state, open, row, piece, histogram);
      add_seen(group, state, seen);
      each(group, 0, used, [&](std::int64_t i) {
        if (histogram[i] != 0) add(i, Count64{histogram[i]});
      });
      group.barrier();
      piece.begin = piece.end;
    } while (piece.begin < range.end);
  }

  /// Narrows the intervals of a row of which all is counted. All threads call it together.
  /// \param of  of(i) is the count of counter i
  template <class Group, class Of>
  KOKKOS_FUNCTION void conclude(Group const& group, Row& state, std::int64_t row,
                                Of const& of) const {
    Shared& memory = shared(group);
    bool const first_pass = is_first(state);
    bool const few = state.filters && state.filled <= Memory::most_sorted;
    group.barrier();
    if (few && !first_pass) return finish(group, state);
    if (first_pass) {
      count_bracket(group, state.open, memory, of);
      if (group.rank() == 0) number(state, memory, row);
      group.barrier();
    }
    for (int i = 0; i < state.open.count; ++i) choose(group, state, memory, i, of);
    group.barrier();
    if (group.rank() == 0) keep(state, memory);
    group.barrier();
  }

  /// Stores the values of a row whose ranks are found.
  template <class Group>
  KOKKOS_FUNCTION void store(Group const& group, Row const& state, std::int64_t row) const {
    detail::each(group, 0, values,
                 [&](std::int64_t v) { store_value(state, row, static_cast<int>(v)); });
  }
  /// By one thread.
  KOKKOS_FUNCTION void store_found(RankFound<Bits> const& found, std::int64_t row,
                                   int value) const {
    std::int64_t const at = row * out.row_stride + (first + value) * out.step;
    if (out.as_keys)
      static_cast<Stored<Bits>*>(out.values)[at] = found.exists ? key_of(found.first) : worst;
    else
      store_number(at,
                   found.exists ? between(found, value) : std::numeric_limits<double>::quiet_NaN());
  }

 private:
  /// Adds what the threads saw in the first pass to the counts of the row. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION static void add_seen(Group const& group, Row& state, SeenKeys const& own) {
    SeenKeys& seen = shared(group).seen;
    if (own.present != 0) group.fetch_add(&seen.present, own.present);
    if (own.reaching != 0) group.fetch_add(&seen.reaching, own.reaching);
    group.barrier();
    if (group.rank() != 0 || !is_first(state)) return;
    Kokkos::atomic_add(&state.present, Count64{seen.present});
    Kokkos::atomic_add(&state.reaching, Count64{seen.reaching});
  }

  template <class Group>
  KOKKOS_FUNCTION static Bits* sorting(Group const& group) {
    return group.template shared<Bits>(Memory::held_begin);
  }
  KOKKOS_FUNCTION static void lay_digits(RankIntervals<Bits>& open) {
    open.lay_digits(Scratch::bins_of(open.count));
  }
  /// Whether the row has not been read yet.
  KOKKOS_FUNCTION static bool is_first(Row const& state) {
    return state.need[0] == 0 && !state.found[0];
  }

  // ---- the beginning of a row

  KOKKOS_FUNCTION static int samples_of(std::int64_t size) {
    if (!Scratch::has_buffer || size < least_sampled) return 0;
    int samples = Memory::most_sorted;
    while (samples > size / 256) samples /= 2;
    return samples;
  }

  KOKKOS_FUNCTION Range buffer_range(std::int64_t row, std::int64_t size) const {
    std::int64_t const share = size / Scratch::buffer_share;
    std::int64_t begin = row * share;
    if (scratch.claimed != nullptr)
      begin = static_cast<std::int64_t>(
          Kokkos::atomic_fetch_add(scratch.claimed, static_cast<Count64>(share)));
    return begin + share <= scratch.capacity ? Range{begin, begin + share} : Range{0, 0};
  }
  /// The row's part of one of the two buffers.
  KOKKOS_FUNCTION static Range part_of_buffer(Row const& state, int side) {
    if (side == 0) return state.buffer;
    return {state.buffer.begin / Scratch::second_share, state.buffer.end / Scratch::second_share};
  }
  /// Which buffer a pass fills.
  KOKKOS_FUNCTION static int filled_side(Row const& state) {
    return state.in_buffer ? 1 - state.side : 0;
  }

  /// Sorts the ordered bits of a sample. Where it lacks keys it has zeros. `flag` gets how many it has.
  template <class Group>
  KOKKOS_FUNCTION void sample(Group const& group, std::int64_t row, std::int64_t size,
                              int samples) const {
    int* const there = &shared(group).flag;
    if (group.rank() == 0) *there = samples;
    group.barrier();
    Bits* const sample = sorting(group);
    Strata const strata(size, samples);
    auto const keys_of_row = rows.row(row);
    each(group, 0, samples, [&](std::int64_t i) {
      std::int64_t const place = strata.place(i);
      bool is_there = true;
      if constexpr (R::has_gaps) is_there = keys_of_row.holds(place);
      sample[i] = is_there ? rank(keys_of_row[place]) : Bits{0};
      is_there = is_there && sample[i] >= lowest;
      if (!is_there) group.fetch_add(there, -1);
    });
    sort_numbers(group, sample, samples);
  }

  /// Lays an interval around the ranks: from the samples within 3.5 standard deviations of the place of each among them.
  KOKKOS_FUNCTION void bracket(Row& state, std::int64_t row, std::int64_t size, Bits const* sample,
                               int samples, int there) const {
    if (there == 0) return;
    bool const may_lack = R::has_gaps || lowest != 0;
    std::int64_t const present = may_lack ? (size - 1) / samples * there + 1 : size;
    int least = there, most = -1;  // the samples in it
    for (int key = 0; key < keys; ++key) {
      std::int64_t const nth = request.nth(row, first, key, present);
      if (nth == 0) continue;
      double const p = (static_cast<double>(nth) - 0.5) / static_cast<double>(present);
      double const place = p * there, margin = 3.5 * std::sqrt(place * (1 - p)) + 1.5;
      auto const upper = static_cast<int>(std::floor(place - margin));
      auto const lower = static_cast<int>(std::ceil(place + margin));
      least = upper < least ? upper : least;
      most = lower > most ? lower : most;
    }
    if (most < 0) return;
    state.open.low[0] = most < there ? sample[samples - 1 - most] : lowest;
    state.open.high[0] = least >= 0 ? sample[samples - 1 - least] : greatest;
    state.open.bracketed = true;
    double const inside = static_cast<double>(most - least) / there;
    auto const room = static_cast<double>(state.buffer.end - state.buffer.begin);
    state.filters = inside * static_cast<double>(present) < 0.8 * room;
  }

  // ---- a pass

  template <int most, class Group>
  KOKKOS_FUNCTION SeenKeys read(Group const& group, Row& state, RankIntervals<Bits> const& open,
                                std::int64_t row, Range range, unsigned* histogram) const {
    if constexpr (Scratch::has_buffer)
      if (state.filters) {
        int const side = filled_side(state);
        Range const to = part_of_buffer(state, side);
        RankFilter<Bits, Group> const filter(
            group, group.template shared<std::byte>(Memory::held_begin),
            scratch.buffers[side] + to.begin, to.end - to.begin, &state.filled);
        return read_filtered<most>(group, state, open, row, range, histogram, filter);
      }
    return read_filtered<most>(group, state, open, row, range, histogram, NoRankFilter{});
  }

  template <int most, class Group, class Filter>
  KOKKOS_FUNCTION SeenKeys read_filtered(Group const& group, Row& state,
                                         RankIntervals<Bits> const& open, std::int64_t row,
                                         Range range, unsigned* histogram,
                                         Filter const& filter) const {
    int const bins = Scratch::bins_of(open.count);
    auto const ordered_of = [&](Bits key) { return rank(key); };
    if (group.rank() == 0 && !state.in_buffer) tally(Count::keys_read, range.end - range.begin);
    if (state.in_buffer) {
      Bits const* const held =
          scratch.buffers[state.side] + part_of_buffer(state, state.side).begin;
      StoredRow<Bits> const buffered{reinterpret_cast<Stored<Bits> const*>(held), 1};
      return read_ranks<most, false>(
          group, open, bins, buffered, range, Bits{0}, [](Bits bits) { return bits; }, filter,
          histogram);
    }
    if constexpr (most == 1)
      if (open.bracketed)
        return read_ranks<1, true>(group, open, bins, rows.row(row), range, lowest, ordered_of,
                                   filter, histogram);
    return read_ranks<most, false>(group, open, bins, rows.row(row), range, lowest, ordered_of,
                                   filter, histogram);
  }

  // ---- the end of a pass

  template <class Group, class Of>
  KOKKOS_FUNCTION static void count_bracket(Group const& group, RankIntervals<Bits> const& open,
                                            Shared& memory, Of const& of) {
    if (!open.bracketed) return;
    Count64 sum = 0;
    each(group, 0, Scratch::bins_of(1),
         [&](std::int64_t bin) { sum += of(static_cast<int>(bin)); });
    auto const before = static_cast<Count64>(group.sum_before(static_cast<std::int64_t>(sum)));
    if (group.rank() == group.size() - 1) memory.inside = before + sum;
    group.barrier();
  }

  /// Says which keys are wanted, now that the row's keys are counted, and in which interval each lies. By one thread.
  KOKKOS_FUNCTION void number(Row& state, Shared& memory, std::int64_t row) const {
    for (int key = 0; key < keys; ++key) {
      std::int64_t const nth =
          request.nth(row, first, key, static_cast<std::int64_t>(state.present));
      state.need[key] = static_cast<Count64>(nth);
      state.found[key] = nth == 0;
      state.interval[key] = 0;
      if (state.open.bracketed && nth != 0) locate(state, memory, key);
    }
  }

  /// Whether a key lies in the bracket, or above or below it: then interval[key] is -1.
  KOKKOS_FUNCTION void locate(Row& state, Shared& memory, int key) const {
    Bits const low = state.open.low[0], high = state.open.high[0];
    Count64 const nth = state.need[key], above = state.reaching - memory.inside;
    if (nth <= above) {
      lie(state, memory, key, {static_cast<Bits>(high + 1), greatest}, 0, above);
    } else if (nth > state.reaching) {
      lie(state, memory, key, {lowest, static_cast<Bits>(low - 1)}, state.reaching, state.present);
    } else {
      state.interval[key] = 0;
      state.need[key] = nth - above;
    }
  }
  /// \param better, reaching  keys above an interval, and those that are not below it
  KOKKOS_FUNCTION static void lie(Row& state, Shared& memory, int key, Bounds<Bits> interval,
                                  Count64 better, Count64 reaching) {
    state.interval[key] = -1;
    memory.low[key] = interval.least;
    memory.high[key] = interval.most;
    memory.left[key] = reaching - better;
    memory.need[key] = state.need[key] - better;
  }

  /// Finds the bin of each key of an interval. All threads call it together.
  template <class Group, class Of>
  KOKKOS_FUNCTION void choose(Group const& group, Row const& state, Shared& memory, int interval,
                              Of const& of) const {
    int const bins = Scratch::bins_of(state.open.count);
    int const slice = (bins + group.size() - 1) / group.size();
    int const top = bins - 1 - group.rank() * slice;
    auto const count_of = [&](int bin) { return of(interval * bins + bin); };
    Count64 sum = 0;
    for (int bin = top; bin > top - slice && bin >= 0; --bin) sum += count_of(bin);
    auto const above = static_cast<Count64>(group.sum_before(static_cast<std::int64_t>(sum)));
    for (int key = 0; key < keys; ++key) {
      Count64 const need = state.need[key];
      bool const lies_here = state.interval[key] == interval && !state.found[key];
      if (!lies_here || need <= above || need > above + sum) continue;
      int bin = top;
      Count64 better = above;
      for (; better + count_of(bin) < need; --bin) better += count_of(bin);
      narrow(state.open, memory, key, interval, bin);
      memory.left[key] = count_of(bin);
      memory.need[key] = need - better;
    }
  }
  KOKKOS_FUNCTION static void narrow(RankIntervals<Bits> const& open, Shared& memory, int key,
                                     int interval, int bin) {
    int const shift = open.shift[interval];
    Bits const low = static_cast<Bits>(open.low[interval] + (static_cast<Bits>(bin) << shift));
    Bits const span = static_cast<Bits>((Bits{1} << shift) - 1);
    Bits const most = static_cast<Bits>(open.high[interval] - low);
    memory.low[key] = low;
    memory.high[key] = static_cast<Bits>(low + (span < most ? span : most));
  }

  /// Makes the intervals of the next pass. By one thread.
  KOKKOS_FUNCTION void keep(Row& state, Shared& memory) const {
    bool missed = false;  // whether a key lies outside all that is in the buffer
    RankIntervals<Bits>& open = state.open;
    open.count = 0;
    open.bracketed = false;
    for (int key = 0; key < keys; ++key) {
      if (state.found[key]) continue;
      missed = missed || state.interval[key] < 0;
      state.need[key] = memory.need[key];
      if (memory.low[key] == memory.high[key]) {
        state.ordered[key] = memory.low[key];
        state.found[key] = true;
      } else {
        add(open, memory.low[key], memory.high[key]);
      }
    }
    Count64 all_left = 0;
    for (int i = 0; i < open.count; ++i) {
      bool is_new = true;
      for (int key = 0; key < keys; ++key) {
        if (state.found[key] || memory.low[key] != open.low[i]) continue;
        state.interval[key] = i;
        state.left[i] = memory.left[key];
        all_left += is_new ? memory.left[key] : 0;
        is_new = false;
      }
    }
    state.done = open.count == 0;
    lay_digits(state.open);
    switch_buffers(state, missed);
    state.filters = is_worth_filtering(state, all_left);
  }

  /// Adds an interval, unless it is there.
  KOKKOS_FUNCTION static void add(RankIntervals<Bits>& open, Bits low, Bits high) {
    int at = open.count;
    for (int i = 0; i < open.count; ++i)
      if (open.low[i] == low) return;
    for (; at > 0 && open.low[at - 1] > low; --at) {
      open.low[at] = open.low[at - 1];
      open.high[at] = open.high[at - 1];
    }
    open.low[at] = low;
    open.high[at] = high;
    ++open.count;
  }

  KOKKOS_FUNCTION static void switch_buffers(Row& state, bool missed) {
    int const side = filled_side(state);
    Range const to = part_of_buffer(state, side);
    if (state.filters && !missed && state.filled <= static_cast<Count64>(to.end - to.begin)) {
      state.in_buffer = true;
      state.side = side;
      state.held = state.filled;
    }
    state.filled = 0;
  }
  KOKKOS_FUNCTION static bool is_worth_filtering(Row const& state, Count64 left) {
    Range const to = part_of_buffer(state, filled_side(state));
    if (state.in_buffer && Scratch::second_share * left > state.held) return false;
    return left <= static_cast<Count64>(to.end - to.begin);
  }

  /// Sorts the few keys that the pass has put in the buffer: all those of the open intervals.
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, Row& state) const {
    int const side = filled_side(state), filled = static_cast<int>(state.filled);
    Bits const* const from = scratch.buffers[side] + part_of_buffer(state, side).begin;
    Bits* const sorted = sorting(group);
    int count = 1;
    while (count < filled) count *= 2;
    each(group, 0, count, [&](std::int64_t i) { sorted[i] = i < filled ? from[i] : greatest; });
    sort_numbers(group, sorted, count);
    if (group.rank() == 0) {
      for (int key = 0; key < keys; ++key) {
        if (state.found[key]) continue;
        Count64 end = 0;  // of the key's interval among the sorted
        for (int i = 0; i <= state.interval[key]; ++i) end += state.left[i];
        state.ordered[key] = sorted[end - state.need[key]];
        state.found[key] = true;
      }
      state.done = true;
    }
    group.barrier();
  }

  // ---- the values

  /// The key of such ordered bits; of both zeros the positive one, as of all of one magnitude, and of all NaNs the quiet
  /// one.
  KOKKOS_FUNCTION Bits key_of(Bits ordered) const {
    if (rank.has_one_key(ordered) || (rank.is_by_magnitude() && ordered != rank.ordered_nan))
      return rank.key_of(ordered);
    if (ordered != rank.ordered_nan) return 0;
    Bits const lowest = static_cast<Bits>(rank.infinity & (Bits{0} - rank.infinity));
    return static_cast<Bits>(rank.infinity | (lowest >> 1));
  }

  KOKKOS_FUNCTION void store_value(Row const& state, std::int64_t row, int value) const {
    int const each = request.keys_of_value(), key = value * each;
    store_found({state.need[key] != 0, state.ordered[key], state.ordered[key + each - 1],
                 static_cast<std::int64_t>(state.present)},
                row, value);
  }

  /// The number of a key, or the one between two keys.
  KOKKOS_FUNCTION double between(RankFound<Bits> const& found, int value) const {
    double const a = number_of(key_of(found.first), out.kind);
    if (found.first == found.second) return a;
    double const b = number_of(key_of(found.second), out.kind);
    double const weight = request.weight(first, value, found.present);
    // By fma, which every backend rounds alike.
    return weight < 0.5 ? std::fma(b - a, weight, a) : std::fma(a - b, 1 - weight, b);
  }

  KOKKOS_FUNCTION void store_number(std::int64_t at, double number) const {
    if (out.bytes == 8) {
      static_cast<double*>(out.values)[at] = number;
    } else if (out.bytes == 4) {
      static_cast<float*>(out.values)[at] = static_cast<float>(number);
    } else {
      auto const single = static_cast<float>(number);
      static_cast<Stored<std::uint16_t>*>(out.values)[at] = out.kind == NumberKind::float16
                                                                ? float_to_half_bits(single)
                                                                : float_to_bfloat_bits(single);
    }
  }
};

}  // namespace ktopk::detail
