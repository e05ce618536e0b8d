// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>
#include <ktopk/detail/one_pass_plan.hpp>

// one_pass on hosts: one thread has each of many rows to itself (one_pass_rows.hpp); threads that share a long row raise
// its threshold by a trial (one_pass_trial.hpp). Reads the input once, plus a sample.

namespace ktopk::detail {

template <>
struct OnePass<Host> {
  static constexpr char const* label = "ktopk::host::one_pass";
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return one_pass_serves(shape);
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

static_assert(Implementation<OnePass<Host>, Kokkos::DefaultHostExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
