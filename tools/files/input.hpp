// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

#include "files/mapped_file.hpp"
#include "files/matrix.hpp"

namespace ktopk::tools {

/// What the user states about the file beyond its name.
struct InputDescription {
  std::string path;
  std::string type;   ///< of raw keys; else empty
  std::string shape;  ///< of raw keys; else empty
};

/// A mapped file and the keys found in it.
struct Input {
  MappedFile file;
  Matrix keys;
};

/// Maps the file and reads it by its extension: .npy, .fvecs, .bvecs, .ivecs, anything else raw.
/// Throws Fault whose message begins with the path.
Input open_input(InputDescription const& description);

}  // namespace ktopk::tools
