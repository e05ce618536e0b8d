// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// The key at an address (of any alignment) in decimal: the shortest text that reads back as the same value; "nan" for NaN.
std::string key_text(KeyType type, std::byte const* key);

/// The 32 bits of the float that equals a bfloat16, whose 16 bits are given.
inline std::uint32_t widen_bfloat16(std::uint16_t bits) {
  return static_cast<std::uint32_t>(bits) << 16;
}

}  // namespace ktopk::tools
