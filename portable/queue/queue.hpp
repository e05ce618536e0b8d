// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Each part of a row has the k best of its keys in a list, and what beats the last of them in a queue. When the queue
// is full, both are sorted and merged, and the best of both are the new list.
// Reads the input once; k up to 2048.
// After GridSelect (Zhang et al., SC '23, section 4), of which a row of one group is BlockSelect.

namespace ktopk::detail {

template <>
struct Queue<Generic> {
  static constexpr Algorithm algorithm = Algorithm::queue;
  static constexpr char const* label = "ktopk::queue";
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
