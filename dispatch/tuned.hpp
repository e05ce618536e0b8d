// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/config.hpp>

// All tuned implementations that this build holds.

#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/kernels.hpp"
#endif
#if KTOPK_ENABLE_CUDA_TUNED
#include "../backends/cuda/common/key_widths.hpp"
#include "../backends/cuda/common/modules.hpp"
#include "../backends/cuda/kernels.hpp"
#endif
