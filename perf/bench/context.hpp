// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace ktopk::perf {

/// Puts into the report what a figure is worthless without: library, commit, compiler, Kokkos, CPU, GPU.
void add_context();

}  // namespace ktopk::perf
