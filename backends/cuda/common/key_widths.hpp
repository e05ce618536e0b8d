// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

// Kernels get a key's bits, so that one instance serves all types of a width.

#ifdef KTOPK_CUDA_ONE_KEY_WIDTH  // one is enough to see that the kernels compile for an architecture
#define KTOPK_CUDA_FOR_KEY_WIDTHS(instantiate) instantiate(std::uint32_t)
#else
#define KTOPK_CUDA_FOR_KEY_WIDTHS(instantiate)                                    \
  instantiate(std::uint8_t) instantiate(std::uint16_t) instantiate(std::uint32_t) \
      instantiate(std::uint64_t)
#endif
