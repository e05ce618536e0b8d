// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of queue.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool queue_supports(Shape const& shape);

/// \param concurrency  threads that the device holds at once: they decide how many blocks share a row
std::size_t queue_workspace_bytes(int concurrency, Shape const& shape);

/// Enqueues the selection on the stream. Allocates nothing, waits for nothing.
/// \param concurrency  as for queue_workspace_bytes
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void queue(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
           Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
