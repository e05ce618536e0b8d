// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/output.hpp>
#include <ktopk/core/rows.hpp>
#include <ktopk/problem.hpp>

namespace ktopk::detail {

/// A selection: its sizes, its keys, what they mean and where the result goes. Needs no Kokkos.
template <Rows R>
struct Problem {
  using Bits = typename R::Bits;

  Shape shape;
  R rows;
  OrderedBitsMap<Bits> rank;
  Output<Bits> out;
  IntegerArray wanted;  // how many each row asks for
  IntegerArray counts;  // out: how many keys of each row are selected

  KTOPK_FUNCTION std::int64_t length(std::int64_t row) const { return rows.length(row); }
  /// How many keys of the row are selected.
  KTOPK_FUNCTION std::int64_t selected_count(std::int64_t row) const {
    std::int64_t const keys_in_row = length(row);
    std::int64_t const most = keys_in_row < shape.k ? keys_in_row : shape.k;
    if (!wanted) return most;
    std::int64_t const asked = wanted[row] < 0 ? 0 : wanted[row];
    return asked < most ? asked : most;
  }
};

/// How many positions a composite key must tell apart: with gaps, twice as many.
constexpr std::int64_t composite_positions(Shape const& shape) {
  return shape.masked ? 2 * shape.n : shape.n;
}

/// A selection from keys in memory.
template <class Bits>
using StoredProblem = Problem<StoredRows<Bits>>;

/// A selection of these sizes and keys, without outputs.
template <Rows R>
constexpr Problem<R> make_problem(Shape const& shape, R const& rows) {
  Problem<R> problem{shape, rows, {}, {}, {}, {}};
  problem.out.index_bytes = shape.index_bytes;
  return problem;
}

/// The same without keys.
template <class Bits>
constexpr StoredProblem<Bits> make_stored_problem(Shape const& shape) {
  StoredRows<Bits> rows;
  rows.n = shape.n;
  return make_problem(shape, rows);
}

}  // namespace ktopk::detail
