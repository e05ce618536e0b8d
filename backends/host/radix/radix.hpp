// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// radix on hosts: any shape. SIMD counts digits of ordered bits by blocks and finds what a digit leaves, so that few
// composite keys are built. Reads the input two or three times.

namespace ktopk::detail {

template <>
struct Radix<Host> {
  static constexpr Algorithm algorithm = Algorithm::radix;
  static constexpr char const* label = "ktopk::host::radix";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

static_assert(Implementation<Radix<Host>, Kokkos::DefaultHostExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
