// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queue.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "best_of_parts.hpp"
#include "thread_queue.hpp"

namespace ktopk::detail {
namespace host {

/// Keys for each item of a part's list.
inline constexpr std::int64_t keys_per_queue_item = 32;

template <class Bits, class Item>
struct SelectByQueue {
  HostLoops<Bits> loops;

  void operator()(PartLists<Bits, Item> const& lists, RowPart const& part) const {
    ThreadArray<Item> const items(part.wanted + HostQueue<Item>::queue_length(part.wanted));
    HostQueue<Item> queue(items.get(), part.wanted);
    Problem<Bits> const& problem = lists.sink.problem;
    queue.push(loops, lists.sink.map, problem.row_keys(part.row), problem.key_step, part.range);
    part.tally_read();
    Item const* const best = queue.finish(lists.are_sorted_by_part() ? Sorted::yes : Sorted::no);
    for (std::int64_t slot = 0; slot < part.wanted; ++slot) lists.put(part, slot, best[slot]);
  }
};

}  // namespace host

KTOPK_INLINE std::size_t Queue<Host>::workspace_bytes(Device const& device, Shape const& shape,
                                                      Options const& options) {
  return bytes_of<host::PartListPieces>(device, shape, options, host::keys_per_queue_item);
}

template <class Exec, class Bits>
void Queue<Host>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                      void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    host::PartListPieces<Item> const work(workspace, device_of(exec), problem.shape, options,
                                          host::keys_per_queue_item);
    host::select_by_parts(
        {"ktopk::host::queue::parts", "ktopk::host::queue::lists"}, exec,
        host::PartLists<Bits, Item>{{problem, map, nullptr}, options.sorted, work.parts, work.list},
        host::SelectByQueue<Bits, Item>{pick_host_loops<Bits>()});
  });
}

#define KTOPK_HOST_QUEUE(Space) KTOPK_RUN_ON(Queue<Host>, Space)
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_HOST_QUEUE)
#undef KTOPK_HOST_QUEUE

}  // namespace ktopk::detail
