// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../finish/arrange.hpp"
#include "../finish/part_lists.hpp"
#include "../run/launch.hpp"
#include "bitonic.hpp"
#include "network.hpp"

// The selection by bitonic from any rows. A filter and a ranking function are fused into it, as in section 5 of the paper:
// rows make keys as they are read, and what a mask leaves out never reaches the network.

namespace ktopk::detail {

inline constexpr int bitonic_vector = 1024;  // composite keys in a group's scratch memory

/// How many runs fit a vector, but no more than `count` composite keys fill.
KOKKOS_INLINE_FUNCTION int bitonic_columns(std::int64_t count, int length) {
  int columns = bitonic_vector / length;
  while (columns > 1 && columns / 2 * length >= count) columns /= 2;
  return columns;
}

/// Two vectors, and the number of keys in one.
template <class CompositeKey>
inline constexpr int bitonic_shared_bytes =
    2 * bitonic_vector * static_cast<int>(sizeof(CompositeKey)) + 16;

/// Fills vectors with the composite keys of a range, which read(i) returns.
template <class Group, class Read>
struct FillInOrder {
  Group const& group;
  Range left;
  Read const& read;

  template <class CompositeKey>
  KOKKOS_FUNCTION bool operator()(Runs<CompositeKey> const& runs) {
    each(group, 0, runs.size(), [&](std::int64_t i) {
      std::int64_t const at = left.begin + i;
      runs.composites[i] = at < left.end ? read(at) : CompositeKey{0};
    });
    group.barrier();
    left.begin += runs.size();
    return left.begin < left.end;
  }
};

/// Fills vectors with the keys that a range of a row has, one beside the other: the buffer filler of section 5. It reads on
/// until less than a quarter of a vector is open.
template <class Group, class Row, class Map>
struct FillWithPresent {
  Group const& group;
  Range left;
  Row const& row;
  Map const& map;
  int* filled;  // in the group's shared memory

  template <class CompositeKey>
  KOKKOS_FUNCTION bool operator()(Runs<CompositeKey> const& runs) {
    if (group.rank() == 0) *filled = 0;
    group.barrier();
    int held = 0;
    while (left.begin < left.end && 4 * (runs.size() - held) >= runs.size()) held = add(runs, held);
    each(group, held, runs.size(), [&](std::int64_t i) { runs.composites[i] = CompositeKey{0}; });
    group.barrier();
    return left.begin < left.end;
  }

 private:
  /// Adds those among as many positions as there is room for. Returns how many the vector holds then.
  template <class CompositeKey>
  KOKKOS_FUNCTION int add(Runs<CompositeKey> const& runs, int held) {
    std::int64_t const room = runs.size() - held;
    std::int64_t const end = left.end - left.begin < room ? left.end : left.begin + room;
    each(group, left.begin, end, [&](std::int64_t i) {
      if (row.holds(i))
        runs.composites[group.fetch_add(filled, 1)] = map(row[i], static_cast<std::uint64_t>(i));
    });
    left.begin = end;
    group.barrier();
    int const holds = *filled;
    group.barrier();
    return holds;
  }
};

/// Puts the best of a group's part of a row; `fill` fills vectors with them. If they are fewer than wanted, zeros come last.
template <class Group, class R, class CompositeKey, class Fill>
KOKKOS_FUNCTION void put_best_of_part(Group const& group, PartLists<R, CompositeKey> const& lists,
                                      RowPart const& part, Fill&& fill) {
  CompositeKey* const composites = group.template shared<CompositeKey>();
  int length = 1;
  while (length < part.wanted) length *= 2;
  CompositeKey const* const run =
      best_run(TeamSteps<Group>{group}, composites, composites + bitonic_vector, length,
               bitonic_columns(part.length(), length), fill);
  each(group, 0, part.wanted, [&](std::int64_t slot) {
    CompositeKey composite = run[slot];
    if constexpr (R::has_gaps)
      if (composite == 0)
        composite = lists.sink.map.gap(static_cast<std::uint64_t>(part.range.begin + slot));
    lists.put(part, slot, composite);
  });
}

template <Rows R, class CompositeKey>
struct BitonicParts {
  PartLists<R, CompositeKey> lists;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    auto const& map = lists.sink.map;
    auto const row = lists.sink.problem.rows.row(part.row);
    if constexpr (R::has_gaps) {
      auto* const filled = group.template shared<int>(2 * bitonic_vector * sizeof(CompositeKey));
      put_best_of_part(group, lists, part,
                       FillWithPresent<Group, RowOf<R>, std::remove_cvref_t<decltype(map)>>{
                           group, part.range, row, map, filled});
    } else {
      auto const read = [&](std::int64_t i) { return composite_at(map, row, i); };
      put_best_of_part(group, lists, part,
                       FillInOrder<Group, decltype(read)>{group, part.range, read});
    }
    if (group.rank() == 0) part.tally_read();
  }
};

template <class CompositeKey>
struct BitonicLayout {
  BitonicLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        lists(layout, device, shape, parts_of_row(device, shape.rows, shape.n)),
        selected(layout, shape, options) {}
  WorkspaceLayout layout;
  PartListLayout<CompositeKey> lists;
  SelectedKeys<CompositeKey> selected;
};

template <class Exec, Rows R>
void Bitonic<Generic>::run(Exec const& exec, Problem<R> const& problem, Options const& options,
                           void* workspace) {
  with_composite_keys(problem, options.ties, [&](auto const& map) {
    using CompositeKey = decltype(map.below_rank());
    Shape const& shape = problem.shape;
    BitonicLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    auto const lists =
        work.lists.lists(SelectedSink<R, CompositeKey>{problem, map, work.selected.composites});
    launch("ktopk::bitonic::parts", exec, shape.rows * lists.parts,
           bitonic_shared_bytes<CompositeKey>, BitonicParts<R, CompositeKey>{lists});
    select_from_lists("ktopk::bitonic::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.selected);
  });
}

}  // namespace ktopk::detail
