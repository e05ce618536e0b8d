// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

// Kernels see a key's bits, so that one instance serves all types of a width.

#ifdef KTOPK_CUDA_ONE_KEY_WIDTH  // whether an architecture's compiler takes the kernels one width tells
#define KTOPK_CUDA_FOR_KEY_WIDTHS(instantiate) instantiate(std::uint32_t)
#else
#define KTOPK_CUDA_FOR_KEY_WIDTHS(instantiate)                                    \
  instantiate(std::uint8_t) instantiate(std::uint16_t) instantiate(std::uint32_t) \
      instantiate(std::uint64_t)
#endif
