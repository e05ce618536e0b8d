// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/config.hpp>

// The claims of all tuned rooms that this build holds.

#if KTOPK_ENABLE_CUDA_TUNED
#include "../backends/cuda/bisection.hpp"
#include "../backends/cuda/one_pass.hpp"
#include "../backends/cuda/radix.hpp"
#endif
