// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/selected.hpp>

namespace ktopk::detail {

/// Sorts the selected keys of each row if there is a spare. Then it stores keys, positions and counts, and fills the
/// slots that a short row leaves open. The sort is a merge sort: tiles in place, then log2(k / tile) passes.
template <class Exec, Rows R, class CompositeKey>
void arrange(Exec const& exec, Problem<R> const& problem,
             CompositeKeyMap<typename R::Bits, CompositeKey> const& map,
             SelectedKeys<CompositeKey> const& selected);

}  // namespace ktopk::detail
