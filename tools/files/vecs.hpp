// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>

#include "files/matrix.hpp"

namespace ktopk::tools {

/// The keys of a .fvecs, .bvecs or .ivecs file: every row is its dimension (int32, little-endian) and that many keys of
/// the given type. Reads the dimension of every row; throws Fault unless all agree and the last row is whole.
Matrix parse_vecs(std::span<std::byte const> file, KeyType type, Reading const& reading);

}  // namespace ktopk::tools
