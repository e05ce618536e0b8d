// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "queue_launch.hpp"

// queue for Kokkos::Cuda: rows of any length, k up to what the registers of a warp hold.

namespace ktopk::detail {

template <>
struct Queue<Cuda> {
  static constexpr char const* label = "ktopk::cuda::queue";
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return cuda::queue_supports(shape);
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape, Options const&) {
    return cuda::queue_workspace_bytes(device.concurrency, shape);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    cuda::queue(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options,
                workspace);
  }
};

static_assert(Implementation<Queue<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
