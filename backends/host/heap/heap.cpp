// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heap.hpp"

#include <ktopk/core/thread_lists.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "parts.hpp"
#include "scan.hpp"

namespace ktopk::detail {
namespace host {

template <class Bits, class CompositeKey>
struct PutInPart {
  PartLists<Bits, CompositeKey> const& lists;
  RowPart const& part;
  KOKKOS_FUNCTION void operator()(int slot, CompositeKey composite) const {
    lists.put(part, slot, composite);
  }
};

template <class Bits, class CompositeKey>
struct SelectByHeap {
  HostLoops<Bits> loops;

  void operator()(PartLists<Bits, CompositeKey> const& lists, RowPart const& part) const {
    constexpr int most = most_in_registers<CompositeKey>;
    part.tally_read();
    if (part.wanted <= 4) return keep_in_registers<4>(lists, part);
    if (part.wanted <= 8) return keep_in_registers<8>(lists, part);
    if (part.wanted <= most) return keep_in_registers<most>(lists, part);
    keep_in_heap(lists, part);
  }

 private:
  template <int Capacity>
  void keep_in_registers(PartLists<Bits, CompositeKey> const& lists, RowPart const& part) const {
    RegisterList<CompositeKey, Capacity> list(part.wanted);
    offer_all(lists, part, list);
    list.visit(PutInPart<Bits, CompositeKey>{lists, part});
  }

  void keep_in_heap(PartLists<Bits, CompositeKey> const& lists, RowPart const& part) const {
    ThreadArray<CompositeKey> const memory(2 * part.wanted);
    CompositeKey* const composites = memory.get();
    MinHeap<CompositeKey, Contiguous<CompositeKey>> heap({composites}, part.wanted, 0);
    offer_all(lists, part, heap);
    if (lists.are_sorted_by_part()) sort_alone(composites, composites + part.wanted, part.wanted);
    for (std::int64_t slot = 0; slot < part.wanted; ++slot) lists.put(part, slot, composites[slot]);
  }

  template <class Kept>
  void offer_all(PartLists<Bits, CompositeKey> const& lists, RowPart const& part,
                 Kept& kept) const {
    StoredProblem<Bits> const& problem = lists.sink.problem;
    for_each_reaching_best_end_first(
        loops, problem.rows.pointer(part.row), problem.rows.step, lists.sink.map, part.range.begin,
        part.range.end, 64, static_cast<int>(part.wanted), [&] { return kept.threshold(); },
        [&](CompositeKey composite) { kept.offer(composite); });
  }
};

}  // namespace host

KTOPK_INLINE std::size_t Heap<Host>::workspace_bytes(Device const& device, Shape const& shape,
                                                     Options const& options) {
  return bytes_of<host::PartListLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Heap<Host>::run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                     void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    auto const map =
        make_composite_key_map<CompositeKey>(problem.rank, problem.shape.n, options.ties);
    host::PartListLayout<CompositeKey> const work(workspace, device_of(exec), problem.shape,
                                                  options);
    host::PartLists<Bits, CompositeKey> const lists{
        {problem, map, nullptr}, options.sorted, work.parts, work.list};
    host::SelectByHeap<Bits, CompositeKey> const select{pick_host_loops<Bits>()};
    std::int64_t const rows = problem.shape.rows;
    host::launch("ktopk::host::heap::parts", exec, rows * lists.parts, [=](std::int64_t index) {
      RowPart const part = lists.part(index);
      if (part.wanted > 0) select(lists, part);
      lists.close(part);
    });
    if (lists.parts > 1) host::launch("ktopk::host::heap::lists", exec, rows, lists);
  });
}

#define KTOPK_HOST_HEAP(Space) KTOPK_RUN_ON(Heap<Host>, Space)
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_HOST_HEAP)
#undef KTOPK_HOST_HEAP

}  // namespace ktopk::detail
