// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/rank_request.hpp>

// The order statistics of short rows. A group of lanes holds a row in registers, as bisection does (RTop-K, Xie et al., ICLR
// '25, 3.1), and bisects for one rank after the other. Reads the input once; needs no workspace.

namespace ktopk::detail {

/// Whether lanes hold the rows of a call, and each of them is all keys.
template <class Bits>
bool are_ranks_held(RankCall<StoredRows<Bits>> const& call);

/// Finds the values of such a call.
template <class Exec, class Bits>
void find_held_ranks(Exec const& exec, RankCall<StoredRows<Bits>> const& call);

}  // namespace ktopk::detail
