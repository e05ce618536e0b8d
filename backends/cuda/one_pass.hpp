// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "one_pass_launch.hpp"

// The claim on one_pass for Kokkos::Cuda: packed uniform rows, few enough to share the device.

namespace ktopk::detail {

template <>
struct OnePass<Cuda> {
  static constexpr char const* label = "ktopk::cuda::one_pass";
  static bool supports(Shape const& shape, Options const&) {
    return cuda::one_pass_supports(shape);
  }
  static std::size_t workspace_bytes(Device const&, Shape const& shape, Options const& options) {
    return cuda::one_pass_workspace_bytes(shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    cuda::one_pass(exec.cuda_device(), exec.cuda_stream(), problem, options, workspace);
  }
};

template <>
struct backend_for<OnePass, Kokkos::Cuda> {
  using type = Cuda;
};

static_assert(Room<OnePass<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
