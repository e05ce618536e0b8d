// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <ktopk/options.hpp>
#include <string>

#include "files/key_type.hpp"

namespace ktopk::tools {

/// Prints what this build of ktopk holds and what it runs on.
void print_info();

struct ExplainRequest {
  std::string shape;  ///< "n" or "rowsxn"
  std::int64_t k = 0;
  KeyType type = KeyType::f32;
  Options options;
  std::string backend;  ///< empty: the default one
};

/// Prints which kernel a call runs, and why the earlier ones of the table decline. Throws Fault, or what the library
/// throws.
void print_explanation(ExplainRequest const& request);

}  // namespace ktopk::tools
