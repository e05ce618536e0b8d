// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

// Kernels get a key's bits, so that one instance serves all types of a width. KTOPK_KEY_BYTES says at configure time for
// which widths they are compiled.

#ifdef KTOPK_CUDA_WITHOUT_1_BYTES
#define KTOPK_CUDA_FOR_1_BYTE(instantiate)
#else
#define KTOPK_CUDA_FOR_1_BYTE(instantiate) instantiate(std::uint8_t)
#endif
#ifdef KTOPK_CUDA_WITHOUT_2_BYTES
#define KTOPK_CUDA_FOR_2_BYTES(instantiate)
#else
#define KTOPK_CUDA_FOR_2_BYTES(instantiate) instantiate(std::uint16_t)
#endif
#ifdef KTOPK_CUDA_WITHOUT_4_BYTES
#define KTOPK_CUDA_FOR_4_BYTES(instantiate)
#else
#define KTOPK_CUDA_FOR_4_BYTES(instantiate) instantiate(std::uint32_t)
#endif
#ifdef KTOPK_CUDA_WITHOUT_8_BYTES
#define KTOPK_CUDA_FOR_8_BYTES(instantiate)
#else
#define KTOPK_CUDA_FOR_8_BYTES(instantiate) instantiate(std::uint64_t)
#endif

#define KTOPK_CUDA_FOR_KEY_WIDTHS(instantiate) \
  KTOPK_CUDA_FOR_1_BYTE(instantiate)           \
  KTOPK_CUDA_FOR_2_BYTES(instantiate)          \
  KTOPK_CUDA_FOR_4_BYTES(instantiate) KTOPK_CUDA_FOR_8_BYTES(instantiate)

namespace ktopk::detail::cuda {

/// Whether kernels are compiled for keys of so many bytes.
constexpr bool has_key_bytes(int bytes) {
#define KTOPK_IS(Bits) || bytes == static_cast<int>(sizeof(Bits))
  return false KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_IS);
#undef KTOPK_IS
}

}  // namespace ktopk::detail::cuda
