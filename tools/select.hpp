// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <ktopk/options.hpp>
#include <string>

#include "files/input.hpp"
#include "sink.hpp"

namespace ktopk::tools {

struct SelectRequest {
  InputDescription input;
  std::int64_t k = 0;
  Options options;
  std::string backend;  ///< empty: the default one
  std::string output;   ///< empty: a table on standard output
  Columns columns = Columns::both;
};

/// Does what `ktopk select` promises. Throws Fault, or what the library throws, before anything is left behind.
void select(SelectRequest const& request);

}  // namespace ktopk::tools
