// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of bisection.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool bisection_supports(Shape const& shape, Options const& options);

/// Enqueues the selection on the stream. Allocates nothing, waits for nothing, needs no workspace.
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void bisection(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
               Options const& options);

}  // namespace ktopk::detail::cuda
