// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// QuickSelect: the median of a small sample is the pivot, and the side that holds the k-th is next. Any k up
// to n.
// Reads the input some four times, until an eighth of it is left; then lists that halve each time.
// After AIR Top-K (Zhang et al., SC '23, section 2.2 and table 1), there for selecting the k-th alone.
// Prefer it to measure the value of more than one pivot; radix selects from what 32 passes leave.

namespace ktopk::detail {

template <>
struct Quick<Generic> {
  static constexpr Algorithm algorithm = Algorithm::quick;
  static constexpr char const* label = "ktopk::quick";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
