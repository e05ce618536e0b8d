// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

// What every generic room ends in: its winners, in any order, become the output in the promised order.

namespace ktopk::detail {

/// The winners of each row: Problem::winners(row) items from items + row * k.
template <class Item>
struct Winners {
  Winners() = default;
  Winners(Pieces& pieces, Shape const& shape, Options const& options)
      : items(pieces.take<Item>(shape.rows * shape.k)),
        spare(options.sorted == Sorted::yes ? pieces.take<Item>(shape.rows * shape.k) : nullptr) {}

  Item* items = nullptr;
  Item* spare = nullptr;  // as much again, where they are to be sorted
};

/// Sorts each row's winners if there is a spare, then stores keys, positions and counts and fills what
/// a short row leaves open. Merge sort: tiles in place, then log2(k / tile) passes over the winners.
template <class Exec, class Bits, class Item>
void arrange(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
             Winners<Item> const& winners);

}  // namespace ktopk::detail
