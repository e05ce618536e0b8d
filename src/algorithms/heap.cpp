// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heap.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../arrange.hpp"
#include "../part_lists.hpp"
#include "heap_lists.hpp"

namespace ktopk::detail {

template <class Bits, class CompositeKey>
struct HeapParts {
  PartLists<Bits, CompositeKey> lists;
  CompositeKeyMap<Bits, CompositeKey> map;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    TeamHeaps<Group, CompositeKey> const heaps(group, part.wanted);
    CompositeKey const* const best = heaps.best_of(map, lists.sink.problem.row_keys(part.row),
                                                   lists.sink.problem.key_step, part.range);
    each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, best[slot]); });
  }
};

/// A row of one part needs no list of selected keys: they come in order.
template <class CompositeKey>
struct HeapLayout {
  HeapLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace), lists(layout, device, shape, parts_for_lists(device, shape, 64)) {
    if (lists.parts > 1) selected = SelectedKeys<CompositeKey>(layout, shape, options);
  }

  WorkspaceLayout layout;
  PartListLayout<CompositeKey> lists;
  SelectedKeys<CompositeKey> selected;
};

KTOPK_INLINE std::size_t Heap<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  return bytes_of<HeapLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Heap<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                        void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    Shape const& shape = problem.shape;
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    HeapLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    auto const lists =
        work.lists.lists(SelectedSink<Bits, CompositeKey>{problem, map, work.selected.composites});
    launch("ktopk::heap::parts", exec, shape.rows * lists.parts,
           TeamHeaps<ThreadGroup, CompositeKey>::shared_bytes(shape.k),
           HeapParts<Bits, CompositeKey>{lists, map});
    select_from_lists("ktopk::heap::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_HEAP(Space) KTOPK_RUN_ON(Heap<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_HEAP)
#undef KTOPK_HEAP

static_assert(Implementation<Heap<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
