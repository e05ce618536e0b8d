// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "one_pass_batch_launch.hpp"
#include "one_pass_cluster_launch.hpp"
#include "one_pass_columns_launch.hpp"
#include "one_pass_device_launch.hpp"
#include "one_pass_held_launch.hpp"
#include "one_pass_launch.hpp"
#include "one_pass_layouts.hpp"
#include "one_pass_warp_launch.hpp"

// one_pass for Kokkos::Cuda. All blocks of the device share few long rows, in one kernel, or in several if rows are
// very long. In a batch each row has a block or a cluster to itself; few rows of medium length stay in the registers of
// a cluster, more rows of some thousand keys in those of a block where the output is not sorted, and each of many rows
// has a warp where k is small. Batches whose keys are not packed are mostly left to the portable text.

namespace ktopk::detail {

template <>
struct OnePass<Cuda> {
  static constexpr char const* label = "ktopk::cuda::one_pass";
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return !cuda::is_for_portable_one_pass(shape) &&
           (cuda::one_pass_supports(shape) || cuda::one_pass_batch_supports(shape));
  }
  static std::size_t workspace_bytes(Device const&, Shape const& shape, Options const& options) {
    return std::max(is_batch(shape) ? 0 : cuda::one_pass_workspace_bytes(shape, options),
                    cuda::one_pass_device_workspace_bytes(shape));
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    int const device = exec.cuda_device();
    if (cuda::one_pass_device_supports(device, problem.shape))
      cuda::one_pass_device(device, exec.cuda_stream(), problem, options, workspace);
    else if (cuda::one_pass_held_supports(device, problem.shape, options))
      cuda::one_pass_held(device, exec.cuda_stream(), problem, options);
    else if (cuda::one_pass_cluster_supports(device, problem.shape))
      cuda::one_pass_cluster(device, exec.cuda_stream(), problem, options);
    else if (cuda::one_pass_warp_supports(device, problem.shape))
      cuda::one_pass_warp(device, exec.cuda_stream(), problem, options);
    else if (is_batch(problem.shape) &&
             cuda::one_pass_columns(device, exec.cuda_stream(), problem, options))
      return;
    else if (is_batch(problem.shape))
      cuda::one_pass_batch(device, exec.cuda_stream(), problem, options);
    else
      cuda::one_pass(device, exec.cuda_stream(), problem, options, workspace);
  }

 private:
  /// Whether one block or cluster selects from each row. Only few long rows are worth the launches of several kernels.
  static bool is_batch(Shape const& shape) {
    if (!cuda::one_pass_batch_supports(shape)) return false;
    std::int64_t const shared_from = shape.rows < 8 ? 1 << 20 : 1 << 23;
    return shape.n < shared_from || !cuda::one_pass_supports(shape);
  }
};

static_assert(Implementation<OnePass<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
