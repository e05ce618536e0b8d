// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <ktopk/core/counters.hpp>

#include "../finish/arrange.hpp"
#include "../radix/radix.hpp"
#include "../run/launch.hpp"
#include "splitters.hpp"

// What a group does with a row, or a part of it, in a partition refinement: it counts the composite keys that reach
// each splitter, moves those that are left to a list where they are few, and stores the selected ones.

namespace ktopk::detail {

/// The sizes on which the memory of a refinement depends.
struct RefinementSizes {
  std::int64_t rows;
  std::int64_t longest;  // row, or the number of all keys where rows are ragged
  std::int64_t average;
};

/// The memory of a refinement.
template <class CompositeKey>
struct RefinementScratch {
  RefinementScratch() = default;
  RefinementScratch(WorkspaceLayout& layout, Device const& device, RefinementSizes const& sizes,
                    int ways_)
      : ways(ways_),
        parts(std::max(parts_of_row(device, sizes.rows, sizes.longest),
                       sizes.longest / most_counted + 1)),
        capacity(sizes.average / 8 + 64),
        states(layout.take<RefinementState<CompositeKey>>(sizes.rows)),
        splitters(layout.take<CompositeKey>(sizes.rows * ways)),
        counts(layout.take<Count64>(sizes.rows * ways)),
        lists(layout.take<CompositeKey>(sizes.rows * 2 * capacity)),
        validations(layout.take<RowValidation>(sizes.rows)),
        rest(layout.take<std::int64_t>(sizes.rows)) {}

  /// How a thread counts in a part: 32 bits take half the scratch memory of 64.
  static constexpr std::int64_t most_counted = std::int64_t{1} << 31;

  KOKKOS_FUNCTION CompositeKey* list(std::int64_t row, int which) const {
    return lists + (2 * row + which) * capacity;
  }

  int ways = 0;
  std::int64_t parts = 0;
  std::int64_t capacity = 0;  // of each of a row's two lists
  RefinementState<CompositeKey>* states = nullptr;
  CompositeKey* splitters = nullptr;  // of each row: the first unused, then ways - 1, ascending
  Count64* counts = nullptr;  // of each row: composite keys from each splitter up to the next
  CompositeKey* lists = nullptr;
  RowValidation* validations = nullptr;  // where what is left lies: proven in list 0, else in the
                                         // source
  std::int64_t* rest = nullptr;          // how many are still to be selected there
  RowValidation* unmoved = nullptr;  // of a source of lists: proven where what is left lies there
};

/// Puts selected keys from the last slot on, so that the first slots are left to radix, if it finishes the row.
template <class Bits, class CompositeKey>
struct PutFromEnd {
  SelectedSink<StoredRows<Bits>, CompositeKey> sink;
  std::int64_t row, k;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, CompositeKey composite) const {
    sink.put(row, k - 1 - slot, composite);
  }
};

/// Reads the composite keys of a list, as KeySource::Reader makes those of keys.
template <class CompositeKey>
struct ListReader {
  CompositeKey const* composites;
  KOKKOS_FORCEINLINE_FUNCTION CompositeKey operator()(std::int64_t i) const {
    return composites[i];
  }
};

/// The steps in a row, or in a part of it. Splitters::choose(group, ...) finds the splitters.
template <class Splitters, class Source, class Bits, class CompositeKey>
struct PartitionRefinement {
  static constexpr int ways = Splitters::ways;

  Source source;
  RefinementScratch<CompositeKey> scratch;
  SelectedSink<StoredRows<Bits>, CompositeKey> sink;

  // What a group shares: a count for each way and thread, a flag, then the samples of Splitters or the
  // buffers of two Appenders.
  static constexpr int shared_bytes =
      ways * team_size * static_cast<int>(sizeof(unsigned)) + 16 +
      std::max(Splitters::most_samples * static_cast<int>(sizeof(CompositeKey)),
               2 * appender_bytes<CompositeKey>());

  template <class Group>
  KOKKOS_FUNCTION static int* flag(Group const& group) {
    auto const counts = ways * sizeof(unsigned) * static_cast<std::size_t>(group.size());
    return group.template shared<int>((counts + 15) / 16 * 16);
  }
  template <class Group>
  KOKKOS_FUNCTION static CompositeKey* samples(Group const& group) {
    return reinterpret_cast<CompositeKey*>(reinterpret_cast<std::byte*>(flag(group)) + 16);
  }
  template <class Group>
  KOKKOS_FUNCTION static std::byte* buffer(Group const& group, int which) {
    return reinterpret_cast<std::byte*>(samples(group)) + which * appender_bytes<CompositeKey>();
  }
  /// A thread's count for way w is at [w * group.size()].
  template <class Group>
  KOKKOS_FUNCTION static unsigned* own_counts(Group const& group) {
    return group.template shared<unsigned>() + group.rank();
  }

  KOKKOS_FUNCTION RefinementState<CompositeKey>& state_of(std::int64_t row) const {
    return scratch.states[row];
  }
  KOKKOS_FUNCTION CompositeKey* splitters_of(std::int64_t row) const {
    return scratch.splitters + row * ways;
  }
  KOKKOS_FUNCTION CompositeKeyMap<Bits, CompositeKey> const& map() const { return sink.map; }

  KOKKOS_FUNCTION void begin(std::int64_t row) const {
    std::int64_t const n = source.size(row), k = source.active(row) ? source.wanted(row) : 0;
    CompositeKey const last =
        static_cast<CompositeKey>(map().join(std::numeric_limits<Bits>::max(), 0) |
                                  static_cast<CompositeKey>(map().position_mask));
    state_of(row) = {CompositeKey{0},  last,  k, n, n, 0,     -1, 0,
                     k == 0 || k >= n, false, 0, 0, 0, ~0ull, 0};
    for (int w = 0; w < ways; ++w) scratch.counts[row * ways + w] = 0;
  }

  /// The min/max pass over a part of a row, if the first splitters depend on it.
  template <class Group>
  KOKKOS_FUNCTION void find_extremes(Group const& group, std::int64_t row,
                                     std::int64_t part) const {
    RefinementState<CompositeKey>& state = state_of(row);
    if constexpr (Splitters::needs_extremes) {
      Range const range = part_of(state.size, part, scratch.parts);
      if (state.settled || range.begin == range.end) return;
      auto const read = source.reader(row);
      Bits least = std::numeric_limits<Bits>::max(), most = 0;
      each(group, range.begin, range.end, [&](std::int64_t i) {
        Bits const bits = map().ordered_bits_of(read(i));
        least = bits < least ? bits : least;
        most = bits > most ? bits : most;
      });
      Kokkos::atomic_min(&state.least, static_cast<Count64>(least));
      Kokkos::atomic_max(&state.most, static_cast<Count64>(most));
      if (group.rank() == 0) tally(reads(state), range.end - range.begin);
    }
  }

  /// Finds the first splitters. One group calls it, after the min/max pass.
  template <class Group>
  KOKKOS_FUNCTION void start(Group const& group, std::int64_t row) const {
    RefinementState<CompositeKey>& state = state_of(row);
    if (state.settled) return;
    if (Splitters::needs_extremes && group.rank() == 0) {
      state.low = map().join(static_cast<Bits>(state.least), 0) &
                  ~static_cast<CompositeKey>(map().position_mask);
      state.high = map().join(static_cast<Bits>(state.most), 0) |
                   static_cast<CompositeKey>(map().position_mask);
    }
    group.barrier();
    split(group, row);
  }

  template <class Group>
  KOKKOS_FUNCTION void split(Group const& group, std::int64_t row) const {
    RefinementState<CompositeKey> const& state = state_of(row);
    if (state.list < 0)
      Splitters::choose(group, state, source.reader(row), map(), splitters_of(row), samples(group));
    else
      Splitters::choose(group, state, reader(row, state.list), map(), splitters_of(row),
                        samples(group));
    group.barrier();
  }

  KOKKOS_FUNCTION ListReader<CompositeKey> reader(std::int64_t row, int list) const {
    return {scratch.list(row, list)};
  }

  KOKKOS_FUNCTION static Count reads(RefinementState<CompositeKey> const& state) {
    return state.list < 0 && Source::Reader::reads_keys ? Count::keys_read : Count::composites_read;
  }

  /// How many splitters a composite key reaches.
  KOKKOS_FORCEINLINE_FUNCTION static int way_of(CompositeKey composite,
                                                CompositeKey const* splitters) {
    int way = 0;
    for (int half = ways / 2; half > 0; half /= 2)
      way += composite >= splitters[way + half] ? half : 0;
    return way;
  }

  /// One pass over a part of a row. The counts of all parts are added up in scratch.counts.
  template <class Group>
  KOKKOS_FUNCTION void pass(Group const& group, std::int64_t row, std::int64_t part,
                            std::int64_t parts) const {
    RefinementState<CompositeKey>& state = state_of(row);
    Range const range = part_of(state.size, part, parts);
    auto* const counts = own_counts(group);
    for (int w = 0; w < ways; ++w) counts[w * group.size()] = 0;
    if (state.list < 0)
      read_part(group, row, source.reader(row), range, counts);
    else
      read_part(group, row, reader(row, state.list), range, counts);
    group.barrier();
    auto const* const all = group.template shared<unsigned>();
    each(group, 0, ways, [&](std::int64_t w) {
      Count64 sum = 0;
      for (int t = 0; t < group.size(); ++t) sum += all[w * group.size() + t];
      if (sum > 0) Kokkos::atomic_add(&scratch.counts[row * ways + w], sum);
    });
    if (group.rank() == 0) tally(reads(state), range.end - range.begin);
  }

  template <class Group, class Reader>
  KOKKOS_FUNCTION void read_part(Group const& group, std::int64_t row, Reader const& read,
                                 Range range, unsigned* counts) const {
    CompositeKey splitters[ways] = {};
    for (int w = 1; w < ways; ++w) splitters[w] = splitters_of(row)[w];
    auto const count = [&](CompositeKey composite) {
      ++counts[way_of(composite, splitters) * group.size()];
    };
    if (state_of(row).moves)
      move(group, row, read, range, count);
    else
      each(group, range.begin, range.end, [&](std::int64_t i) { count(read(i)); });
  }

  /// Moves the composite keys of the interval to the other list and stores those above it.
  template <class Group, class Reader, class Visit>
  KOKKOS_FUNCTION void move(Group const& group, std::int64_t row, Reader const& read, Range range,
                            Visit const& count) const {
    RefinementState<CompositeKey>& state = state_of(row);
    CompositeKey const low = state.low, high = state.high;
    Appender<CompositeKey, Group> list(group, buffer(group, 0),
                                       {scratch.list(row, state.list == 0 ? 1 : 0)}, &state.moved,
                                       scratch.capacity);
    Output<Group> selected(group, buffer(group, 1), {sink, row, source.wanted(row)}, &state.taken,
                           source.wanted(row));
    auto const visit = [&](CompositeKey composite) {
      selected.add_if(composite > high, composite);
      if (composite < low || composite > high) return;
      list.add_if(true, composite);
      count(composite);
    };
    each_together(group, range, 0, read, visit, [&] { flush_fuller(group, list, selected); });
    list.flush();
    selected.flush();
  }

  template <class Group>
  using Output = Appender<CompositeKey, Group, PutFromEnd<Bits, CompositeKey>>;

  /// Ends a pass: the way that holds the k-th composite key is the next interval.
  template <class Group>
  KOKKOS_FUNCTION void advance(Group const& group, std::int64_t row) const {
    RefinementState<CompositeKey>& state = state_of(row);
    group.barrier();
    if (group.rank() == 0) {
      if (state.moves) change_source(state);
      choose_way(state, splitters_of(row), scratch.counts + row * ways);
      std::int64_t const left = state.reaching - state.above;
      state.settled = state.reaching == state.want;
      state.moves = left <= scratch.capacity && 2 * left <= state.size;
      ++state.pass;
      for (int w = 0; w < ways; ++w) scratch.counts[row * ways + w] = 0;
      tally(Count::passes, 1);
    }
    group.barrier();
    if (!state.settled) split(group, row);
  }

  KOKKOS_FUNCTION static void change_source(RefinementState<CompositeKey>& state) {
    state.list = state.list == 0 ? 1 : 0;
    state.size = state.reaching - state.above;
    state.want -= state.above;
    state.reaching = state.size;
    state.above = 0;
    state.moved = 0;
    tally(Count::composites_written, state.size);
  }

  KOKKOS_FUNCTION static void choose_way(RefinementState<CompositeKey>& state,
                                         CompositeKey const* splitters, Count64 const* counts) {
    std::int64_t reached = 0;
    int w = ways - 1;
    for (; w > 0; --w) {
      std::int64_t const next = reached + static_cast<std::int64_t>(counts[w]);
      if (next >= state.want) {
        state.low = splitters[w];
        state.reaching = next;
        break;
      }
      reached = next;
    }
    if (w == ways - 1) return;
    state.high = splitters[w + 1] - 1;
    state.above = reached;
  }

  /// Stores the selected keys of a settled row. For any other row it writes what is left to radix, which reads list 0
  /// or the source.
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t row, std::int64_t part) const {
    RefinementState<CompositeKey>& state = state_of(row);
    if (part == 0 && group.rank() == 0) {
      bool const in_list = state.list >= 0 || state.settled;
      bool const done = state.settled;
      auto const left = static_cast<Count64>(done ? 0 : state.size);
      scratch.validations[row] = {left, in_list};
      if (scratch.unmoved != nullptr) scratch.unmoved[row] = {left, !in_list};
      scratch.rest[row] = done ? 0 : state.want;
    }
    Range const range = part_of(state.size, part, scratch.parts);
    if (!state.settled) {
      if (state.list == 1)
        each(group, range.begin, range.end,
             [&](std::int64_t i) { scratch.list(row, 0)[i] = scratch.list(row, 1)[i]; });
      return;
    }
    if (state.want == 0) return;
    if (group.rank() == 0) tally(reads(state), range.end - range.begin);
    if (state.list < 0)
      take(group, row, source.reader(row), range);
    else
      take(group, row, reader(row, state.list), range);
  }

  template <class Group, class Reader>
  KOKKOS_FUNCTION void take(Group const& group, std::int64_t row, Reader const& read,
                            Range range) const {
    CompositeKey const low = state_of(row).low;
    Output<Group> selected(group, buffer(group, 0), {sink, row, source.wanted(row)},
                           &state_of(row).taken, source.wanted(row));
    each_together(
        group, range, 0, read,
        [&](CompositeKey composite) { selected.add_if(composite >= low, composite); },
        [&] { flush_fuller(group, selected); });
    selected.flush();
  }

  KOKKOS_FUNCTION bool goes_on(std::int64_t row) const {
    return !state_of(row).settled && state_of(row).pass < Splitters::passes;
  }
};

}  // namespace ktopk::detail
