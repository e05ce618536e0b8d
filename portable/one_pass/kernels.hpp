// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <type_traits>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/testing.hpp>

#include "../finish/arrange.hpp"
#include "../group/kth_largest.hpp"
#include "../radix/radix.hpp"
#include "../run/launch.hpp"
#include "kept.hpp"
#include "one_pass.hpp"
#include "ragged.hpp"
#include "select.hpp"

// The selection by one_pass from any rows.

namespace ktopk::detail {

/// Several groups take a larger sample.
inline constexpr std::int64_t largest_sample_of_group = 4096;
/// Several groups select from a list that is expected to be longer.
inline constexpr double longest_list_of_group = 1 << 17;
/// A longer row that is not proven is sampled again first, because one group takes long for all its keys.
inline constexpr std::int64_t longest_fallback_of_group = 1 << 21;
/// For longer rows radix is the fallback.
inline constexpr std::int64_t longest_counted_by_group = std::int64_t{1} << 31;

/// How many keys of a row are expected to reach the threshold.
KOKKOS_INLINE_FUNCTION double expected_kept(OnePassPlan const& plan, std::int64_t n) {
  return static_cast<double>(plan.order) * static_cast<double>(n) /
         static_cast<double>(plan.samples);
}

template <class CompositeKey>
struct OnePassLayout {
  OnePassLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        plan(one_pass_plan(shape.n, shape.k)),
        parts(parts_of_row(device, shape.rows, shape.n)),
        lists_are_shared(expected_kept(plan, shape.n) > longest_list_of_group),
        fallback_is_shared(shape.n > longest_counted_by_group),
        selected(layout, shape, options),
        samples(layout.take<CompositeKey>(shape.rows * plan.samples)),
        arrived(layout.take<unsigned>(shape.rows)),
        kept(layout, shape.rows, plan.capacity) {
    if (lists_are_shared)
      finish = RadixScratch<CompositeKey>(layout, device, shape.rows, plan.capacity, 0, false);
    if (fallback_is_shared) fallback = RadixScratch<CompositeKey>(layout, device, shape, false);
  }

  WorkspaceLayout layout;
  OnePassPlan plan;
  std::int64_t parts;  // of a row
  bool lists_are_shared, fallback_is_shared;
  SelectedKeys<CompositeKey> selected;
  CompositeKey* samples;
  unsigned* arrived;
  Kept<CompositeKey> kept;
  RadixScratch<CompositeKey> finish{};
  RadixScratch<CompositeKey> fallback{};
};

/// What a group does with a row, or with its part of one.
template <Rows R, class CompositeKey>
struct OnePassRow {
  SelectedSink<R, CompositeKey> sink;
  OnePassPlan plan;
  Threshold forced;
  int attempt;  // 0, or 1 for rows that the first one did not prove
  CompositeKey* samples;
  unsigned* arrived;  // groups of a row
  Kept<CompositeKey> kept;

  KOKKOS_FUNCTION bool is_done(std::int64_t row) const {
    return attempt > 0 && kept.validations[row].proven;
  }

  /// Samples a key of each stratum of a range.
  template <class Group>
  KOKKOS_FUNCTION void take_sample(Group const& group, std::int64_t row, Range strata) const {
    Strata const places(sink.problem.shape.n, plan.samples);
    auto const keys = sink.problem.rows.row(row);
    copy_composites(
        group, strata.end - strata.begin,
        [&](std::int64_t i) {
          return composite_at(sink.map, keys, places.place(strata.begin + i, attempt));
        },
        samples + row * plan.samples + strata.begin);
    if (group.rank() == 0) tally(Count::keys_read, strata.end - strata.begin);
  }

  /// Sets the threshold, an order statistic of the sample, and empties the list. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void set_threshold(Group const& group, std::int64_t row) const {
    group.barrier();
    CompositeKey const* const sample = samples + row * plan.samples;
    KthLargest<Group, CompositeKey> const kth_largest(group, group.template shared<std::byte>(),
                                                      sink.map.position_bits);
    CompositeKey threshold =
        kth_largest(plan.samples, plan.order, [&](std::int64_t i) { return sample[i]; });
    if (forced == Threshold::too_high && attempt == 0) threshold = ~CompositeKey{0};
    if (forced == Threshold::too_low && attempt == 0) threshold = CompositeKey{0};
    if (group.rank() == 0) {
      kept.thresholds[row] = threshold;
      kept.validations[row] = {0, false};
      arrived[row] = 0;
    }
    group.barrier();
  }

  template <class Group>
  KOKKOS_FUNCTION void keep(Group const& group, std::int64_t row, std::int64_t part,
                            std::int64_t parts) const {
    double const expected = expected_kept(plan, sink.problem.shape.n) / static_cast<double>(parts);
    keep_part(group, group.template shared<std::byte>(), sink.problem, sink.map, kept,
              {row, part_of(sink.problem.shape.n, part, parts), expected});
  }

  /// Whether the selected keys are among the kept: these are enough, and the list held them all.
  KOKKOS_FUNCTION bool is_proven(std::int64_t row) const {
    auto const listed = static_cast<std::int64_t>(kept.validations[row].kept);
    return (forced != Threshold::too_low || attempt > 0) &&
           listed >= sink.problem.selected_count(row) && listed <= kept.capacity;
  }
  KOKKOS_FUNCTION void tally_kept(std::int64_t row) const {
    auto const listed = static_cast<std::int64_t>(kept.validations[row].kept);
    tally(Count::passes, 1);
    tally(Count::composites_written, listed < kept.capacity ? listed : kept.capacity);
  }

  /// Selects from the list of a proven row. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t row) const {
    CompositeKey const* const list = kept.list(row);
    put_best(group, sink, row, static_cast<std::int64_t>(kept.validations[row].kept),
             [&](std::int64_t i) { return list[i]; });
  }
  /// Selects from all keys of a row that is not proven. All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void fall_back(Group const& group, std::int64_t row) const {
    put_best_of_row(group, sink, row);
  }
};

/// Takes the samples of all rows; `parts` groups share each.
template <class Row>
struct TakeSamples {
  Row row;
  std::int64_t parts;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const r = group.index() / parts;
    row.take_sample(group, r, part_of(row.plan.samples, group.index() % parts, parts));
  }
};

/// Sets the threshold of each row; the group also takes the sample unless several groups did.
template <class Row>
struct SetThresholds {
  Row row;
  std::int64_t sample_parts;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const r = group.index();
    if (sample_parts == 1) row.take_sample(group, r, {0, row.plan.samples});
    row.set_threshold(group, r);
  }
};

/// The one read: a group keeps the composite keys of its part of a row that reach the threshold.
template <class Row>
struct KeepReaching {
  Row row;
  std::int64_t parts;  // of a row
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const r = group.index() / parts;
    row.keep(group, r, group.index() % parts, parts);
  }
};

/// What happens to a row that is not proven: its keys are selected from all by one group, or by radix later; or another
/// attempt begins with a second sample.
enum class Unproven { group, radix, retry };

/// Validates rows. Selects from the lists unless later kernels do.
template <class Row>
struct FinishRows {
  Row row;
  bool lists_are_shared;
  Unproven unproven;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    finish(group, group.index());
  }
  /// All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t r) const {
    bool const proven = row.is_proven(r);
    group.barrier();
    if (group.rank() == 0) {
      row.kept.validations[r].proven = proven;
      row.tally_kept(r);
    }
    if (proven && !lists_are_shared) row.finish(group, r);
    if (!proven && unproven == Unproven::group) row.fall_back(group, r);
    if (!proven && unproven == Unproven::retry) {
      Row const next = next_attempt();
      next.take_sample(group, r, {0, next.plan.samples});
      next.set_threshold(group, r);
    }
  }
  KOKKOS_FUNCTION Row next_attempt() const {
    Row next = row;
    ++next.attempt;
    return next;
  }
};

/// A further attempt in one kernel, for mostly it finds nothing to do: the read, and the end by the last group of a row.
template <class Row>
struct Retry {
  FinishRows<Row> rows;
  std::int64_t parts;  // of a row
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const r = group.index() / parts;
    if (rows.row.is_done(r)) return;
    rows.row.keep(group, r, group.index() % parts, parts);
    if (last_to_arrive(group, &rows.row.arrived[r], parts, group.template shared<int>()))
      rows.finish(group, r);
  }
};

/// Launches the one read for rows that lie side by side, by so many groups that the shared memory of each holds what it should keep.
template <class Exec, Rows R, class CompositeKey>
void keep_of_neighbors(Exec const& exec, OnePassRow<R, CompositeKey> const& row) {
  using Keep = KeepOfNeighbors<R, CompositeKey>;
  using Lists = NeighborLists<CompositeKey, int>;
  Shape const& shape = row.sink.problem.shape;
  std::int64_t const across = Keep::rows_of_group(group_size<Exec>, shape.rows);
  std::int64_t const blocks = (shape.rows + across - 1) / across;
  std::int64_t const by_device = parts_of_row(device_of(exec), blocks, shape.n * across);
  auto const by_lists = static_cast<std::int64_t>(2 * expected_kept(row.plan, shape.n)) /
                        Lists::kept_of_row(static_cast<int>(across));
  std::int64_t const parts =
      std::max<std::int64_t>(1, std::min(std::max(by_device, by_lists), shape.n / 256));
  launch("ktopk::one_pass::keep", exec, blocks * parts, Lists::bytes,
         Keep{row.sink.problem, row.sink.map, row.kept, parts});
}

template <class Exec, class Body>
void launch_rows(int threads, char const* label, Exec const& exec, std::int64_t rows, int shared,
                 Body const& body) {
  if (threads == wide_team_size)
    launch<wide_team_size>(label, exec, rows, shared, body);
  else
    launch(label, exec, rows, shared, body);
}

/// Enqueues the first attempt. Wide groups are faster if few rows have large samples or long lists; otherwise their
/// barriers only cost.
template <class Exec, Rows R, class CompositeKey>
void attempt(Exec const& exec, FinishRows<OnePassRow<R, CompositeKey>> const& finish,
             std::int64_t parts) {
  using Row = OnePassRow<R, CompositeKey>;
  Row const& row = finish.row;
  OnePassPlan const& plan = row.plan;
  Shape const& shape = row.sink.problem.shape;
  int const shared = one_pass_shared_bytes<CompositeKey>();
  bool const large_sample = parts > 1 && plan.samples > largest_sample_of_group;
  bool const long_list =
      parts > 1 && expected_kept(plan, shape.n) > 4 * team_size * composites_at_once;
  std::int64_t const sample_parts = large_sample ? plan.samples / 1024 : 1;
  if (large_sample)
    launch("ktopk::one_pass::sample", exec, shape.rows * sample_parts, 0,
           TakeSamples<Row>{row, sample_parts});
  launch_rows(large_sample ? wide_team_size : team_size, "ktopk::one_pass::threshold", exec,
              shape.rows, shared, SetThresholds<Row>{row, sample_parts});
  if (shape.rows > 1 && row.sink.problem.rows.are_side_by_side())
    keep_of_neighbors(exec, row);
  else
    launch("ktopk::one_pass::keep", exec, shape.rows * parts, group_list_bytes<CompositeKey>(),
           KeepReaching<Row>{row, parts});
  launch_rows(long_list ? wide_team_size : team_size, "ktopk::one_pass::finish", exec, shape.rows,
              shared, finish);
}

/// Calls `body` with the map of the composite keys of a problem. Computed keys have narrow ones alone, since
/// declines() leaves longer rows out: a caller's file takes a quarter less to compile.
template <Rows R, class Body>
void with_one_pass_keys(Problem<R> const& problem, Ties ties, Body const& body) {
  using Bits = typename R::Bits;
  if constexpr (std::is_same_v<R, StoredRows<Bits>> || sizeof(Bits) != 4)
    with_composite_keys(problem, ties, body);
  else
    body(composite_key_map_of<CompositeKey64>(problem, ties));
}

template <class Exec, Rows R>
void OnePass<Generic>::run(Exec const& exec, Problem<R> const& problem, Options const& options,
                           void* workspace) {
  with_one_pass_keys(problem, options.ties, [&](auto const& map) {
    using CompositeKey = decltype(map.below_rank());
    using Finish = FinishRows<OnePassRow<R, CompositeKey>>;
    Shape const& shape = problem.shape;
    if (shape.ragged) {
      RaggedLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
      select_ragged(exec, SelectedSink<R, CompositeKey>{problem, map, work.selected.composites},
                    work.kept);
      return arrange(exec, problem, map, work.selected);
    }
    OnePassLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    SelectedSink<R, CompositeKey> const sink{problem, map, work.selected.composites};
    bool const retries = shape.n > longest_fallback_of_group && !work.fallback_is_shared;
    Finish finish{{sink, work.plan, forced_threshold, 0, work.samples, work.arrived, work.kept},
                  work.lists_are_shared,
                  work.fallback_is_shared ? Unproven::radix
                  : retries               ? Unproven::retry
                                          : Unproven::group};
    attempt(exec, finish, work.parts);
    if (retries)
      launch("ktopk::one_pass::retry", exec, shape.rows * work.parts,
             one_pass_shared_bytes<CompositeKey>(),
             Retry<OnePassRow<R, CompositeKey>>{
                 {finish.next_attempt(), work.lists_are_shared, Unproven::group}, work.parts});
    if (work.lists_are_shared)
      radix_select(exec,
                   ListSource<R, CompositeKey>{problem, work.kept.composites, work.kept.capacity,
                                               work.kept.validations},
                   work.finish, sink);
    if (work.fallback_is_shared) {
      Kokkos::Profiling::ScopedRegion const region("ktopk::one_pass::fallback");
      radix_select(exec, KeySource<R, CompositeKey>{problem, map, work.kept.validations},
                   work.fallback, sink);
    }
    arrange(exec, problem, map, work.selected);
  });
}

}  // namespace ktopk::detail
