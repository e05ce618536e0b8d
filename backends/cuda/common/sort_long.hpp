// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <ktopk/core/ordered_bits.hpp>

// The interface of sort_long.cu, where CUB sorts lists that are too long for merges.

namespace ktopk::detail::cuda {

/// From so many composite keys on, CUB is faster than tiles and merges: 0.5 to 0.6 of their time for half of 10^7 keys, and
/// as long for 2^20 (perf/results/h100-sorted.csv).
inline constexpr std::int64_t least_sorted_by_cub = std::int64_t{1} << 21;

/// Scratch memory for a list. CUB tells what it needs only where there is a device; this is more.
constexpr std::size_t sort_long_bytes(std::int64_t count) {
  return (std::size_t{1} << 20) + static_cast<std::size_t>(count);
}

/// Enqueues a sort, best first, by cub::DeviceRadixSort.
/// \param width    of the composite keys, in bits
/// \param scratch  sort_long_bytes(count)
/// \returns the one of both lists that will be sorted
/// \throws std::runtime_error where CUDA refuses a launch, or the scratch memory does not suffice
template <class CompositeKey>
CompositeKey* sort_long(cudaStream_t stream, CompositeKey* list, CompositeKey* spare,
                        std::int64_t count, int width, void* scratch);

}  // namespace ktopk::detail::cuda
