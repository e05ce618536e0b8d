// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/core/rank_request.hpp>

// What <ktopk/order_statistics.hpp> knows of the library.

namespace ktopk::detail {

/// Bytes of workspace for any number of ranks of each row of a shape, or of fewer rows.
template <class Exec>
std::size_t ranks_bytes(Exec const& exec, Shape const& shape);

/// Finds ranks in a buffer of at least ranks_bytes.
/// \throws std::invalid_argument where `size` is less than the call needs
template <class Exec, class Bits>
void find_ranks_in(Exec const& exec, RankCall<StoredRows<Bits>> const& call, std::byte* buffer,
                   std::size_t size);

/// The same in a buffer that it allocates and frees.
template <class Exec, class Bits>
void find_ranks_allocating(Exec const& exec, RankCall<StoredRows<Bits>> const& call);

/// What the host checks of ranks and of parts of a row. They throw std::invalid_argument.
void check_kth(char const* function, Shape const& shape, std::int64_t k);
void check_ranks(char const* function, Shape const& shape, IntegerArray const& ranks);
void check_parts(char const* function, Shape const& shape, double const* parts, std::int64_t step);
void check_interpolation(char const* function, Interpolation interpolation, bool values_are_keys,
                         bool values_are_integers);

}  // namespace ktopk::detail
