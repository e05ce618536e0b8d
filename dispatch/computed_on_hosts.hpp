// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../backends/host/computed_keys.hpp"

// Short computed rows on hosts: the caller's file makes the keys of a row in a thread's cache, and compiled code selects
// from them there.

namespace ktopk::detail {

/// Makes the keys of a row. By blocks that nothing else can point to: what a functor reads may not change meanwhile, and
/// the compiler makes several keys at a time.
template <class Row>
int make_all(Row const& row, int length, Stored<typename Row::Bits>* keys) {
  constexpr int most = 64;
  typename Row::Bits block[most];
  for (int first = 0; first < length; first += most) {
    int const count = std::min(length - first, most);
    for (int i = 0; i < count; ++i) block[i] = row[first + i];
    std::copy(block, block + count, keys + first);
  }
  return length;
}

/// Makes the keys that there are, and their positions.
template <class Row>
int make_existing(Row const& row, int length, Stored<typename Row::Bits>* keys,
                  std::uint16_t* positions) {
  int count = 0;
  for (int i = 0; i < length; ++i)
    if (row.holds(i)) {
      positions[count] = static_cast<std::uint16_t>(i);
      keys[count++] = row[i];
    }
  return count;
}

/// \see host::ComputedKeys::Make
template <Rows R>
int make_keys(void const* rows_of_caller, std::int64_t row, Stored<typename R::Bits>* keys,
              std::uint16_t* positions) {
  R const& rows = *static_cast<R const*>(rows_of_caller);
  auto const length = static_cast<int>(rows.length(row));
  if constexpr (R::has_gaps)
    return make_existing(rows.row(row), length, keys, positions);
  else
    return make_all(rows.row(row), length, keys);
}

/// Selects from rows that OnePass<Host> serves.
template <class Exec, Rows R>
void select_row_by_row(Exec const& exec, Problem<R> const& computed, Options const& options) {
  using Bits = typename R::Bits;
  auto problem = make_stored_problem<Bits>(computed.shape);
  problem.rank = computed.rank;
  problem.out = computed.out;
  problem.wanted = computed.wanted;
  problem.counts = computed.counts;
  host::select_computed(exec, host::ComputedKeys<Bits>{&computed.rows, &make_keys<R>}, problem,
                        options);
}

}  // namespace ktopk::detail
