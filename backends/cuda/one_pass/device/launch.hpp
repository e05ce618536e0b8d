// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of one_pass_device.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool one_pass_device_supports(int device, Shape const& shape);

/// The workspace for a shape that some device supports; 0 for others.
std::size_t one_pass_device_workspace_bytes(Shape const& shape);

/// Enqueues one cooperative kernel on the stream. Allocates nothing, waits for nothing.
/// \throws std::runtime_error where CUDA refuses the launch
template <class Bits>
void one_pass_device(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                     Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
