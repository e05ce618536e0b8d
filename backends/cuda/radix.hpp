// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "radix_device_launch.hpp"
#include "radix_launch.hpp"

// radix for Kokkos::Cuda: any shape, and the fastest where k is a large part of n. Few rows that fit the registers of the
// device have a kernel of their own.

namespace ktopk::detail {

template <>
struct Radix<Cuda> {
  static constexpr char const* label = "ktopk::cuda::radix";
  static bool supports(Device const&, Shape const&, Options const&) { return true; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options) {
    return std::max(cuda::radix_workspace_bytes(device.concurrency, shape, options),
                    cuda::radix_device_workspace_bytes(shape, options));
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    int const device = exec.cuda_device();
    if (cuda::radix_device_supports(device, problem.shape))
      cuda::radix_device(device, exec.cuda_stream(), problem, options, workspace);
    else
      cuda::radix(device, exec.concurrency(), exec.cuda_stream(), problem, options, workspace);
  }
};

static_assert(Implementation<Radix<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
