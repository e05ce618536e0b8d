// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/counters.hpp>

#include "../finish/arrange.hpp"
#include "aim.hpp"
#include "passes.hpp"
#include "radix.hpp"
#include "reading.hpp"

// The selection by radix from any rows.

namespace ktopk::detail {

template <class Source, Rows R, class CompositeKey>
using RadixStatesOf =
    RadixStates<Source, SelectedSink<R, CompositeKey>,
                RadixDigits<typename R::Bits, CompositeKey, Source::Reader::reads_keys>,
                RadixScratch<CompositeKey>>;

template <class Source, Rows R, class CompositeKey>
struct RadixSelection : RadixStatesOf<Source, R, CompositeKey> {
  using Bits = typename R::Bits;
  using States = RadixStatesOf<Source, R, CompositeKey>;
  using States::bins, States::buffer_of, States::digits;
  using States::of_keys, States::source_reads, States::source, States::scratch, States::sink;
  using Aim = RadixAim<Source, Bits, CompositeKey>;

  /// Keys of a byte have fewer values than a digit.
  static constexpr bool may_bracket = of_keys && sizeof(Bits) > 1;

  KOKKOS_FUNCTION Aim aim() const { return {source, digits()}; }

  /// Sets the state of a row before its first pass. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void begin(Group const& group, std::int64_t row) const {
    RadixRow<CompositeKey>& state = scratch.row_states[row];
    if (group.rank() == 0) this->start(state, row);
    group.barrier();
    if (!state.settled && aim().is_worth_it(state))
      aim().first(group, state, row, group.template shared<std::byte>());
    group.barrier();
  }

  /// Whether the first pass takes the k-th to be in the inner bins of its digit, and selects all keys above them: then
  /// it reads the row for the last time. That was right if the k-th is there, and the buffer holds all keys in them.
  KOKKOS_FUNCTION bool brackets(RadixRow<CompositeKey> const& state, std::int64_t row) const {
    bool const aimed = state.base != state.low;
    if (!may_bracket || state.in_buffer || !aimed) return false;
    return is_narrow(state, buffer_of(row).capacity);
  }
  KOKKOS_FUNCTION bool is_narrow(RadixRow<CompositeKey> const& state, std::int64_t capacity) const {
    return aim().expected_inside(state) < 0.8 * static_cast<double>(capacity);
  }
  KOKKOS_FUNCTION bool filters(RadixRow<CompositeKey> const& state, std::int64_t row) const {
    return States::filters(state, row) || brackets(state, row);
  }
  /// The inner bins of the first digit.
  KOKKOS_FUNCTION Bounds<CompositeKey> inside(RadixRow<CompositeKey> const& state) const {
    CompositeKey const least = state.base + (CompositeKey{1} << state.shift);
    CompositeKey const span = (static_cast<CompositeKey>(state.last - 1) << state.shift) - 1;
    return {least, state.high - least > span ? least + span : state.high};
  }

  /// The counts of a row that a group has to itself, if the shape has rows so long that 32 bits do not hold them.
  template <class Group>
  KOKKOS_FUNCTION Count64* totals(Group const& group) const {
    auto const begin =
        static_cast<std::size_t>(radix_totals_begin<CompositeKey>(scratch.digit_bits));
    return group.template shared<Count64>(begin);
  }

  /// What a pass has to read of a row.
  KOKKOS_FUNCTION std::int64_t lines_left(std::int64_t row) const {
    RadixRow<CompositeKey> const& state = scratch.row_states[row];
    if (state.in_buffer) return lines_of(static_cast<std::int64_t>(state.filled));
    return lines_of(source.size(row) + source.reader(row).lead(0));
  }

  template <class Group>
  KOKKOS_FUNCTION static void tally_read(Group const& group, Count what, Range range) {
    if (group.rank() == 0) tally(what, range.end - range.begin);
  }

  KOKKOS_FUNCTION RadixReading<R, CompositeKey, of_keys> reading(RadixRow<CompositeKey>& state,
                                                                 std::int64_t row) const {
    return {state, row, source.problem.selected_count(row), digits(), sink};
  }

  using ListReader = typename ListSource<R, CompositeKey>::Reader;

  template <class Group>
  KOKKOS_FUNCTION void count_part(Group const& group, RadixRow<CompositeKey>& state,
                                  RadixPiece const& piece, unsigned* histogram) const {
    std::int64_t const row = piece.row;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      auto const filled = static_cast<std::int64_t>(state.filled);
      Range const held = keys_in(piece.lines, filled, 0);
      part.count(group, ListReader{buffer_of(row).composites}, held, state.left == filled,
                 histogram);
      tally_read(group, Count::composites_read, held);
      return;
    }
    auto const read = source.reader(row);
    Range const range = keys_in(piece.lines, source.size(row), read.lead(0));
    tally_read(group, source_reads, range);
    if constexpr (may_bracket)
      if (brackets(state, row))
        return part.bracket(group, read, range, inside(state),
                            part.lists(group, histogram, buffer_of(row)), histogram);
    if (filters(state, row))
      part.filter(group, read, range, histogram, buffer_of(row));
    else
      part.count(group, read, range, state.left == source.size(row), histogram);
  }

  /// Whether all rows are alike, and the first pass is to bracket them. It may bracket one whose digit was not aimed,
  /// too, but then another pass reads that row again.
  bool brackets_all() const {
    auto const& problem = source.problem;
    bool const are_alike =
        !problem.shape.ragged && !problem.wanted && source.validations == nullptr;
    if (!are_alike || !this->is_shared(0) || scratch.has_totals) return false;
    RadixRow<CompositeKey> state{};
    state.need = problem.shape.k;
    state.left = problem.shape.n;
    std::int64_t const capacity =
        scratch.buffer == nullptr ? 0 : state.left / RadixScratch<CompositeKey>::buffer_share;
    return state.need < state.left && aim().is_worth_it(state) && is_narrow(state, capacity);
  }
  /// How many neighboring rows a team takes in the first pass.
  int rows_together(int most) const {
    if (!source.problem.rows.are_neighbors() || !brackets_all()) return 1;
    while (scratch.rows % most != 0) most /= 2;
    return most;
  }
  /// The shared memory of each group of a team that takes several rows.
  KOKKOS_FUNCTION static int bracket_bytes(int rows) {
    return 32 + (radix_lists_bytes<CompositeKey> - 32) / rows;
  }
  /// Brackets a part of a row, by a group of a team that takes several rows.
  template <class Group>
  KOKKOS_FUNCTION void bracket_part(Group const& group, std::int64_t row, Range range,
                                    int rows) const {
    RadixRow<CompositeKey>& state = scratch.row_states[row];
    Count64* const histogram = scratch.histograms + state.slot * bins();
    auto const part = reading(state, row);
    tally_read(group, source_reads, range);
    part.bracket(group, source.reader(row), range, inside(state),
                 {part, group, group.template shared<std::byte>(), radix_held<CompositeKey> / rows,
                  histogram, buffer_of(row)},
                 histogram);
  }

  /// Finds the digit of the k-th composite key in the histogram, and keeps its bin.
  template <class Group, class Count>
  KOKKOS_FUNCTION void choose(Group const& group, RadixRow<CompositeKey>& state,
                              Count const* histogram, std::int64_t row) const {
    auto const count = [&](int bin) { return static_cast<std::int64_t>(histogram[bin]); };
    int const slice = (bins() + group.size() - 1) / group.size();
    int const top = bins() - 1 - group.rank() * slice;
    std::int64_t const need = state.need;
    std::int64_t sum = 0;
    for (int b = top; b > top - slice && b >= 0; --b) sum += count(b);
    std::int64_t above = group.sum_before(sum);
    if (above < need && need <= above + sum) {
      int bin = top;
      for (; above + count(bin) < need; --bin) above += count(bin);
      keep(state, bin, above, count(bin), row);
    }
    group.barrier();
  }

  KOKKOS_FUNCTION void keep(RadixRow<CompositeKey>& state, int bin, std::int64_t above,
                            std::int64_t here, std::int64_t row) const {
    bool const buffered = has_buffered(state, bin, row);
    if (!state.in_buffer && !buffered) state.emitted = state.filled = 0;
    this->keep_bin(state, bin, above, here, buffered, row);
  }

  /// Whether a pass has moved all keys of a bin to the buffer, and selected those above what is in the buffer.
  KOKKOS_FUNCTION bool has_buffered(RadixRow<CompositeKey> const& state, int bin,
                                    std::int64_t row) const {
    if (!brackets(state, row)) return filters(state, row);
    bool const is_inner = bin > 0 && bin < state.last;
    return is_inner && static_cast<std::int64_t>(state.filled) <= buffer_of(row).capacity;
  }

  template <class Group>
  KOKKOS_FUNCTION void gather_part(Group const& group, RadixPiece const& piece) const {
    std::int64_t const row = piece.row;
    RadixRow<CompositeKey>& state = scratch.row_states[row];
    if (state.need == 0) return;
    auto const part = reading(state, row);
    if (state.in_buffer) {
      Range const held = keys_in(piece.lines, static_cast<std::int64_t>(state.filled), 0);
      part.gather(group, ListReader{buffer_of(row).composites}, held);
      tally_read(group, Count::composites_read, held);
    } else {
      auto const read = source.reader(row);
      Range const range = keys_in(piece.lines, source.size(row), read.lead(0));
      part.gather(group, read, range);
      tally_read(group, source_reads, range);
    }
    if (group.rank() == 0 && piece.lines.begin == 0) tally(Count::passes, 1);
  }
};

template <class Exec, class Source, Rows R, class CompositeKey>
void radix_select(Exec const& exec, Source const& source, RadixScratch<CompositeKey> const& scratch,
                  SelectedSink<R, CompositeKey> const& sink) {
  using Selection = RadixSelection<Source, R, CompositeKey>;
  Selection const selection{source, scratch, sink};
  RadixSchedule const& schedule = scratch.schedule;
  RadixTaskList const gather = schedule.of_gather();
  int const shared = radix_shared_bytes(scratch);
  launch_each("ktopk::radix::clear", exec, schedule.counts(), schedule.clear());
  launch("ktopk::radix::row", exec, scratch.rows, shared,
         RadixRows<Selection>{selection, {schedule.of_pass(0), gather}});
  if (scratch.shared_rows == 0) return;
  int pass = 0;
  if constexpr (Selection::may_bracket && rows_side_by_side<Exec> > 1)
    if (int const rows = selection.rows_together(rows_side_by_side<Exec>); rows > 1) {
      std::int64_t const teams = scratch.rows / rows, parts = scratch.groups() / teams;
      launch("ktopk::radix::side_by_side", exec, teams * parts,
             rows * selection.bracket_bytes(rows),
             RadixSideBySide<Selection>{selection, rows, parts});
      launch("ktopk::radix::conclude", exec, scratch.rows, 0,
             RadixConclude<Selection>{selection, {schedule.of_pass(1), gather}});
      pass = 1;
    }
  constexpr int aimed_in_vain = 1;
  for (; pass < selection.digits().most_passes(aimed_in_vain); ++pass)
    launch("ktopk::radix::digit", exec, scratch.groups(), shared,
           RadixPass<Selection>{
               selection, schedule.of_pass(pass), {schedule.of_pass(pass + 1), gather}});
  launch("ktopk::radix::gather", exec, scratch.groups(), shared,
         RadixGather<Selection>{selection, gather});
}

template <class CompositeKey>
struct RadixLayout {
  RadixLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace), selected(layout, shape, options), scratch(layout, device, shape, true) {}
  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  RadixScratch<CompositeKey> scratch;
};

template <class Exec, Rows R>
void Radix<Generic>::run(Exec const& exec, Problem<R> const& problem, Options const& options,
                         void* workspace) {
  with_composite_keys(problem, options.ties, [&](auto const& map) {
    using CompositeKey = decltype(map.below_rank());
    RadixLayout<CompositeKey> const work(workspace, device_of(exec), problem.shape, options);
    radix_select(exec, KeySource<R, CompositeKey>{problem, map}, work.scratch,
                 SelectedSink<R, CompositeKey>{problem, map, work.selected.composites});
    arrange(exec, problem, map, work.selected);
  });
}

}  // namespace ktopk::detail
