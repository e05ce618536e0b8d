// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string_view>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// Why a text is no key.
enum class Misread { no, not_a_number, out_of_range };

/// Stores the key that a text states in decimal; blanks around it and a sign are allowed. Floats are rounded to the nearest,
/// may be "nan" or "inf", and are NaN if the text is empty.
Misread read_key(std::string_view text, KeyType type, std::byte* key);

}  // namespace ktopk::tools
