// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "bitonic_launch.hpp"

// bitonic for Kokkos::Cuda: local sort, merge and rebuild in one kernel; k up to 1024, and up to 2^32 keys of 32 bits.

namespace ktopk::detail {

template <>
struct Bitonic<Cuda> {
  static constexpr char const* label = "ktopk::cuda::bitonic";
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return cuda::bitonic_supports(shape);
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape, Options const&) {
    return cuda::bitonic_workspace_bytes(device.concurrency, shape);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    cuda::bitonic(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options,
                  workspace);
  }
};

static_assert(Implementation<Bitonic<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
