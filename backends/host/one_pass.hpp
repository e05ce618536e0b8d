// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

// one_pass on hosts: of rows that fit the cache of a thread, and of ragged ones as far as they do, any k, by a sample, a
// bracket and one read or two (rows_in_cache.hpp). Of longer ones small k: a sample gives a threshold, and one read keeps
// what reaches it (one_pass_kept.hpp).

namespace ktopk::detail {

template <>
struct OnePass<Host> {
  static constexpr char const* label = "ktopk::host::one_pass";
  static bool supports(Device const& device, Shape const& shape, Options const& options);
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

static_assert(Implementation<OnePass<Host>, Kokkos::DefaultHostExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
