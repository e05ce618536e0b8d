// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>

namespace ktopk::testing {

/// A .npy file around any header text, true or lying.
inline std::string npy_bytes(std::string const& header, std::string const& keys, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    file += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file + header + keys;
}

inline std::string npy_header(std::string const& descr, std::string const& shape,
                              std::string const& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

}  // namespace ktopk::testing
