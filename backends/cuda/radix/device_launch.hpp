// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The entry of radix_device.cu: no Kokkos on either side of it.

namespace ktopk::detail::cuda {

bool radix_device_supports(int device, Shape const& shape);

/// Of shapes that some device supports; 0 of others.
std::size_t radix_device_workspace_bytes(Shape const& shape, Options const& options);

/// Enqueues one cooperative kernel on the stream, and others where the output is to be sorted. Allocates nothing, waits
/// for nothing.
/// \throws std::runtime_error where CUDA refuses a launch
template <class Bits>
void radix_device(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace);

}  // namespace ktopk::detail::cuda
