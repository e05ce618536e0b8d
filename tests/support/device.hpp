// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

/// Before Kokkos is initialized: whether the device is there that the build needs.

namespace ktopk::testing {

/// CTest's SKIP_RETURN_CODE; for Catch2, "all tests skipped".
inline constexpr int skipped = 4;

inline bool device_present() {
#if defined(KOKKOS_ENABLE_CUDA)
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
#elif defined(KOKKOS_ENABLE_HIP)
  int devices = 0;
  return hipGetDeviceCount(&devices) == hipSuccess && devices > 0;
#else
  return true;
#endif
}

}  // namespace ktopk::testing
