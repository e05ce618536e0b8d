// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "heap/heap.hpp"
#include "one_pass/one_pass.hpp"
#include "radix/radix.hpp"

// The tuned implementations for hosts, in order of preference.

namespace ktopk::detail::host {

using Kernels = KernelList<OnePass<Host>, Radix<Host>, Heap<Host>>;

}  // namespace ktopk::detail::host
