// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ktopk/core/workspace.hpp>

#include "../../common/device.hpp"
#include "kernels.cuh"

// The host's side of the kernels for long rows.

namespace ktopk::detail::cuda::grid {

/// The sizes of a selection. Of many rows a usual sample would be a large part of what is read.
inline OnePassPlan plan_of(Shape const& shape) {
  bool const are_many = shape.computed && shape.rows > 8;
  return one_pass_plan(shape.n, shape.k, tuning.keys_a_group * (are_many ? 8 : 1));
}

/// Lays out what all rows need.
template <Rows R, class CompositeKey>
void lay_out(Work<R, CompositeKey>& w, WorkspaceLayout& layout, std::int64_t rows) {
  w.rows = layout.take<Row<CompositeKey>>(rows);
  w.groups = layout.take<CompositeKey>(rows * w.plan.groups);
  w.kept = layout.take<CompositeKey>(rows * w.plan.capacity);
  w.boundary = layout.take<CompositeKey>(rows * boundary_composites<CompositeKey>);
}

inline unsigned blocks_for(std::int64_t count, int each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

/// Enqueues the kernels that emit the selected keys, in any order.
template <Rows R, class CompositeKey>
void enqueue(int device, cudaStream_t stream, Work<R, CompositeKey> const& w) {
  std::int64_t const rows = w.problem.shape.rows;
  auto const launch_shape = [&](int blocks) {
    return dim3(static_cast<unsigned>(std::max<std::int64_t>(1, blocks / rows)),
                static_cast<unsigned>(rows));
  };
  int const sample_blocks = static_cast<int>(blocks_for(w.plan.groups, tuning.threads / 32) * rows);
  sample<<<launch_shape(sample_blocks), tuning.threads, 0, stream>>>(w);
  int const stream_blocks = resident_blocks<grid::stream<R, CompositeKey>>(device, tuning.threads);
  launch_early(grid::stream<R, CompositeKey>, {launch_shape(stream_blocks), tuning.threads, stream},
               w);
  int const finish_blocks = resident_blocks<grid::finish<R, CompositeKey>>(device, tuning.threads);
  launch_early(grid::finish<R, CompositeKey>,
               {launch_shape(finish_blocks), tuning.threads, stream, true}, w);
}

}  // namespace ktopk::detail::cuda::grid
