// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/selected.hpp>

namespace ktopk::detail {

/// Sorts each row's winners if there is a spare, then stores keys, positions and counts and fills what
/// a short row leaves open. Merge sort: tiles in place, then log2(k / tile) passes over the winners.
template <class Exec, class Bits, class Item>
void arrange(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
             Winners<Item> const& winners);

}  // namespace ktopk::detail
