// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/config.hpp>

// The specializations of all tuned implementations that this build holds.

#if KTOPK_ENABLE_HOST_TUNED
#include "../backends/host/heap.hpp"
#include "../backends/host/one_pass.hpp"
#include "../backends/host/radix.hpp"
#endif
#if KTOPK_ENABLE_CUDA_TUNED
#include "../backends/cuda/bisection.hpp"
#include "../backends/cuda/bitonic.hpp"
#include "../backends/cuda/delegate.hpp"
#include "../backends/cuda/modules.hpp"
#include "../backends/cuda/one_pass.hpp"
#include "../backends/cuda/queue.hpp"
#include "../backends/cuda/radix.hpp"
#endif
