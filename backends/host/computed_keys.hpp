// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// How a caller's file, which computes keys, reaches the compiled selection.

namespace ktopk::detail::host {

/// Keys that a caller's file computes. The compiler sees no functor behind these pointers.
template <class Bits>
struct ComputedKeys {
  /// Makes the keys of a short row. Of a masked row it makes those alone that there are, and their positions. Returns how
  /// many.
  using MakeRow = int(void const* rows, std::int64_t row, Stored<Bits>* keys,
                      std::uint16_t* positions);
  /// Makes `count` keys of a row from position `first` on, and the worst one where there is none. Returns how many there
  /// are.
  using MakeBlock = int(void const* rows, std::int64_t row, std::int64_t first, int count,
                        Bits worst, Stored<Bits>* keys);
  /// The same for any positions, without the number.
  using MakeAt = void(void const* rows, std::int64_t row, std::int64_t const* positions, int count,
                      Bits worst, Stored<Bits>* keys);

  void const* rows;
  MakeRow* make_row;
  MakeBlock* make_block;
  MakeAt* make_at;
};

/// Selects from computed rows that OnePass<Host> serves. The keys of the problem are not read. Returns false, and has
/// stored nothing, if a sample of long rows led to no proven result.
template <class Exec, class Bits>
[[nodiscard]] bool select_computed(Exec const& exec, ComputedKeys<Bits> const& keys,
                                   StoredProblem<Bits> const& problem, Options const& options,
                                   void* workspace);

}  // namespace ktopk::detail::host
