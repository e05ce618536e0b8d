// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "files/matrix.hpp"

namespace ktopk::tools {

/// The keys of a .npy file (versions 1 to 3, one or two dimensions, C or Fortran order, little-endian).
/// Throws Fault if the header cannot be read, holds another type, or disagrees with the file's size.
Matrix parse_npy(std::span<std::byte const> file);

/// The same in two steps, for a file that cannot be mapped: how many bytes come before the keys, which the first 12 bytes
/// state, and what these bytes say of the keys. Throws Fault as above.
std::size_t npy_preamble_size(std::span<std::byte const> first_bytes);
Matrix parse_npy_preamble(std::span<std::byte const> preamble);

/// One named column of a structured array.
struct NpyField {
  std::string name;
  std::string code;  ///< kind and size, "f4"
};

/// Magic, header and padding of a version 1 file in C order. One field makes a plain array, several a structured one.
std::string npy_preamble(std::vector<NpyField> const& fields,
                         std::vector<std::int64_t> const& shape);

}  // namespace ktopk::tools
