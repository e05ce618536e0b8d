// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of one_pass_columns.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

/// Whether it serves rows of this shape whose keys lie side by side, as in LayoutLeft.
bool one_pass_columns_supports(int device, Shape const& shape, Options const& options);

/// Enqueues one kernel on the stream. Needs no workspace, allocates nothing, waits for nothing.
/// \param problem  neighboring rows begin one key apart, and the shape is supported
/// \throws std::runtime_error where CUDA refuses the launch
template <class Bits>
void one_pass_columns(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                      Options const& options);

}  // namespace ktopk::detail::cuda
