// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrange.hpp"

#include "instantiate.hpp"
#include "sort_items.hpp"

namespace ktopk::detail {

template <class Bits>
struct WinnerRows {
  Problem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.winners(row); }
};

template <class Bits, class Item>
struct StoreWinners {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Item const* items;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const k = problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t const real = problem.winners(row);
    if (slot == 0 && problem.counts) problem.counts.store(row, real);
    if (slot >= real) {
      problem.store_missing(row, slot);
      return;
    }
    std::uint64_t const position = map.position(items[i]);
    Bits const key = problem.row_keys(row)[static_cast<std::int64_t>(position) * problem.key_step];
    problem.store(row, slot, key, position);
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
  launch_each("ktopk::arrange::store", exec, shape.rows * shape.k,
              StoreWinners<Bits, Item>{problem, map, items});
}

#define KTOPK_ARRANGE_ITEM(Space, Bits, Item)                                             \
  template void arrange(Space const&, Problem<Bits> const&, ItemMap<Bits, Item> const&,   \
                        Winners<Item> const&);
#define KTOPK_ARRANGE(Space) KTOPK_FOR_EACH_ITEM(KTOPK_ARRANGE_ITEM, Space)
KTOPK_INSTANTIATE(KTOPK_ARRANGE)
#undef KTOPK_ARRANGE
#undef KTOPK_ARRANGE_ITEM

}  // namespace ktopk::detail
