// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

// KTOPK_FOR_EACH_SPACE(X) expands to X(Space) for every execution space that Kokkos was built with, and
// KTOPK_FOR_EACH_HOST_SPACE(X) for those of hosts. KTOPK_INSTANTIATE(X) and KTOPK_INSTANTIATE_ON_HOSTS(X) do so where
// the library is compiled; in header-only code they expand to nothing.

#if defined(KOKKOS_ENABLE_SERIAL)
#define KTOPK_FOR_SERIAL(X) X(Kokkos::Serial)
#else
#define KTOPK_FOR_SERIAL(X)
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
#define KTOPK_FOR_OPENMP(X) X(Kokkos::OpenMP)
#else
#define KTOPK_FOR_OPENMP(X)
#endif
#if defined(KOKKOS_ENABLE_THREADS)
#define KTOPK_FOR_THREADS(X) X(Kokkos::Threads)
#else
#define KTOPK_FOR_THREADS(X)
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#define KTOPK_FOR_CUDA(X) X(Kokkos::Cuda)
#else
#define KTOPK_FOR_CUDA(X)
#endif
#if defined(KOKKOS_ENABLE_HIP)
#define KTOPK_FOR_HIP(X) X(Kokkos::HIP)
#else
#define KTOPK_FOR_HIP(X)
#endif
#if defined(KOKKOS_ENABLE_SYCL)
#define KTOPK_FOR_SYCL(X) X(Kokkos::SYCL)
#else
#define KTOPK_FOR_SYCL(X)
#endif

#define KTOPK_FOR_EACH_HOST_SPACE(X) \
  KTOPK_FOR_SERIAL(X)                \
  KTOPK_FOR_OPENMP(X)                \
  KTOPK_FOR_THREADS(X)

#define KTOPK_FOR_EACH_SPACE(X) \
  KTOPK_FOR_EACH_HOST_SPACE(X)  \
  KTOPK_FOR_CUDA(X)             \
  KTOPK_FOR_HIP(X)              \
  KTOPK_FOR_SYCL(X)

#if defined(KTOPK_HEADER_ONLY)
#define KTOPK_INLINE inline
#define KTOPK_INSTANTIATE(X)
#define KTOPK_INSTANTIATE_ON_HOSTS(X)
#else
#define KTOPK_INLINE
#define KTOPK_INSTANTIATE(X) KTOPK_FOR_EACH_SPACE(X)
#define KTOPK_INSTANTIATE_ON_HOSTS(X) KTOPK_FOR_EACH_HOST_SPACE(X)
#endif

// An implementation's `run` for every key width on one space.
#define KTOPK_RUN_ON(Implementation, Space)                                            \
  template void Implementation::run(Space const&, StoredProblem<std::uint8_t> const&,  \
                                    Options const&, void*);                            \
  template void Implementation::run(Space const&, StoredProblem<std::uint16_t> const&, \
                                    Options const&, void*);                            \
  template void Implementation::run(Space const&, StoredProblem<std::uint32_t> const&, \
                                    Options const&, void*);                            \
  template void Implementation::run(Space const&, StoredProblem<std::uint64_t> const&, \
                                    Options const&, void*);

// KTOPK_FOR_EACH_COMPOSITE_KEY(X, Space) expands to X(Space, Bits, CompositeKey) for the five pairs of key width and
// composite key.
#define KTOPK_FOR_EACH_COMPOSITE_KEY(X, Space) \
  X(Space, std::uint8_t, CompositeKey64)       \
  X(Space, std::uint16_t, CompositeKey64)      \
  X(Space, std::uint32_t, CompositeKey64)      \
  X(Space, std::uint32_t, CompositeKey128)     \
  X(Space, std::uint64_t, CompositeKey128)
