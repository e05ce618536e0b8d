// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/ordered_bits.hpp>

namespace ktopk::detail::cuda {

/// Whether the composite keys of CompositeKeyOf hold the keys and positions of rows of n keys: all but those of more
/// than 2^32 keys of 32 bits.
constexpr bool fits_composite_key(int key_bytes, std::int64_t n) {
  return key_bytes == 8 || composite_key_bytes(key_bytes, n) == sizeof(CompositeKey64);
}

static_assert(fits_composite_key(4, std::int64_t{1} << 32));
static_assert(!fits_composite_key(4, (std::int64_t{1} << 32) + 1));
static_assert(fits_composite_key(2, std::int64_t{1} << 40));
static_assert(fits_composite_key(8, std::int64_t{1} << 40));

}  // namespace ktopk::detail::cuda
