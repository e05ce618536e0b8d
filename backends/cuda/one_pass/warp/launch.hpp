// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The entry of one_pass_warp.cu: no Kokkos on either side of it.

namespace ktopk::detail::cuda {

bool one_pass_warp_supports(int device, Shape const& shape);

/// Enqueues one kernel on the stream. Needs no workspace, allocates nothing, waits for nothing.
/// \throws std::runtime_error where CUDA refuses the launch
template <class Bits>
void one_pass_warp(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                   Options const& options);

}  // namespace ktopk::detail::cuda
