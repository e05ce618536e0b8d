// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/core/selected.hpp>

#include "../backends/cuda/common/sort_rows.cuh"
#include "../backends/cuda/common/this_module.cuh"
#include "../backends/cuda/one_pass/grid/run.cuh"
#include "../portable/finish/arrange.hpp"

// Long computed rows on CUDA: the caller's file, which nvcc compiles, has the kernels.

namespace ktopk::detail::cuda {

/// Few selected keys, which are placed without a sort.
template <Rows R, class CompositeKey>
struct SelectedToPlace {
  Problem<R> problem;
  CompositeKeyMap<typename R::Bits, CompositeKey> map;

  __device__ void store(std::int64_t row, std::int64_t slot, CompositeKey composite) const {
    if constexpr (R::has_gaps)
      if (map.is_gap(composite)) return problem.out.store_missing(row, slot);
    SelectedSink<R, CompositeKey>{problem, map, nullptr}.store(row, slot, composite);
  }
};

template <Rows R>
void one_pass_computed(Kokkos::Cuda const& exec, Problem<R> const& problem, Options const& options,
                       void* workspace) {
  using CompositeKey = CompositeKeyOf<typename R::Bits>;
  Kokkos::Profiling::ScopedRegion const region("ktopk::cuda::one_pass::grid");
  OnDevice const here(exec.cuda_device());
  Shape const& shape = problem.shape;
  auto const map = composite_key_map_of<CompositeKey>(problem, options.ties);
  grid::Work<R, CompositeKey> w{problem, map, grid::plan_of(shape), forced_threshold};
  WorkspaceLayout layout(workspace);
  grid::lay_out(w, layout, shape.rows);
  SelectedKeys<CompositeKey> const selected(layout, shape, options);
  w.selected = selected.composites;
  grid::enqueue(exec.cuda_device(), exec.cuda_stream(), w);
  check(cudaGetLastError(), "launch");
  bool const are_complete = !problem.wanted && !problem.counts;
  if (are_complete && w.selected != nullptr &&
      place_rows_of_few(exec.cuda_stream(), SelectedToPlace<R, CompositeKey>{problem, map},
                        w.selected))
    return;
  arrange(exec, problem, map, selected);
}

}  // namespace ktopk::detail::cuda
