// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Marks what both host and device code call, without asking for Kokkos.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define KTOPK_FUNCTION __host__ __device__
#else
#define KTOPK_FUNCTION
#endif
