// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../finish/part_selection.hpp"
#include "state.hpp"

namespace ktopk::detail {

template <class CompositeKey>
using QueueLayout = PartSelectionLayout<CompositeKey, 32>;

KTOPK_INLINE std::size_t Queue<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                         Options const& options) {
  return bytes_of<QueueLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Queue<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                         Options const& options, void* workspace) {
  select_by_parts<TeamQueue, QueueLayout>({"ktopk::queue::parts", "ktopk::queue::lists"}, exec,
                                          problem, options, workspace);
}

#define KTOPK_QUEUE(Space) KTOPK_RUN_ON(Queue<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_QUEUE)
#undef KTOPK_QUEUE

static_assert(Implementation<Queue<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
