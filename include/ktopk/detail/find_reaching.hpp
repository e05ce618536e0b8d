// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <ktopk/core/reaching_call.hpp>

// What <ktopk/reaching.hpp> knows of the library.

namespace ktopk::detail {

/// Bytes of workspace to find what reaches a threshold, in rows of this shape or in fewer.
template <class Exec>
std::size_t reaching_bytes(Exec const& exec, Shape const& shape);

/// Finds it in a buffer of at least reaching_bytes.
/// \throws std::invalid_argument where `size` is less than the call needs
template <class Exec, class Bits>
void find_reaching_in(Exec const& exec, ReachingCall<StoredRows<Bits>> const& call,
                      std::byte* buffer, std::size_t size);

/// The same in a buffer that it allocates and frees.
template <class Exec, class Bits>
void find_reaching_allocating(Exec const& exec, ReachingCall<StoredRows<Bits>> const& call);

/// Counts, without a workspace.
template <class Exec, class Bits>
void count_by_bounds(Exec const& exec, CountCall<StoredRows<Bits>> const& call);

}  // namespace ktopk::detail
