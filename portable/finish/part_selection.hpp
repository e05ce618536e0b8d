// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "arrange.hpp"
#include "part_lists.hpp"

// For implementations that read a part of a row once, by a team that keeps the k best of the keys that it has seen.

namespace ktopk::detail {

/// `Team` keeps the keys: best_of returns the best of a range in order, shared_bytes its scratch memory.
template <template <class, class> class Team, class Bits, class CompositeKey>
struct SelectParts {
  PartLists<StoredRows<Bits>, CompositeKey> lists;
  CompositeKeyMap<Bits, CompositeKey> map;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    StoredProblem<Bits> const& problem = lists.sink.problem;
    Team<Group, CompositeKey> team(group, part.wanted);
    CompositeKey const* const best =
        team.best_of(map, problem.rows.pointer(part.row), problem.rows.step, part.range);
    each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, best[slot]); });
  }
};

/// A row of one part needs no list of selected keys: they come in order.
/// \tparam share  keys of a part for each composite key of its list
template <class CompositeKey, int share>
struct PartSelectionLayout {
  PartSelectionLayout(void* workspace, Device const& device, Shape const& shape,
                      Options const& options)
      : layout(workspace), lists(layout, device, shape, parts_for_lists(device, shape, share)) {
    if (lists.parts > 1) selected = SelectedKeys<CompositeKey>(layout, shape, options);
  }

  WorkspaceLayout layout;
  PartListLayout<CompositeKey> lists;
  SelectedKeys<CompositeKey> selected;
};

struct PartSelectionLabels {
  char const* parts;
  char const* lists;
};

template <template <class, class> class Team, template <class> class Layout, class Exec, class Bits>
void select_by_parts(PartSelectionLabels const& labels, Exec const& exec,
                     StoredProblem<Bits> const& problem, Options const& options, void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    Shape const& shape = problem.shape;
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    Layout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    auto const lists = work.lists.lists(
        SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, work.selected.composites});
    launch(labels.parts, exec, shape.rows * lists.parts,
           Team<ThreadGroup, CompositeKey>::shared_bytes(shape.k),
           SelectParts<Team, Bits, CompositeKey>{lists, map});
    select_from_lists(labels.lists, exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.selected);
  });
}

}  // namespace ktopk::detail
