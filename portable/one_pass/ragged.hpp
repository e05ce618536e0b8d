// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>

#include <ktopk/core/testing.hpp>

#include "../finish/arrange.hpp"
#include "../run/launch.hpp"
#include "select.hpp"

// one_pass for ragged rows. The host does not know their lengths, so the device samples each row and gives it a list.
// The keys of all rows together are read in chunks, so that many groups share a long row.

namespace ktopk::detail {

/// A group selects at once from all keys of a row up to this length.
inline constexpr std::int64_t whole_row = 4096;

/// How many keys a group samples of a longer row, and which of the samples is the threshold. The bound is that of
/// OnePassPlan (Poisson) in closed form, a little wider.
struct RaggedSample {
  std::int64_t count, order;

  KOKKOS_FUNCTION RaggedSample(std::int64_t n, std::int64_t k)
      : count(n < longer ? whole_row : 4 * whole_row) {
    double const expected =
        static_cast<double>(k) * static_cast<double>(count) / static_cast<double>(n);
    order = static_cast<std::int64_t>(expected + 4.5 * Kokkos::sqrt(expected) + 6);
  }
  /// Whether a sample is the threshold; otherwise the threshold is below all keys.
  KOKKOS_FUNCTION bool has_threshold() const { return order < count / 4 * 3; }

  /// How many keys of the row are expected to reach the threshold.
  KOKKOS_FUNCTION double expected_kept(std::int64_t n) const {
    return static_cast<double>(order) * static_cast<double>(n) / static_cast<double>(count);
  }

 private:
  static constexpr std::int64_t longer = std::int64_t{1} << 22;
};

/// The capacity of a row's list, which is seldom exceeded; all keys if the threshold is below all. It is concave in n.
KOKKOS_INLINE_FUNCTION std::int64_t ragged_capacity(std::int64_t n, std::int64_t k) {
  double const per_sample = static_cast<double>(n) / static_cast<double>(whole_row);
  double const capacity = 1.5 * static_cast<double>(k) +
                          9 * Kokkos::sqrt(per_sample * static_cast<double>(k)) + 25 * per_sample +
                          1;
  return capacity < static_cast<double>(n) ? static_cast<std::int64_t>(capacity) : n;
}

/// A bound on the capacities of all rows together. It is reached if all long rows have the same length, because the
/// capacity is concave.
inline std::int64_t ragged_capacity_of_all(Shape const& shape) {
  std::int64_t const long_rows = std::min(shape.rows, shape.n / whole_row);
  if (long_rows == 0) return 0;
  return long_rows * (ragged_capacity(shape.n / long_rows + 1, shape.k) + 1);
}

/// The threshold, the counts and the list of a row.
template <class CompositeKey>
struct RaggedRow {
  CompositeKey threshold;
  Count64 kept;                  ///< keys that reached the threshold
  Count64 read;                  ///< keys that were compared with it
  std::int64_t first, capacity;  ///< where the list begins, and how many it holds
};

/// The lists of all rows, one behind the other, in the order in which the groups happen to ask for them.
template <class CompositeKey>
struct RaggedKept {
  RaggedKept(WorkspaceLayout& layout, Shape const& shape)
      : capacity(ragged_capacity_of_all(shape)),
        taken(layout.take<Count64>(1)),
        rows(layout.take<RaggedRow<CompositeKey>>(shape.rows)),
        composites(layout.take<CompositeKey>(capacity)) {}

  KOKKOS_FUNCTION CompositeKey threshold(std::int64_t row) const { return rows[row].threshold; }
  KOKKOS_FUNCTION CompositeKey* list(std::int64_t row) const {
    return composites + rows[row].first;
  }
  KOKKOS_FUNCTION SharedList<CompositeKey> shared_list(std::int64_t row) const {
    return {list(row), &rows[row].kept, rows[row].capacity};
  }
  /// Gives a row an empty list. If offsets descend, rows may overlap, and together be longer than all keys: then the
  /// space may be used up, and the list has a capacity of 0.
  KOKKOS_FUNCTION void open(std::int64_t row, CompositeKey threshold_, std::int64_t wanted) const {
    auto const first =
        static_cast<std::int64_t>(Kokkos::atomic_fetch_add(taken, static_cast<Count64>(wanted)));
    bool const fits = first + wanted <= capacity;
    rows[row] = {threshold_, 0, 0, fits ? first : 0, fits ? wanted : 0};
  }

  std::int64_t capacity;
  Count64* taken;
  RaggedRow<CompositeKey>* rows;
  CompositeKey* composites;
};

/// Which neighboring rows each group takes.
struct RowsOfGroup {
  std::int64_t each, rows;

  /// One, unless the rows are many and short: a device starts a group more slowly than a group looks at a length.
  RowsOfGroup(Device const& device, Shape const& shape)
      : each(std::max<std::int64_t>(
            1, std::min(shape.rows / (4 * std::max<std::int64_t>(1, groups_on(device))),
                        2 * whole_row * shape.rows / std::max<std::int64_t>(1, shape.n)))),
        rows(shape.rows) {}

  KOKKOS_FUNCTION std::int64_t groups() const { return (rows + each - 1) / each; }
  KOKKOS_FUNCTION Range of(std::int64_t group) const {
    std::int64_t const begin = group * each, end = begin + each;
    return {begin, end < rows ? end : rows};
  }
};

/// The first row of a range for which wanted(row) is true, or the range's end. All threads call it together.
template <class Group, class Wanted>
KOKKOS_FUNCTION std::int64_t first_wanted(Group const& group, Range rows, Wanted const& wanted) {
  if (rows.end - rows.begin == 1) return wanted(rows.begin) ? rows.begin : rows.end;
  std::int64_t first = rows.end, last = rows.begin;
  for (std::int64_t i = rows.begin + group.rank(); i < rows.end && first == rows.end;
       i += group.size())
    if (wanted(i)) first = i;
  group.merge_extremes(first, last);
  return first;
}

/// Calls body(row) for the rows of a range for which wanted(row) is true, in order. All threads call it together.
template <class Group, class Wanted, class Body>
KOKKOS_FUNCTION void each_wanted(Group const& group, Range rows, Wanted const& wanted,
                                 Body const& body) {
  for (; rows.begin < rows.end; ++rows.begin) {
    rows.begin = first_wanted(group, rows, wanted);
    if (rows.begin < rows.end) body(rows.begin);
    group.barrier();
  }
}

template <class CompositeKey>
struct TakeNothing {
  RaggedKept<CompositeKey> kept;
  KOKKOS_FUNCTION void operator()(std::int64_t) const { *kept.taken = 0; }
};

/// Selects from short rows; gives a threshold and a list to the others.
template <Rows R, class CompositeKey>
struct BeginRagged {
  SelectedSink<R, CompositeKey> sink;
  RaggedKept<CompositeKey> kept;
  RowsOfGroup rows;
  Threshold forced;
  std::int64_t done;  // rows up to this length are selected from elsewhere

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    each_wanted(
        group, rows.of(group.index()),
        [&](std::int64_t row) { return sink.problem.length(row) > done; },
        [&](std::int64_t row) { begin(group, row); });
  }

 private:
  template <class Group>
  KOKKOS_FUNCTION void begin(Group const& group, std::int64_t row) const {
    std::int64_t const n = sink.problem.length(row);
    if (n <= whole_row) return put_best_of_row(group, sink, row);
    std::int64_t const k = sink.problem.selected_count(row);
    if (k == 0) return;
    RaggedSample const sample(n, k);
    CompositeKey threshold =
        sample.has_threshold() ? of_sample(group, row, sample) : CompositeKey{0};
    if (forced == Threshold::too_high) threshold = ~CompositeKey{0};
    if (forced == Threshold::too_low) threshold = CompositeKey{0};
    if (group.rank() == 0)
      kept.open(row, threshold, sample.has_threshold() ? ragged_capacity(n, k) : n);
  }

  template <class Group>
  KOKKOS_FUNCTION CompositeKey of_sample(Group const& group, std::int64_t row,
                                         RaggedSample const& sample) const {
    Problem<R> const& problem = sink.problem;
    Strata const places(problem.length(row), sample.count);
    auto const keys = problem.rows.row(row);
    KthLargest<Group, CompositeKey> const kth_largest(group, group.template shared<std::byte>(),
                                                      sink.map.position_bits);
    if (group.rank() == 0) tally(Count::keys_read, sample.count);
    return kth_largest(sample.count, sample.order, [&](std::int64_t i) {
      return composite_at(sink.map, keys, places.place(i));
    });
  }
};

/// Whether a row has a threshold and a list.
template <Rows R>
KOKKOS_FUNCTION bool has_list(Problem<R> const& problem, std::int64_t row) {
  return problem.length(row) > whole_row && problem.selected_count(row) != 0;
}

/// The one read. Each of the first groups reads the beginnings of some rows, up to the next multiple of a chunk. Each of
/// the others reads a chunk, for the row that holds its first key but began before.
template <Rows R, class CompositeKey>
struct KeepRagged {
  SelectedSink<R, CompositeKey> sink;
  RaggedKept<CompositeKey> kept;
  RowsOfGroup rows;
  std::int64_t chunk;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const at = (group.index() - rows.groups()) * chunk;
    std::int64_t const row = at < 0 ? 0 : row_of(at);
    each_wanted(
        group, at < 0 ? rows.of(group.index()) : Range{row, row + 1},
        [&](std::int64_t i) { return has_list(sink.problem, i); },
        [&](std::int64_t i) {
          std::int64_t const from = at < 0 ? 0 : at - sink.problem.rows.begin(i);
          if (at < 0 || (from > 0 && from < sink.problem.length(i))) keep_from(group, i, from);
        });
  }

 private:
  /// Reads a row from a place to the next multiple of a chunk.
  template <class Group>
  KOKKOS_FUNCTION void keep_from(Group const& group, std::int64_t row, std::int64_t from) const {
    std::int64_t const n = sink.problem.length(row);
    std::int64_t const end = from + chunk - (sink.problem.rows.begin(row) + from) % chunk;
    keep(group, row, {from, end < n ? end : n});
  }

  /// The last row that begins no later than a place among all keys.
  KOKKOS_FUNCTION std::int64_t row_of(std::int64_t place) const {
    std::int64_t low = 0, high = sink.problem.shape.rows;
    while (high - low > 1) {
      std::int64_t const middle = low + (high - low) / 2;
      if (sink.problem.rows.begin(middle) <= place)
        low = middle;
      else
        high = middle;
    }
    return low;
  }

  template <class Group>
  KOKKOS_FUNCTION void keep(Group const& group, std::int64_t row, Range range) const {
    Problem<R> const& problem = sink.problem;
    std::int64_t const n = problem.length(row), length = range.end - range.begin;
    double const share = static_cast<double>(length) / static_cast<double>(n);
    double const expected = RaggedSample(n, problem.selected_count(row)).expected_kept(n) * share;
    keep_part(group, group.template shared<std::byte>(), problem, sink.map, kept,
              {row, range, expected});
    if (group.rank() == 0) Kokkos::atomic_add(&kept.rows[row].read, static_cast<Count64>(length));
  }
};

/// Selects from the lists of long rows. A row is not proven if too few of its keys were kept, if more were than its
/// list holds, or if it was not read as a whole, as may happen if offsets descend.
template <Rows R, class CompositeKey>
struct FinishRagged {
  SelectedSink<R, CompositeKey> sink;
  RaggedKept<CompositeKey> kept;
  RowsOfGroup rows;
  Threshold forced;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    each_wanted(
        group, rows.of(group.index()),
        [&](std::int64_t row) { return has_list(sink.problem, row); },
        [&](std::int64_t row) { finish(group, row); });
  }

 private:
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t row) const {
    std::int64_t const n = sink.problem.length(row), k = sink.problem.selected_count(row);
    RaggedRow<CompositeKey> const& known = kept.rows[row];
    auto const listed = static_cast<std::int64_t>(known.kept);
    bool const proven = forced != Threshold::too_low && listed >= k && listed <= known.capacity &&
                        static_cast<std::int64_t>(known.read) == n;
    if (group.rank() == 0) {
      tally(Count::passes, 1);
      tally(Count::composites_written, listed < known.capacity ? listed : known.capacity);
    }
    if (!proven) return put_best_of_row(group, sink, row);
    CompositeKey const* const list = kept.list(row);
    put_best(group, sink, row, listed, [&](std::int64_t i) { return list[i]; });
  }
};

template <class CompositeKey>
struct RaggedLayout {
  RaggedLayout(void* workspace, Device const&, Shape const& shape, Options const& options)
      : layout(workspace), selected(layout, shape, options), kept(layout, shape) {}

  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  RaggedKept<CompositeKey> kept;
};

/// \param done  rows up to this length are selected from elsewhere; no more than `whole_row`
template <class Exec, Rows R, class CompositeKey>
void select_ragged(Exec const& exec, SelectedSink<R, CompositeKey> const& sink,
                   RaggedKept<CompositeKey> const& kept, std::int64_t done = -1) {
  Shape const& shape = sink.problem.shape;
  Device const device = device_of(exec);
  int const shared = one_pass_shared_bytes<CompositeKey>();
  std::int64_t const chunk =
      std::max(smallest_part(device), shape.n / (4 * std::max<std::int64_t>(1, groups_on(device))));
  launch_each("ktopk::one_pass::ragged::clear", exec, 1, TakeNothing<CompositeKey>{kept});
  RowsOfGroup const rows(device, shape);
  launch("ktopk::one_pass::ragged::threshold", exec, rows.groups(), shared,
         BeginRagged<R, CompositeKey>{sink, kept, rows, forced_threshold, done});
  launch("ktopk::one_pass::ragged::keep", exec, rows.groups() + (shape.n + chunk - 1) / chunk,
         shared, KeepRagged<R, CompositeKey>{sink, kept, rows, chunk});
  launch("ktopk::one_pass::ragged::finish", exec, rows.groups(), shared,
         FinishRagged<R, CompositeKey>{sink, kept, rows, forced_threshold});
}

}  // namespace ktopk::detail
