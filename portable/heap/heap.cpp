// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "heap.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../finish/part_selection.hpp"
#include "lists.hpp"

namespace ktopk::detail {

template <class CompositeKey>
using HeapLayout = PartSelectionLayout<CompositeKey, 64>;

KTOPK_INLINE std::size_t Heap<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  return bytes_of<HeapLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Heap<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                        Options const& options, void* workspace) {
  select_by_parts<TeamHeaps, HeapLayout>({"ktopk::heap::parts", "ktopk::heap::lists"}, exec,
                                         problem, options, workspace);
}

#define KTOPK_HEAP(Space) KTOPK_RUN_ON(Heap<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_HEAP)
#undef KTOPK_HEAP

static_assert(Implementation<Heap<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
