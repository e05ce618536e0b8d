// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "algorithms/radix.hpp"
#include "arrange.hpp"
#include "group.hpp"
#include "narrow_rows.hpp"

// What bucket, sample and quick share. The k-th item of a row, of keys or of a list, lies in an interval of
// items; a few splitters cut it, a read counts what reaches each of them, and the part that holds the k-th is the
// next interval. When few items are left in it, the read that counts also moves them to a list, and
// what is above it to the winners. Implementations differ in their splitters alone. After a fixed number of
// passes radix takes what is left.

namespace ktopk::detail {

template <class Work>
struct NarrowBegin {
  Work work;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { work.begin(row); }
};

/// Rows that several groups share: the last group of a row sees to the whole row.
template <class Work>
struct NarrowStart {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = work.scratch.parts, row = group.index() / parts;
    work.survey(group, row, group.index() % parts);
    if (last_to_arrive(group, &work.state_of(row).arrived, parts, work.flag(group)))
      work.start(group, row);
  }
};

template <class Work>
struct NarrowPass {
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
struct NarrowFinish {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = work.scratch.parts;
    work.finish(group, group.index() / parts, group.index() % parts);
  }
};

/// All passes of a row that one group has to itself.
template <class Work>
struct NarrowWholeRow {
  Work work;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    if (group.rank() == 0) work.begin(row);
    group.barrier();
    work.survey(group, row, 0);
    group.barrier();
    work.start(group, row);
    while (work.goes_on(row)) {
      work.pass(group, row, 0, 1);
      work.advance(group, row);
    }
    work.finish(group, row, 0);
  }
};

/// Narrows all rows and stores the winners of those that are settled.
template <class Exec, class Work>
void narrow(Exec const& exec, Work const& work, int most_passes, NarrowLabels const& labels) {
  std::int64_t const rows = work.sink.problem.shape.rows;
  std::int64_t const groups = rows * work.scratch.parts;
  if (work.scratch.parts == 1) {
    launch(labels.rows, exec, rows, Work::shared_bytes, NarrowWholeRow<Work>{work});
    return;
  }
  launch_each(labels.begin, exec, rows, NarrowBegin<Work>{work});
  launch(labels.start, exec, groups, Work::shared_bytes, NarrowStart<Work>{work});
  for (int pass = 0; pass < most_passes; ++pass)
    launch(labels.pass, exec, groups, Work::shared_bytes, NarrowPass<Work>{work});
  launch(labels.finish, exec, groups, Work::shared_bytes, NarrowFinish<Work>{work});
}

/// Memory of a search and of what radix may have to finish.
template <class Item>
struct NarrowWork {
  NarrowWork() = default;
  NarrowWork(Pieces& pieces, Device const& device, NarrowSizes const& sizes, int ways,
             RadixScratch<Item> const& of_source)
      : scratch(pieces, device, sizes, ways),
        finish(pieces, device, sizes.rows, scratch.capacity, 0, false),
        fallback(of_source) {}

  NarrowScratch<Item> scratch;
  RadixScratch<Item> finish;
  RadixScratch<Item> fallback;
};

/// The rows of a source of which what is left still lies there.
template <class Bits, class Item>
KeySource<Bits, Item> unmoved(KeySource<Bits, Item> keys, NarrowScratch<Item> const& scratch) {
  keys.verdicts = scratch.verdicts;
  return keys;
}
template <class Bits, class Item>
ListSource<Bits, Item> unmoved(ListSource<Bits, Item> lists, NarrowScratch<Item> const& scratch) {
  lists.verdicts = scratch.unmoved;
  return lists;
}

/// Puts the k best items of every active row of `source` into `sink`, in any order: narrows, and leaves the
/// rest to radix.
template <class Splitting, class Exec, class Source, class Bits, class Item>
void narrow_select(Exec const& exec, Source const& source, NarrowWork<Item> const& work,
                   WinnerSink<Bits, Item> const& sink) {
  NarrowScratch<Item> const& scratch = work.scratch;
  narrow(exec, Narrowing<Splitting, Source, Bits, Item>{source, scratch, sink}, Splitting::passes,
         Splitting::labels);
  Problem<Bits> rest = sink.problem;
  rest.wanted = {scratch.rest, 1, sizeof(std::int64_t)};
  radix_select(exec,
               ListSource<Bits, Item>{rest, scratch.lists, 2 * scratch.capacity, scratch.verdicts},
               work.finish, sink);
  radix_select(exec, unmoved(source, scratch), work.fallback, sink);
}

template <class Item>
struct NarrowPieces {
  NarrowPieces(void* workspace, Device const& device, Shape const& shape, Options const& options,
               int ways)
      : pieces(workspace),
        winners(pieces, shape, options),
        work(pieces, device, {shape.rows, shape.n, shape.keys() / shape.rows}, ways,
             {pieces, device, shape, false}) {}

  Pieces pieces;
  Winners<Item> winners;
  NarrowWork<Item> work;
};

/// The whole of an implementation: select, arrange.
template <class Splitting, class Exec, class Bits>
void select_by(Exec const& exec, Problem<Bits> const& problem, Options const& options,
               void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    NarrowPieces<Item> const pieces(workspace, device_of(exec), problem.shape, options,
                                    Splitting::ways);
    narrow_select<Splitting>(
        exec, KeySource<Bits, Item>{problem, map, nullptr, pick_host_loops<Bits>()}, pieces.work,
        WinnerSink<Bits, Item>{problem, map, pieces.winners.items});
    arrange(exec, problem, map, pieces.winners);
  });
}

template <class Splitting>
std::size_t narrow_bytes(Device const& device, Shape const& shape, Options const& options) {
  return bytes_of<NarrowPieces>(device, shape, options, Splitting::ways);
}

}  // namespace ktopk::detail
