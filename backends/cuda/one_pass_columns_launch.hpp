// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

// The interface of one_pass_columns.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

/// Enqueues one kernel on the stream if it serves the problem: rows whose keys lie side by side, as in LayoutLeft. Needs
/// no workspace, allocates nothing, waits for nothing.
/// \returns whether it serves the problem
/// \throws std::runtime_error where CUDA refuses the launch
template <class Bits>
bool one_pass_columns(int device, cudaStream_t stream, Problem<Bits> const& problem,
                      Options const& options);

}  // namespace ktopk::detail::cuda
