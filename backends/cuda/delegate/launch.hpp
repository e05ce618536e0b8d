// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of delegate.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool delegate_supports(Shape const& shape, Options const& options);

/// \param concurrency  threads that the device holds at once
std::size_t delegate_workspace_bytes(int concurrency, Shape const& shape, Options const& options);

/// Enqueues the selection on the stream, row after row. Allocates nothing, waits for nothing.
/// \param concurrency  as for delegate_workspace_bytes
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void delegate(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
              Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
