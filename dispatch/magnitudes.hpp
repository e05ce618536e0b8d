// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/computed_rows.hpp>
#include <ktopk/detail/select.hpp>

#include "computed_calls.hpp"

// Signed integers by magnitude. No flipping of bits orders them so, as it does floating-point numbers; hence portable radix
// selects from their magnitudes, which are computed as they are read.

namespace ktopk::detail {

inline Shape shape_of_magnitudes(Shape shape) {
  shape.computed = true;
  return shape;
}

inline Options by_radix(Options options) {
  options.algorithm = Algorithm::radix;
  return options;
}
template <class Exec>
Resolved<Exec> by_radix(Resolved<Exec> resolved) {
  resolved.options = by_radix(resolved.options);
  return resolved;
}

template <class Bits>
CallOf<MagnitudeRows<Bits>> call_of_magnitudes(Call<Bits> const& call, Options const& options) {
  StoredProblem<Bits> const& given = call.problem;
  CallOf<MagnitudeRows<Bits>> of{
      call.function,
      make_problem(shape_of_magnitudes(given.shape), MagnitudeRows<Bits>{{given.rows}}),
      call.host_wanted, call.columns};
  of.problem.rank = make_ordered_bits_map<Bits>(options);
  of.problem.out = given.out;
  of.problem.wanted = given.wanted;
  of.problem.counts = given.counts;
  return of;
}

}  // namespace ktopk::detail
