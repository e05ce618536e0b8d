// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

// A min-heap of the k best for each part of a row; what does not beat its root is passed over by SIMD.
// Reads the input once. k up to 2048.
// After bitonic-topk (Shanbhag et al., SIGMOD '18, section 3.1, and the hand-written heap of section 6.7);
// on a device a team shares one heap and queues what beats the root.
// Prefer it on CPUs for small k in many rows of some thousand keys.

namespace ktopk::detail {

template <>
struct Heap<Generic> {
  static constexpr char const* label = "ktopk::heap";
  static constexpr std::int64_t largest_k = 2048;
  static bool supports(Shape const& shape, Options const&) { return shape.k <= largest_k; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
