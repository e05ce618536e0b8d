// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Sort and choose: all composite keys of a row are sorted, and the first k are selected. Any k up to n.
// Writes and reads a composite key for every key of the input log2(n / tile) times.
// The baseline of all five papers (bitonic-topk section 3, "Sort and Choose").
// Prefer it if nearly all keys are wanted in order, and as a baseline.

namespace ktopk::detail {

template <>
struct Sort<Generic> {
  static constexpr Algorithm algorithm = Algorithm::sort;
  static constexpr char const* label = "ktopk::sort";
  /// Not ragged rows: they may overlap, and then have more keys together than there are.
  static Reason declines(Asked const& a) { return a.shape.ragged ? "ragged rows" : nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
