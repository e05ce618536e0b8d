// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

#include "run.hpp"

namespace ktopk::testing {

/// Sorted output, and a tie rule: every bit of the output is defined.
template <class T>
std::vector<Options> sorted_options() {
  std::vector<Options> some;
  for (Options const& options : every_option<T>())
    if (options.sorted == Sorted::yes && options.ties != Ties::any) some.push_back(options);
  return some;
}

}  // namespace ktopk::testing
