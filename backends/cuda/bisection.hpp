// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/backend.hpp>

#include "bisection_launch.hpp"

// bisection for Kokkos::Cuda: rows that a warp or a part of it holds in registers; exact only.

namespace ktopk::detail {

template <>
struct Bisection<Cuda> {
  static constexpr char const* label = "ktopk::cuda::bisection";
  static bool supports(Device const&, Shape const& shape, Options const& options) {
    return cuda::bisection_supports(shape, options);
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, Problem<Bits> const& problem, Options const& options,
                  void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    cuda::bisection(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

static_assert(Implementation<Bisection<Cuda>, Kokkos::Cuda, std::uint32_t>);

}  // namespace ktopk::detail
