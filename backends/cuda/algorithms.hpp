// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/options.hpp>

// Which algorithms have kernels in this build: KTOPK_CUDA_ALGORITHMS says so at configure time. See
// cmake/cuda_kernels.cmake.

namespace ktopk::detail::cuda {

constexpr bool has_kernels(Algorithm algorithm) {
  switch (algorithm) {
#ifndef KTOPK_CUDA_WITHOUT_ONE_PASS
    case Algorithm::one_pass:
#endif
#ifndef KTOPK_CUDA_WITHOUT_RADIX
    case Algorithm::radix:
#endif
#ifndef KTOPK_CUDA_WITHOUT_BISECTION
    case Algorithm::bisection:
#endif
#ifndef KTOPK_CUDA_WITHOUT_BITONIC
    case Algorithm::bitonic:
#endif
#ifndef KTOPK_CUDA_WITHOUT_QUEUE
    case Algorithm::queue:
#endif
#ifndef KTOPK_CUDA_WITHOUT_DELEGATE
    case Algorithm::delegate:
#endif
      return true;
    default: return false;
  }
}

}  // namespace ktopk::detail::cuda
