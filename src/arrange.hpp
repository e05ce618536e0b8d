// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/selected.hpp>

namespace ktopk::detail {

/// Sorts the selected keys of each row if there is a spare. Then it stores keys, positions and counts, and fills the
/// slots that a short row leaves open. The sort is a merge sort: tiles in place, then log2(k / tile) passes.
template <class Exec, class Bits, class CompositeKey>
void arrange(Exec const& exec, Problem<Bits> const& problem,
             CompositeKeyMap<Bits, CompositeKey> const& map,
             SelectedKeys<CompositeKey> const& selected);

}  // namespace ktopk::detail
