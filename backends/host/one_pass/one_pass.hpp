// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// one_pass on hosts. Rows that fit the cache of a thread, also ragged ones, may have any k: a sample gives a bracket,
// and one read or two find the selected keys (rows_in_cache.hpp). Longer rows must have a small k: a sample gives a
// threshold, and one read keeps the keys that reach it (one_pass_kept.hpp).

namespace ktopk::detail {

template <>
struct OnePass<Host> {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::host::one_pass";
  static constexpr bool serves_computed = true;  // \see ../computed_keys.hpp
  static Reason declines(Asked const& a);
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

static_assert(Implementation<OnePass<Host>, Kokkos::DefaultHostExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
