// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of bitonic.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool bitonic_supports(Shape const& shape);

/// \param concurrency  threads that the device holds at once
std::size_t bitonic_workspace_bytes(int concurrency, Shape const& shape);

/// Enqueues the selection on the stream. Allocates nothing, waits for nothing.
/// \param workspace  of bitonic_workspace_bytes
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void bitonic(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
             Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
