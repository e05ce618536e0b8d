// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// The interface of one_pass_batch.cu, which uses no Kokkos.

namespace ktopk::detail::cuda {

bool one_pass_batch_supports(Shape const& shape);

/// Enqueues one kernel on the stream. Needs no workspace, allocates nothing, waits for nothing.
/// \throws std::runtime_error where CUDA refuses the launch
template <class Bits>
void one_pass_batch(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                    Options const& options);

/// The same for ragged rows of more than `held` keys alone. The outputs of all others stay as they are.
template <class Bits>
void one_pass_of_longer_rows(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                             Options const& options, std::int64_t held);

}  // namespace ktopk::detail::cuda
