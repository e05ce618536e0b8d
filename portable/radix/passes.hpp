// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/radix_states.hpp>

#include "../group/group.hpp"

// The kernels of radix, and what each group does in them. The first kernel begins every row, and completes the rows
// that a group has to itself. Then come the passes over the rows that groups share, whose tasks are laid out anew after
// each pass (RadiK's task rescheduling, Li et al., ICS '24, 3.2.1). At the end a kernel gathers their selected keys. A
// single row needs no list: its groups take equal parts of it.

namespace ktopk::detail {

template <class Group, class Count>
KOKKOS_FUNCTION void clear(Group const& group, Count* histogram, int bins) {
  each(group, 0, bins, [&](std::int64_t b) { histogram[b] = 0; });
  group.barrier();
}

/// Counts a piece in parts, so that no count is too large for the histogram, and calls add(bin, count) for the counts
/// of each part. All threads call it together.
template <class Group, class Selection, class Add>
KOKKOS_FUNCTION void count_by_parts(Group const& group, Selection const& selection,
                                    RadixPiece const& piece, unsigned* histogram, Add const& add) {
  auto& state = selection.scratch.row_states[piece.row];
  int const bins = selection.bins();
  std::int64_t const most = selection.scratch.most_lines;
  RadixPiece part = piece;
  do {
    bool const is_last = piece.lines.end - part.lines.begin <= most;
    part.lines.end = is_last ? piece.lines.end : part.lines.begin + most;
    clear(group, histogram, bins);
    selection.count_part(group, state, part, histogram);
    group.barrier();
    each(group, 0, bins, [&](std::int64_t b) {
      if (histogram[b] != 0) add(b, static_cast<Count64>(histogram[b]));
    });
    part.lines.begin = part.lines.end;
  } while (part.lines.begin < piece.lines.end);
}

/// The start of every row, and all the rest of a row that one group has to itself.
template <class Selection>
struct RadixRows {
  Selection selection;
  RadixNext next;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    if (selection.is_shared(row) && is_admitted(group))
      share(group, row);
    else
      select(selection, group, row);
  }

 private:
  /// Whether there is a place among the shared rows for one more. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION bool is_admitted(Group const& group) const {
    RadixSchedule const& schedule = selection.scratch.schedule;
    if (!schedule.claims_are_limited) return true;
    auto* const flag = group.template shared<int>();
    if (group.rank() == 0) *flag = schedule.claim(RadixClaim::shared_row, 1) < schedule.capacity;
    group.barrier();
    bool const admitted = *flag != 0;
    group.barrier();
    return admitted;
  }

  /// Enlists the row and clears the histogram that is its own from now on.
  template <class Group>
  KOKKOS_FUNCTION void share(Group const& group, std::int64_t row) const {
    auto& state = selection.scratch.row_states[row];
    selection.begin(group, row);
    if (group.rank() == 0) state.slot = next.enlist(selection, row);
    group.barrier();
    if (state.settled) return;
    std::int64_t const bins = selection.bins();
    Count64* const merged = selection.scratch.histograms + state.slot * bins;
    each(group, 0, bins, [&](std::int64_t b) { merged[b] = 0; });
  }

  template <class Group>
  KOKKOS_FUNCTION static void select(Selection const& selection, Group const& group,
                                     std::int64_t row) {
    auto& state = selection.scratch.row_states[row];
    int const bins = selection.bins();
    auto* const histogram = group.template shared<unsigned>();
    selection.begin(group, row);
    auto* const totals = selection.totals(group);
    auto const whole = [&] { return RadixPiece{row, {0, selection.lines_left(row)}, 1}; };
    bool const is_long = selection.lines_left(row) > selection.scratch.most_lines;
    while (!state.settled) {
      if (is_long) {
        clear(group, totals, bins);
        count_by_parts(group, selection, whole(), histogram,
                       [&](std::int64_t b, Count64 count) { totals[b] += count; });
        group.barrier();
        selection.choose(group, state, totals, row);
        continue;
      }
      clear(group, histogram, bins);
      selection.count_part(group, state, whole(), histogram);
      group.barrier();
      selection.choose(group, state, histogram, row);
    }
    selection.gather_part(group, whole());
  }
};

/// A group's part of a row that all groups share. Each group has one, even without lines, because what is left of the
/// row changes as soon as the last group has arrived.
template <class Group, class Selection>
KOKKOS_FUNCTION RadixPiece part_of_only_row(Group const& group, Selection const& selection) {
  std::int64_t const lines = selection.lines_left(0), parts = selection.scratch.parts;
  RadixShares const shares{nullptr, 0, lines, (lines + parts - 1) / parts};
  return {0, shares.of_group(group.index()), parts};
}

/// Calls body(piece) for every piece that the group must read of the rows in a list, or of the only row.
template <class Group, class Selection, class Body>
KOKKOS_FUNCTION void for_each_piece(Group const& group, Selection const& selection,
                                    RadixTaskList const& list, Body const& body) {
  bool const one_row = selection.scratch.rows == 1;
  RadixPiece piece{};
  if (one_row) piece = part_of_only_row(group, selection);
  RadixCursor cursor(one_row ? RadixShares{} : list.shares(), group.index());
  for (bool more = one_row || cursor.next(piece); more; more = cursor.next(piece)) body(piece);
}

/// Chooses a bin of a row whose digit all groups have counted, and enlists the row again.
template <class Group, class Selection>
KOKKOS_FUNCTION void conclude(Group const& group, Selection const& selection, RadixNext const& next,
                              std::int64_t row) {
  auto& state = selection.scratch.row_states[row];
  int const bins = selection.bins();
  Count64* const merged = selection.scratch.histograms + state.slot * bins;
  selection.choose(group, state, merged, row);
  each(group, 0, bins, [&](std::int64_t b) { merged[b] = 0; });
  if (group.rank() == 0) next.enlist(selection, row);
}

/// Counts one digit of the rows in a list. The last group of a row concludes the pass.
template <class Selection>
struct RadixPass {
  Selection selection;
  RadixTaskList list;
  RadixNext next;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    if (selection.scratch.rows == 1 && selection.scratch.row_states[0].settled) return;
    for_each_piece(group, selection, list, [&](RadixPiece const& piece) { count(group, piece); });
  }

 private:
  template <class Group>
  KOKKOS_FUNCTION void count(Group const& group, RadixPiece const& piece) const {
    auto& state = selection.scratch.row_states[piece.row];
    int const bins = selection.bins();
    auto* const histogram = group.template shared<unsigned>();
    Count64* const merged = selection.scratch.histograms + state.slot * bins;
    count_by_parts(group, selection, piece, histogram,
                   [&](std::int64_t b, Count64 count) { Kokkos::atomic_add(&merged[b], count); });
    auto* const flag = group.template shared<int>(sizeof(unsigned) * bins);
    if (last_to_arrive(group, &state.arrived, piece.groups, flag))
      conclude(group, selection, next, piece.row);
  }
};

/// The first pass over rows whose keys of one place are neighbors in memory. A team takes the same part of several
/// rows, because a device reads the keys of several at a time. The histograms of so many rows do not fit its memory, so
/// it counts the few keys in the inner bins in those that groups share.
template <class Selection>
struct RadixSideBySide {
  Selection selection;
  int rows;  // of a team
  std::int64_t parts;

  template <class Team>
  KOKKOS_FUNCTION void operator()(Team const& team) const {
    PartOfTeam<Team> const group(team, rows, selection.bracket_bytes(rows));
    std::int64_t const row = team.index() / parts * rows + group.number();
    std::int64_t const part = team.index() % parts;
    selection.bracket_part(group, row, part_of(selection.source.size(row), part, parts), rows);
  }
};

template <class Selection>
struct RadixConclude {
  Selection selection;
  RadixNext next;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    conclude(group, selection, next, group.index());
  }
};

template <class Selection>
struct RadixGather {
  Selection selection;
  RadixTaskList list;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    for_each_piece(group, selection, list,
                   [&](RadixPiece const& piece) { selection.gather_part(group, piece); });
  }
};

}  // namespace ktopk::detail
