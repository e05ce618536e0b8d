// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrange.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "sort_items.hpp"

namespace ktopk::detail {

template <class Exec, class Bits, class Item>
void arrange(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
             Winners<Item> const& winners) {
  Shape const& shape = problem.shape;
  Item const* items = winners.items;
  if (winners.spare != nullptr)
    items = sort_items(exec, WinnerRows<Bits>{problem}, shape.rows, shape.k, winners.items,
                       winners.spare);
  bool const complete = !problem.offsets && !problem.wanted && !problem.counts;
  if (items == nullptr && complete) return;
  launch_each("ktopk::arrange::store", exec, shape.rows * shape.k,
              StoreWinners<Bits, Item>{{problem, map, nullptr}, items});
}

#define KTOPK_ARRANGE_ITEM(Space, Bits, Item)                                           \
  template void arrange(Space const&, Problem<Bits> const&, ItemMap<Bits, Item> const&, \
                        Winners<Item> const&);
#define KTOPK_ARRANGE(Space) KTOPK_FOR_EACH_ITEM(KTOPK_ARRANGE_ITEM, Space)
KTOPK_INSTANTIATE(KTOPK_ARRANGE)
#undef KTOPK_ARRANGE
#undef KTOPK_ARRANGE_ITEM

}  // namespace ktopk::detail
