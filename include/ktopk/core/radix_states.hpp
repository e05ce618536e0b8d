// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/radix_digits.hpp>
#include <ktopk/core/radix_tasks.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/testing.hpp>

// What the radix of every backend searches, how the work is divided, and how a row's state changes from pass to pass.

namespace ktopk::detail {

/// Rows of keys. If there are validations, only the unproven rows are searched.
template <Rows R, class CompositeKey>
struct RowsOfKeys {
  Problem<R> problem;
  CompositeKeyMap<typename R::Bits, CompositeKey> map;
  RowValidation const* validations = nullptr;

  static constexpr bool has_gaps = R::has_gaps;

  KOKKOS_FUNCTION bool active(std::int64_t row) const {
    return validations == nullptr || !validations[row].proven;
  }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.length(row); }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const {
    return problem.selected_count(row);
  }
  KOKKOS_FUNCTION Bounds<CompositeKey> bounds(std::int64_t) const { return {0, ~CompositeKey{0}}; }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return problem.rows.begin(row); }
};

/// Rows that are lists of composite keys. Only the proven rows are searched.
template <Rows R, class CompositeKey>
struct RowsOfCompositeKeys {
  Problem<R> problem;
  CompositeKey const* composites;
  std::int64_t stride;
  RowValidation const* validations;

  static constexpr bool has_gaps = false;

  KOKKOS_FUNCTION bool active(std::int64_t row) const { return validations[row].proven; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const {
    return static_cast<std::int64_t>(validations[row].kept);
  }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const {
    return problem.selected_count(row);
  }
  KOKKOS_FUNCTION Bounds<CompositeKey> bounds(std::int64_t) const { return {0, ~CompositeKey{0}}; }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * stride; }
};

/// The groups among which a device divides the rows of a selection.
struct RadixGroups {
  std::int64_t count;
  std::int64_t smallest_part;  // how many keys are worth a group
  std::int64_t least_lines;    // the same of a task in a list

  /// How many groups share a row, so that all have work and no part is tiny.
  std::int64_t of_row(std::int64_t rows, std::int64_t n) const {
    std::int64_t const by_count = rows > 0 ? count / rows : 1;
    return std::max<std::int64_t>(1, std::min(n / smallest_part, by_count));
  }
  /// The length from which on several groups share a row; longer than any row if none is shared.
  std::int64_t shared_from(std::int64_t rows, std::int64_t n) const {
    return of_row(rows, n) > 1 ? 0 : std::numeric_limits<std::int64_t>::max();
  }
  /// The same for the rows of a shape. Ragged rows are shared if they are worth two groups and longer than two equal
  /// shares of all keys; so there are no more of them than half the groups.
  std::int64_t shared_from(Shape const& shape) const {
    if (!shape.ragged || shape.rows == 1) return shared_from(shape.rows, shape.n);
    std::int64_t const groups = std::max<std::int64_t>(1, count);
    return std::max(2 * smallest_part, (2 * shape.n + groups - 1) / groups);
  }
  /// No more rows than these are shared.
  std::int64_t most_shared_rows(std::int64_t rows) const {
    return std::max<std::int64_t>(1, std::min(rows, count / 2));
  }
};

/// A row's part of the buffer, and how many composite keys it can hold.
template <class CompositeKey>
struct RadixBuffer {
  CompositeKey* composites;
  std::int64_t capacity;
};

/// How a selection is divided, and the memory in which it works.
template <class CompositeKey>
struct RadixWorkspace {
  RadixWorkspace() = default;
  /// For lists of no more than n composite keys.
  /// \param buffered  whether there is a buffer of a quarter of `keys` composite keys
  RadixWorkspace(WorkspaceLayout& layout, RadixGroups const& all, std::int64_t rows_,
                 std::int64_t n, std::int64_t keys, bool buffered)
      : RadixWorkspace(layout, all, rows_, n, all.shared_from(rows_, n),
                       buffered ? keys / buffer_share + 1 : 0) {}
  /// For the rows of a shape.
  RadixWorkspace(WorkspaceLayout& layout, RadixGroups const& all, Shape const& shape, bool buffered)
      : RadixWorkspace(layout, all, shape.rows, shape.n, all.shared_from(shape),
                       buffered ? shape.keys() / buffer_share + 1 : 0) {
    if (shape.ragged && rows > 1) schedule.limit_claims(layout);
  }

  static constexpr std::int64_t buffer_share = 4;
  static constexpr int digit_bits_for(std::int64_t n) { return n > 16384 ? 11 : 8; }

  /// How many groups read the rows that are shared.
  std::int64_t groups() const { return rows == 1 ? parts : schedule.groups; }

  std::int64_t rows;
  std::int64_t parts;        // of the only row
  std::int64_t shared_from;  // rows of so many composite keys are shared by groups
  std::int64_t shared_rows;  // no more than these
  int digit_bits;
  std::int64_t most_lines;  // of 64 keys, after which counts are added up
  bool has_totals;          // where a row may have more
  RadixRow<CompositeKey>* row_states;
  Count64* histograms;
  RadixSchedule schedule;
  CompositeKey* buffer;

 private:
  RadixWorkspace(WorkspaceLayout& layout, RadixGroups const& all, std::int64_t rows_,
                 std::int64_t n, std::int64_t shared_from_, std::int64_t capacity)
      : rows(rows_),
        parts(all.of_row(1, n)),
        shared_from(shared_from_),
        shared_rows(shared_from > n ? 0 : all.most_shared_rows(rows)),
        digit_bits(digit_bits_for(n)),
        most_lines(forced_most_counted / keys_of_line),
        has_totals(n > forced_most_counted - keys_of_line),
        row_states(layout.take<RadixRow<CompositeKey>>(rows)),
        histograms(shared_rows > 0 ? layout.take<Count64>(shared_rows << digit_bits) : nullptr),
        schedule(layout, all.count, all.least_lines, rows > 1 ? shared_rows : 0),
        buffer(capacity > 0 ? layout.take<CompositeKey>(capacity) : nullptr) {}
};

/// What the selections of all backends share: their rows and the state of each.
/// \tparam Source  whose rows are searched: size, wanted and bounds of each, and whether it is active
/// \tparam Sink    where the selected keys go
template <class Source, class Sink, class Digits, class Scratch>
struct RadixStates {
  Source source;
  Scratch scratch;
  Sink sink;

  static constexpr bool of_keys = Source::Reader::reads_keys;
  static constexpr Count source_reads = of_keys ? Count::keys_read : Count::composites_read;
  using CompositeKey = std::remove_pointer_t<decltype(Scratch::buffer)>;
  using Row = RadixRow<CompositeKey>;

  KOKKOS_FUNCTION Digits digits() const { return {sink.map, scratch.digit_bits}; }
  KOKKOS_FUNCTION int bins() const { return digits().bins(); }

  /// Whether groups share the row.
  KOKKOS_FUNCTION bool is_shared(std::int64_t row) const {
    return source.size(row) >= scratch.shared_from;
  }

  KOKKOS_FUNCTION void start(Row& state, std::int64_t row) const {
    bool const active = source.active(row);
    std::int64_t const size = active ? source.size(row) : 0;
    std::int64_t const need = active ? source.wanted(row) : 0;
    Bounds<CompositeKey> const bounds =
        active ? source.bounds(row) : Bounds<CompositeKey>{0, ~CompositeKey{0}};
    auto const& map = sink.map;
    CompositeKey const places = map.below_rank();
    CompositeKey const greatest = map.join(map.ordered_bits_of(~CompositeKey{0}), 0) | places;
    CompositeKey const most = bounds.most < greatest ? bounds.most : greatest;
    bool const all = need == 0 || need >= size;
    CompositeKey const least = all ? CompositeKey{0} : bounds.least & ~places;
    Range const buffer_range = buffer_range_for(row, size);
    state = {least, most | places, 0, 0, all, false, 0, need, size, 0, buffer_range, 0, 0, 0};
    digits().next(state);
  }

  KOKKOS_FUNCTION RadixBuffer<CompositeKey> buffer_of(std::int64_t row) const {
    if (scratch.buffer == nullptr) return {nullptr, 0};
    Range const buffer_range = scratch.row_states[row].buffer_range;
    return {scratch.buffer + buffer_range.begin, buffer_range.end - buffer_range.begin};
  }

  /// Whether the pass also moves the keys that may still be selected to the buffer.
  KOKKOS_FUNCTION bool filters(Row const& state, std::int64_t row) const {
    return !state.in_buffer && state.left < source.size(row) &&
           state.left <= buffer_of(row).capacity;
  }

  /// Keeps the bin of the k-th composite key, which holds `left` composite keys; `above` of the row are better.
  KOKKOS_FUNCTION void keep_bin(Row& state, int bin, std::int64_t above, std::int64_t left,
                                bool filtered, std::int64_t row) const {
    state.need -= above;
    state.left = left;
    digits().keep_bin(state, bin);
    state.settled = state.left == state.need;
    if constexpr (of_keys)
      if (!Source::has_gaps && !state.in_buffer && state.left == source.size(row) &&
          digits().is_one_rank(state))
        digits().settle_equal(state, state.left);
    tally(Count::passes, 1);
    if (filtered) tally(Count::composites_written, static_cast<std::int64_t>(state.filled));
    state.in_buffer = state.in_buffer || filtered;
  }

 private:
  /// The row's part of the buffer: where its keys stand among those of all rows, or what it claims first.
  KOKKOS_FUNCTION Range buffer_range_for(std::int64_t row, std::int64_t size) const {
    constexpr std::int64_t share = Scratch::buffer_share;
    if (scratch.buffer == nullptr) return {0, 0};
    if (!scratch.schedule.claims_are_limited) {
      std::int64_t const first = source.first(row);
      return {first / share, (first + size) / share};
    }
    std::int64_t const begin = scratch.schedule.claim(RadixClaim::buffered_composite, size / share);
    std::int64_t const end = begin + size / share;
    return end <= source.problem.shape.keys() / share ? Range{begin, end} : Range{0, 0};
  }
};

/// Where a row is read next: by the next pass, or for its selected keys.
struct RadixNext {
  RadixTaskList pass, gather;

  /// Returns the row's place in the list. By one thread.
  template <class Selection>
  KOKKOS_FUNCTION std::int64_t enlist(Selection const& selection, std::int64_t row) const {
    auto const& state = selection.scratch.row_states[row];
    if (selection.scratch.rows == 1 || (state.settled && state.need == 0)) return 0;
    return (state.settled ? gather : pass).append(row, selection.lines_left(row));
  }
};

}  // namespace ktopk::detail
