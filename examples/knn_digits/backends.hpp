// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

/// Calls visit(instance) for every execution space that this Kokkos was built with, the host's first.
template <class Visit>
void for_each_backend(Visit const& visit) {
#ifdef KOKKOS_ENABLE_SERIAL
  visit(Kokkos::Serial());
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  visit(Kokkos::OpenMP());
#endif
#ifdef KOKKOS_ENABLE_THREADS
  visit(Kokkos::Threads());
#endif
#ifdef KOKKOS_ENABLE_CUDA
  visit(Kokkos::Cuda());
#endif
#ifdef KOKKOS_ENABLE_HIP
  visit(Kokkos::HIP());
#endif
}
