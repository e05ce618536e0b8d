// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Sorted runs of k are merged pair by pair, and the better half of each pair is kept: local sort, merge, rebuild.
// Reads the input once, whatever the keys are; k up to 256.
// After bitonic top-k (Shanbhag et al., SIGMOD '18, sections 3.2 and 4.3).
// Prefer it for small k if the time must not depend on the keys.

namespace ktopk::detail {

template <>
struct Bitonic<Generic> {
  static constexpr Algorithm algorithm = Algorithm::bitonic;
  static constexpr char const* label = "ktopk::bitonic";
  static constexpr std::int64_t largest_k = 256;
  static constexpr bool serves_computed = true;
  static Reason declines(Asked const& a) {
    if (a.shape.computed && !a.shape.for_bitonic) return "computed keys without for_bitonic";
    return a.shape.k <= largest_k ? nullptr : "k above 256";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, Rows R>
  static void run(Exec const& exec, Problem<R> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
