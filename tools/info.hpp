// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace ktopk::tools {

/// Prints what this build of ktopk holds and what it runs on.
void print_info();

}  // namespace ktopk::tools
