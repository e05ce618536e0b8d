// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heap.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../arrange.hpp"
#include "../part_lists.hpp"
#include "heap_lists.hpp"

namespace ktopk::detail {

template <class Bits, class Item>
struct HeapParts {
  PartLists<Bits, Item> lists;
  ItemMap<Bits, Item> map;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    TeamHeaps<Group, Item> const heaps(group, part.wanted);
    Item const* const best = heaps.best_of(map, lists.sink.problem.row_keys(part.row),
                                           lists.sink.problem.key_step, part.range);
    each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, best[slot]); });
  }
};

/// A row of one part needs no list of selected keys: they come in order.
template <class Item>
struct HeapPieces {
  HeapPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace), lists(pieces, device, shape, parts_for_lists(device, shape, 64)) {
    if (lists.parts > 1) winners = Winners<Item>(pieces, shape, options);
  }

  Pieces pieces;
  PartListPieces<Item> lists;
  Winners<Item> winners;
};

KTOPK_INLINE std::size_t Heap<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  return bytes_of<HeapPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Heap<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                        void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    HeapPieces<Item> const work(workspace, device_of(exec), shape, options);
    auto const lists = work.lists.lists(WinnerSink<Bits, Item>{problem, map, work.winners.items});
    launch("ktopk::heap::parts", exec, shape.rows * lists.parts,
           TeamHeaps<ThreadGroup, Item>::shared_bytes(shape.k), HeapParts<Bits, Item>{lists, map});
    select_from_lists("ktopk::heap::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_HEAP(Space) KTOPK_RUN_ON(Heap<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_HEAP)
#undef KTOPK_HEAP

static_assert(Implementation<Heap<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
