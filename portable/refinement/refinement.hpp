// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../finish/arrange.hpp"
#include "../radix/radix.hpp"
#include "../run/launch.hpp"
#include "rows.hpp"

// Partition refinement, which bucket, sample and quick share. The k-th composite key of a row of keys, or of a list,
// lies in an interval. A few splitters divide it, a read counts the composite keys that reach each of them, and the
// part that holds the k-th is the next interval. When few are left in it, the read that counts also moves them to a
// list and stores those above it as selected. The three algorithms differ in their splitters alone. After a fixed
// number of passes radix selects from what is left.

namespace ktopk::detail {

template <class Work>
struct RefinementBegin {
  Work work;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { work.begin(row); }
};

/// Rows that several groups share: the last group of a row completes the step for the whole row.
template <class Work>
struct RefinementStart {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = work.scratch.parts, row = group.index() / parts;
    work.find_extremes(group, row, group.index() % parts);
    if (last_to_arrive(group, &work.state_of(row).arrived, parts, work.flag(group)))
      work.start(group, row);
  }
};

template <class Work>
struct RefinementPass {
  static constexpr std::int64_t small = 8192;
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = work.scratch.parts, row = group.index() / parts;
    auto& state = work.state_of(row);
    if (!work.goes_on(row)) return;
    work.pass(group, row, group.index() % parts, parts);
    if (!last_to_arrive(group, &state.arrived, parts, work.flag(group))) return;
    work.advance(group, row);
    while (work.goes_on(row) && state.list >= 0 && state.size <= small) {
      work.pass(group, row, 0, 1);
      work.advance(group, row);
    }
  }
};

template <class Work>
struct RefinementFinish {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = work.scratch.parts;
    work.finish(group, group.index() / parts, group.index() % parts);
  }
};

/// Rows that one group has to itself: it runs all passes.
template <class Work>
struct RefineWholeRow {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    if (group.rank() == 0) work.begin(row);
    group.barrier();
    work.find_extremes(group, row, 0);
    group.barrier();
    work.start(group, row);
    while (work.goes_on(row)) {
      work.pass(group, row, 0, 1);
      work.advance(group, row);
    }
    work.finish(group, row, 0);
  }
};

/// Refines all rows and stores the selected keys of those that are settled.
template <class Exec, class Work>
void refine(Exec const& exec, Work const& work, int most_passes, RefinementLabels const& labels) {
  std::int64_t const rows = work.sink.problem.shape.rows;
  std::int64_t const groups = rows * work.scratch.parts;
  if (work.scratch.parts == 1) {
    launch(labels.rows, exec, rows, Work::shared_bytes, RefineWholeRow<Work>{work});
    return;
  }
  launch_each(labels.begin, exec, rows, RefinementBegin<Work>{work});
  launch(labels.start, exec, groups, Work::shared_bytes, RefinementStart<Work>{work});
  for (int pass = 0; pass < most_passes; ++pass)
    launch(labels.pass, exec, groups, Work::shared_bytes, RefinementPass<Work>{work});
  launch(labels.finish, exec, groups, Work::shared_bytes, RefinementFinish<Work>{work});
}

/// The memory of a refinement, and of radix, which may have to finish it.
template <class CompositeKey>
struct RefinementWork {
  RefinementWork() = default;
  RefinementWork(WorkspaceLayout& layout, Device const& device, RefinementSizes const& sizes,
                 int ways, RadixScratch<CompositeKey> const& of_source)
      : scratch(layout, device, sizes, ways),
        finish(layout, device, sizes.rows, scratch.capacity, 0, false),
        fallback(of_source) {}

  RefinementScratch<CompositeKey> scratch;
  RadixScratch<CompositeKey> finish;
  RadixScratch<CompositeKey> fallback;
};

/// The rows of a source whose remaining composite keys still lie there.
template <class Bits, class CompositeKey>
KeySource<StoredRows<Bits>, CompositeKey> unmoved(KeySource<StoredRows<Bits>, CompositeKey> keys,
                                                  RefinementScratch<CompositeKey> const& scratch) {
  keys.validations = scratch.validations;
  return keys;
}
template <class Bits, class CompositeKey>
ListSource<StoredRows<Bits>, CompositeKey> unmoved(ListSource<StoredRows<Bits>, CompositeKey> lists,
                                                   RefinementScratch<CompositeKey> const& scratch) {
  lists.validations = scratch.unmoved;
  return lists;
}

/// Puts the k best composite keys of every active row of `source` into `sink`, in any order. It refines, and leaves the
/// rest to radix.
template <class Splitters, class Exec, class Source, class Bits, class CompositeKey>
void refine_and_select(Exec const& exec, Source const& source,
                       RefinementWork<CompositeKey> const& work,
                       SelectedSink<StoredRows<Bits>, CompositeKey> const& sink) {
  RefinementScratch<CompositeKey> const& scratch = work.scratch;
  refine(exec, PartitionRefinement<Splitters, Source, Bits, CompositeKey>{source, scratch, sink},
         Splitters::passes, Splitters::labels);
  StoredProblem<Bits> rest = sink.problem;
  rest.wanted = {scratch.rest, 1, sizeof(std::int64_t)};
  radix_select(exec,
               ListSource<StoredRows<Bits>, CompositeKey>{rest, scratch.lists, 2 * scratch.capacity,
                                                          scratch.validations},
               work.finish, sink);
  radix_select(exec, unmoved(source, scratch), work.fallback, sink);
}

template <class CompositeKey>
struct RefinementLayout {
  RefinementLayout(void* workspace, Device const& device, Shape const& shape,
                   Options const& options, int ways)
      : layout(workspace),
        selected(layout, shape, options),
        work(layout, device, {shape.rows, shape.n, shape.keys() / shape.rows}, ways,
             {layout, device, shape, false}) {}

  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  RefinementWork<CompositeKey> work;
};

/// A whole implementation: it selects and arranges.
template <class Splitters, class Exec, class Bits>
void select_by(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
               void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    auto const map =
        make_composite_key_map<CompositeKey>(problem.rank, problem.shape.n, options.ties);
    RefinementLayout<CompositeKey> const layout(workspace, device_of(exec), problem.shape, options,
                                                Splitters::ways);
    refine_and_select<Splitters>(
        exec, KeySource<StoredRows<Bits>, CompositeKey>{problem, map}, layout.work,
        SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, layout.selected.composites});
    arrange(exec, problem, map, layout.selected);
  });
}

template <class Splitters>
std::size_t refinement_bytes(Device const& device, Shape const& shape, Options const& options) {
  return bytes_of<RefinementLayout>(device, shape, options, Splitters::ways);
}

}  // namespace ktopk::detail
