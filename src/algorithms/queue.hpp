// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

// The best k of each part of a row in a sorted list, and what beats the last of them in a short queue, which
// is sorted and merged into the list when it is full.
// Reads the input once; k up to 2048.
// After GridSelect (Zhang et al., SC '23, section 4): a queue shared by the group, parallel two-step
// insertion, several groups a row; a row of one group is its BlockSelect. The state takes keys on the fly.
// Prefer it on CPUs for small k where heap would insert often: keys that may be sorted, the best last.

namespace ktopk::detail {

template <>
struct Queue<Generic> {
  static constexpr char const* label = "ktopk::queue";
  static constexpr std::int64_t largest_k = 2048;
  static bool supports(Shape const& shape, Options const&) { return shape.k <= largest_k; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
