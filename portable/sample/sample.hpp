// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// SampleSelect: 15 quantiles of a sample are the splitters; the part that holds the k-th is sampled again,
// and so on. Any k up to n.
// Reads the input twice: to count, and to move a sixteenth of it to a list; then the list.
// After AIR Top-K (Zhang et al., SC '23, section 2.2 and table 1), there for selecting the k-th alone.
// Prefer it to bucket if a few keys lie far from the others; radix selects from what eight passes leave.

namespace ktopk::detail {

template <>
struct Sample<Generic> {
  static constexpr Algorithm algorithm = Algorithm::sample;
  static constexpr char const* label = "ktopk::sample";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
