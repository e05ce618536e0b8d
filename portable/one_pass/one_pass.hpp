// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>
#include <ktopk/core/one_pass_plan.hpp>

// Sample -> an order statistic of the sample is the threshold -> one read keeps the composite keys that reach it ->
// exact selection among the few kept. The count of the kept proves the result. If it does not (fewer than k, or more
// than the list holds), one group selects from all keys of the row; a long row is sampled again first.
//
// Reads the input once, plus a sample of at most 2^17 keys. k up to n / 32 or so. Three launches, four with a large
// sample; for rows of more than 2^21 keys one more, which mostly finds nothing to do. Workspace: the sample and the list
// of each row, bounded in n.
//
// Ragged rows: four launches whatever their lengths. A group has a row of up to 4096 keys to itself; longer rows are
// read in parts of equal length.
//
// Ours. The threshold is a composite key, so equal keys differ by position, and a row of equal keys keeps no more.
// Prefer it for long rows and k far below n: it runs at the speed of memory on any distribution.

namespace ktopk::detail {

/// Whether the composite keys of a shape have the type of those of shorter rows.
inline bool has_narrow_composite_keys(Shape const& shape) {
  return composite_key_bytes(shape.key_bytes, composite_positions(shape)) ==
         composite_key_bytes(shape.key_bytes, 1);
}

template <>
struct OnePass<Generic> {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::one_pass";
  static constexpr bool serves_computed = true;
  static Reason declines(Asked const& a) {
    if (a.shape.computed && !has_narrow_composite_keys(a.shape))
      return "keys that a functor makes, in rows whose positions have more than 32 bits";
    if (one_pass_serves(a.shape) || one_pass_serves_ragged(a.shape)) return nullptr;
    return a.shape.ragged ? "ragged rows that are short or select much of their keys"
                          : "k too large a part of n for a threshold from a sample";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, Rows R>
  static void run(Exec const& exec, Problem<R> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
