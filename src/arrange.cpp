// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrange.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "sort_items.hpp"

namespace ktopk::detail {

template <class Bits>
struct WinnerRows {
  Problem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.winners(row); }
};

/// Stores the winners of a list, if there is one, and all that belongs beside them.
template <class Bits, class Item>
struct StoreWinners {
  WinnerSink<Bits, Item> sink;
  Item const* items;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Problem<Bits> const& problem = sink.problem;
    std::int64_t const k = problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t const real = problem.winners(row);
    if (slot == 0 && problem.counts) problem.counts.store(row, real);
    if (slot >= real)
      problem.store_missing(row, slot);
    else if (items != nullptr)
      sink.store(row, slot, items[i]);
  }
};

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
