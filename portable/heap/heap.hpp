// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Each thread keeps the k best keys that it reads in a min-heap, or for k <= 16 in a sorted list in registers. A team
// merges the lists of its threads.
// Reads the input once. k up to 2048.
// After bitonic-topk (Shanbhag et al., SIGMOD '18, section 3.1, appendix A, section 6.7's heap by hand).

namespace ktopk::detail {

template <>
struct Heap<Generic> {
  static constexpr Algorithm algorithm = Algorithm::heap;
  static constexpr char const* label = "ktopk::heap";
  static constexpr std::int64_t largest_k = 2048;
  static Reason declines(Asked const& a) {
    return a.shape.k <= largest_k ? nullptr : "k above 2048";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
