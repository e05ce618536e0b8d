// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "files/matrix.hpp"

namespace ktopk::tools {

/// Rank, rows and n of a shape, "n" or "rowsxn". Throws Fault if it cannot be read.
Matrix parse_shape(std::string_view shape);

/// The same of keys of a type. Throws Fault for more of them than can be addressed, too.
Matrix describe_raw(KeyType type, std::string_view shape);

/// The keys of a file that holds nothing else (little-endian, row after row). shape is "n" or "rowsxn"; if it is empty, the
/// keys are one row. Throws Fault if the shape cannot be read or the file has another size.
Matrix parse_raw(std::span<std::byte const> file, KeyType type, std::string_view shape);

}  // namespace ktopk::tools
