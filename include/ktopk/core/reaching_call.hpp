// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/integer_array.hpp>
#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/output.hpp>
#include <ktopk/core/rows.hpp>
#include <ktopk/problem.hpp>

// What <ktopk/reaching.hpp> asks for. Needs no Kokkos.

namespace ktopk::detail {

/// A matrix of 32- or 64-bit integers that may be absent. All strides count elements.
struct IntegerMatrix {
  void* data = nullptr;
  std::int64_t row_stride = 0, step = 1;
  int bytes = 0;

  KTOPK_FUNCTION explicit operator bool() const { return data != nullptr; }
  KTOPK_FUNCTION std::int64_t at(std::int64_t row, std::int64_t i) const {
    return row * row_stride + i * step;
  }
};

/// All keys of each row that reach the row's threshold.
template <Rows R>
struct ReachingCall {
  using Bits = typename R::Bits;

  char const* function;
  Shape shape;  // k is for how many keys of each row there is room
  R rows;
  OrderedBitsMap<Bits> rank;
  Stored<Bits> const* thresholds = nullptr;
  std::int64_t threshold_stride = 0;  // 0 if all rows have the same
  Output<Bits> out;
  IntegerArray counts;
  bool skips_nan = false;
};

/// How many keys of each row are better than each bound, and how many are equal to it.
template <Rows R>
struct CountCall {
  using Bits = typename R::Bits;

  char const* function;
  Shape shape;  // k is the number of bounds
  R rows;
  OrderedBitsMap<Bits> rank;
  Stored<Bits> const* bounds = nullptr;
  std::int64_t bound_row = 0, bound_step = 1;  // bound_row is 0 if all rows have the same
  IntegerMatrix better, equal;
};

}  // namespace ktopk::detail
