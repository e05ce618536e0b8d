// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "select.hpp"

// The kernels of radix, and what each thread does in them. The first kernel begins every row, and completes the rows
// that one thread has to itself. Then come the passes over the rows that threads share, whose tasks are laid out anew
// after each pass (RadiK's task rescheduling, Li et al., ICS '24, 3.2.1). At the end a kernel gathers their selected
// keys. A single row needs no list: it is read in equal parts.

namespace ktopk::detail::host {

/// Counts a piece in parts, so that no count is too large for the histogram, and calls add(bin, count) for the counts
/// of each part.
template <class Selection, class Add>
void count_by_parts(Selection const& selection, RadixPiece const& piece, unsigned* histogram,
                    Add const& add) {
  auto& state = selection.scratch.row_states[piece.row];
  int const bins = selection.bins();
  std::int64_t const most = selection.scratch.most_lines;
  RadixPiece part = piece;
  do {
    bool const is_last = piece.lines.end - part.lines.begin <= most;
    part.lines.end = is_last ? piece.lines.end : part.lines.begin + most;
    std::fill_n(histogram, bins, 0u);
    selection.count_part(state, part, histogram);
    for (int b = 0; b < bins; ++b)
      if (histogram[b] != 0) add(b, static_cast<Count64>(histogram[b]));
    part.lines.begin = part.lines.end;
  } while (part.lines.begin < piece.lines.end);
}

/// The start of every row, and all the rest of a row that one thread has to itself.
template <class Selection>
struct RadixRows {
  Selection selection;
  RadixNext next;

  void operator()(std::int64_t index) const {
    Range const rows = rows_of(index);
    for (std::int64_t row = rows.begin; row < rows.end; ++row)
      if (selection.is_shared(row) && is_admitted())
        share(row);
      else
        select(row);
  }

 private:
  /// Begins one row, or as many ragged rows as are about an equal share of all keys.
  Range rows_of(std::int64_t index) const {
    if (selection.scratch.row_groups == selection.scratch.rows) return {index, index + 1};
    return {row_behind(index), row_behind(index + 1)};
  }
  std::int64_t row_behind(std::int64_t groups) const {
    std::int64_t const rows = selection.scratch.rows, all_groups = selection.scratch.row_groups;
    if (groups == all_groups) return rows;
    std::int64_t const keys = keys_before(rows) / all_groups * groups;
    return first_place_behind(std::int64_t{0}, rows,
                              [&](std::int64_t row) { return keys_before(row) < keys; });
  }
  /// An empty row takes as long as 512 keys. Of rows that say where they end, only the row itself says how long it is:
  /// they count alike.
  std::int64_t keys_before(std::int64_t row) const {
    auto const& rows = selection.source.problem.rows;
    return 512 * row + (rows.ends ? 0 : rows.begin(row));
  }

  /// Whether there is a place among the shared rows for one more.
  bool is_admitted() const {
    RadixSchedule const& schedule = selection.scratch.schedule;
    return !schedule.claims_are_limited ||
           schedule.claim(RadixClaim::shared_row, 1) < schedule.capacity;
  }

  /// Enlists the row and clears the histogram that is its own from now on.
  void share(std::int64_t row) const {
    auto& state = selection.scratch.row_states[row];
    selection.begin(row);
    state.slot = next.enlist(selection, row);
    if (state.settled) return;
    std::int64_t const bins = selection.bins();
    std::fill_n(selection.scratch.histograms + state.slot * bins, bins, Count64{0});
  }

  /// The bins for a row: ragged rows may be much shorter than a histogram for the longest.
  void select(std::int64_t row) const {
    if (selection.select_in_cache(row)) return;
    Selection own = selection;
    own.suit_digits(selection.source.size(row));
    select_by_digits(own, row);
  }

  static void select_by_digits(Selection const& selection, std::int64_t row) {
    auto& state = selection.scratch.row_states[row];
    int const bins = selection.bins();
    ThreadArray<unsigned> const memory(bins);
    unsigned* const histogram = memory.get();
    selection.begin(row);
    ThreadArray<Count64> const memory_of_totals(bins);
    Count64* const totals = memory_of_totals.get();
    auto const whole = [&] { return RadixPiece{row, {0, selection.lines_left(row)}, 1}; };
    while (!state.settled) {
      bool const filtered = selection.filters(state, row);
      std::fill_n(totals, bins, Count64{0});
      count_by_parts(selection, whole(), histogram,
                     [&](int b, Count64 count) { totals[b] += count; });
      selection.choose(state, totals, filtered, row);
    }
    selection.gather_part(whole());
  }
};

/// A part of a row that all threads share. Each part exists even without lines, because what is left of the row changes
/// as soon as the last part was read.
template <class Selection>
RadixPiece part_of_only_row(std::int64_t index, Selection const& selection) {
  std::int64_t const lines = selection.lines_left(0), parts = selection.scratch.parts;
  RadixShares const shares{nullptr, 0, lines, (lines + parts - 1) / parts};
  return {0, shares.of_group(index), parts};
}

/// Calls body(piece) for every piece of part `index`, of the rows in a list or of the only row.
template <class Selection, class Body>
void for_each_piece(std::int64_t index, Selection const& selection, RadixTaskList const& list,
                    Body const& body) {
  if (selection.scratch.rows == 1) return body(host::part_of_only_row(index, selection));
  RadixPiece piece{};
  RadixCursor cursor(list.shares(), index);
  while (cursor.next(piece)) body(piece);
}

/// Returns true in the thread that is the last of `count` to arrive; it sees what the others wrote.
inline bool last_to_arrive(unsigned* arrived, std::int64_t count) {
  Kokkos::memory_fence();
  bool const last = Kokkos::atomic_fetch_add(arrived, 1u) + 1u == static_cast<unsigned>(count);
  if (last) Kokkos::atomic_store(arrived, 0u);
  Kokkos::memory_fence();
  return last;
}

/// Counts one digit of the rows in a list. The last to read a row merges the counts, chooses a bin, and enlists the row
/// again.
template <class Selection>
struct RadixPass {
  Selection selection;
  RadixTaskList list;
  RadixNext next;

  void operator()(std::int64_t index) const {
    if (selection.scratch.rows == 1 && selection.scratch.row_states[0].settled) return;
    host::for_each_piece(index, selection, list, [&](RadixPiece const& piece) { count(piece); });
  }

 private:
  void count(RadixPiece const& piece) const {
    auto& state = selection.scratch.row_states[piece.row];
    int const bins = selection.bins();
    ThreadArray<unsigned> const histogram(bins);
    bool const filtered = selection.filters(state, piece.row);
    Count64* const merged = selection.scratch.histograms + state.slot * bins;
    count_by_parts(selection, piece, histogram.get(),
                   [&](int b, Count64 count) { Kokkos::atomic_add(&merged[b], count); });
    if (!host::last_to_arrive(&state.arrived, piece.groups)) return;
    selection.choose(state, merged, filtered, piece.row);
    std::fill_n(merged, bins, Count64{0});
    next.enlist(selection, piece.row);
  }
};

template <class Selection>
struct RadixGather {
  Selection selection;
  RadixTaskList list;
  void operator()(std::int64_t index) const {
    host::for_each_piece(index, selection, list,
                         [&](RadixPiece const& piece) { selection.gather_part(piece); });
  }
};

}  // namespace ktopk::detail::host
