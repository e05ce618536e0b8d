// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>
#include <ktopk/detail/one_pass_plan.hpp>

// Sample -> an order statistic of the sample is the threshold -> one read keeps the composite keys that reach it -> exact
// finish on the few kept. The count of the kept proves the result; where it does not (fewer than k, more than the list
// holds), a long row is sampled again, and a group selects from all keys of a row.
// Reads the input once, plus a sample of at most 2^17 keys. k up to n / 32 or so. Three launches, four with a large
// sample; as many again, which mostly find nothing to do, for rows of more than 2^21 keys. Workspace: sample and list
// of each row, bounded in n.
// Ragged rows: four launches whatever their lengths; a group has a row of up to 4096 keys to itself, longer ones are read
// in parts of equal length.
// Ours. The threshold is a composite key, so equal keys differ by position and crowd no row.
// Prefer it for long rows and k well below n: it runs at the speed of memory on any distribution.

namespace ktopk::detail {

template <>
struct OnePass<Generic> {
  static constexpr char const* label = "ktopk::one_pass";
  static bool supports(Device const&, Shape const& shape, Options const&) {
    return one_pass_serves(shape) || one_pass_serves_ragged(shape);
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
