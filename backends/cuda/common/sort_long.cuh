// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "sort_long.hpp"
#include "sort_rows.cuh"

// Sorts long lists of selected keys by CUB, best first, and stores them.

namespace ktopk::detail::cuda {

/// Stores the sorted keys of a row.
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(merge_threads)
    store_sorted(__grid_constant__ RowsToSort<Bits, CompositeKey> const rows,
                 CompositeKey const* from, std::int64_t row, std::int64_t count) {
  wait_for_previous_kernel();
  std::int64_t const slot = std::int64_t{blockIdx.x} * merge_threads + threadIdx.x;
  if (slot < count) store_composite_key(rows.problem, rows.map, row, slot, from[slot]);
}

/// Whether CUB sorts: the host knows how long the lists are, and they are long.
inline bool is_sorted_by_cub(Shape const& shape) {
  return !shape.ragged && !shape.k_per_row && std::min(shape.k, shape.n) >= least_sorted_by_cub;
}

/// Enqueues the sort of each row by CUB, and the kernels that store them.
/// \param scratch  sort_long_bytes(k)
template <class Bits, class CompositeKey>
void sort_long_rows(cudaStream_t stream, RowsToSort<Bits, CompositeKey> const& rows,
                    CompositeKey* selected, CompositeKey* spare, void* scratch) {
  Shape const& shape = rows.problem.shape;
  std::int64_t const count = std::min(shape.k, shape.n);
  dim3 const grid(static_cast<unsigned>((count + merge_threads - 1) / merge_threads));
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    std::int64_t const first = row * shape.k;
    CompositeKey const* const sorted =
        sort_long(stream, selected + first, spare + first, count, rows.map.width(), scratch);
    launch_early(store_sorted<Bits, CompositeKey>, {grid, merge_threads, stream}, rows, sorted, row,
                 count);
  }
}

}  // namespace ktopk::detail::cuda
