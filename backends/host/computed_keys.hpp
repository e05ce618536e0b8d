// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// How a caller's file, which computes keys, reaches the compiled selection from short rows.

namespace ktopk::detail::host {

/// Keys that a caller's file computes a row at a time. The compiler sees no functor behind these pointers.
template <class Bits>
struct ComputedKeys {
  /// Makes the keys of a row, and of masked rows, whose keys there are alone, their positions. Returns how many.
  using Make = int(void const* rows, std::int64_t row, Stored<Bits>* keys,
                   std::uint16_t* positions);

  void const* rows;
  Make* make;
};

/// Selects from computed rows that OnePass<Host> serves. The keys of the problem are not read.
template <class Exec, class Bits>
void select_computed(Exec const& exec, ComputedKeys<Bits> const& keys,
                     StoredProblem<Bits> const& problem, Options const& options);

}  // namespace ktopk::detail::host
