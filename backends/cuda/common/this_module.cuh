// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "modules.hpp"

// Included by each source file that has kernels.

namespace ktopk::detail::cuda {

namespace {

__global__ void load_this_module() {}

Module const this_module(load_this_module);

}  // namespace

}  // namespace ktopk::detail::cuda
