// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "delegate_launch.hpp"

// delegate for Kokkos::Cuda: few long rows, k far below n.

namespace ktopk::detail {

template <>
struct Delegate<Cuda> {
  static constexpr char const* label = "ktopk::cuda::delegate";
  static bool supports(Device const&, Shape const& shape, Options const& options) {
    return cuda::delegate_supports(shape, options);
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options) {
    return cuda::delegate_workspace_bytes(device.concurrency, shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    cuda::delegate(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options,
                   workspace);
  }
};

static_assert(Implementation<Delegate<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
