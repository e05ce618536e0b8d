// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace ktopk::testing {

template <class Exec>
using MemoryOf = typename Exec::memory_space;

/// Calls body(exec) for each execution space that tests use, once: for what has one implementation.
template <class Body>
void for_each_exec(Body const& body) {
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
  body(Kokkos::DefaultExecutionSpace());
#else
#if defined(KOKKOS_ENABLE_SERIAL)
  body(Kokkos::Serial());
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
  body(Kokkos::OpenMP());
#endif
#if defined(KOKKOS_ENABLE_THREADS)
  body(Kokkos::Threads());
#endif
#endif
}

}  // namespace ktopk::testing
