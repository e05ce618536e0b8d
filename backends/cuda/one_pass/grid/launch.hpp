// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of one_pass.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool one_pass_supports(Shape const& shape);
std::size_t one_pass_workspace_bytes(Shape const& shape, Options const& options);

/// Enqueues the selection on the stream. Allocates nothing, waits for nothing.
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void one_pass(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
              Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
