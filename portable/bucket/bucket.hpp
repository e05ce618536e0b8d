// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Bucket selection: 16 equal parts between the least and the greatest key; the part that holds the k-th is
// divided into 16 again, and so on. Any k up to n.
// Reads the input three times: for minimum and maximum, to count, to move a sixteenth of it to a list; then the list.
// After Dr. Top-k (Gaihre et al., SC '21, section 2.2) and bitonic-topk (SIGMOD '18, sections 2.3 and 4.2).
// Prefer it for evenly distributed keys; radix selects from what eight passes leave.

namespace ktopk::detail {

template <>
struct Bucket<Generic> {
  static constexpr Algorithm algorithm = Algorithm::bucket;
  static constexpr char const* label = "ktopk::bucket";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
