// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <Kokkos_Core.hpp>

#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

namespace ktopk::detail {

inline constexpr std::int64_t longest_row = std::int64_t{1} << 40;

[[noreturn]] inline void reject(char const* function, std::string const& what) {
  throw std::invalid_argument(std::string(function) + ": " + what);
}

inline void require_equal(char const* function, char const* what, std::int64_t is,
                          std::int64_t wanted) {
  if (is != wanted)
    reject(function, std::string(what) + " is " + std::to_string(is) + " but must be " +
                         std::to_string(wanted));
}

inline void check_sizes(char const* function, Shape const& shape) {
  if (shape.rows < 0 || shape.n < 0 || shape.k < 0)
    reject(function, "negative size: rows = " + std::to_string(shape.rows) +
                         ", n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  if (!shape.ragged && shape.rows > 0 && shape.k > shape.n)
    reject(function, "k = " + std::to_string(shape.k) +
                         " is larger than the row length n = " + std::to_string(shape.n));
  if (shape.n > longest_row)
    reject(function, "n = " + std::to_string(shape.n) + " is larger than the longest row " +
                         std::to_string(longest_row));
}

inline void check_options(char const* function, Options const& options) {
  if (options.max_iterations < 0)
    reject(function, "max_iterations = " + std::to_string(options.max_iterations) + " is negative");
  if (!(options.epsilon >= 0))
    reject(function, "epsilon = " + std::to_string(options.epsilon) + " is not a number from 0 up");
  Algorithm const inner = options.inner;
  if (inner == Algorithm::automatic || inner == Algorithm::radix || inner == Algorithm::bucket ||
      inner == Algorithm::bitonic)
    return;
  auto const number = static_cast<std::size_t>(inner);
  reject(function,
         "inner = " + (number < algorithm_names.size() ? name(inner) : std::to_string(number)) +
             " is not automatic, radix, bucket or bitonic");
}

template <class I>
void check_index_range(char const* function, std::int64_t n) {
  if (n > 0 &&
      static_cast<std::uint64_t>(n - 1) > static_cast<std::uint64_t>(std::numeric_limits<I>::max()))
    reject(function, "the index type holds at most " +
                         std::to_string(std::numeric_limits<I>::max()) +
                         ", too little for the last position " + std::to_string(n - 1));
}

/// The bytes a View covers, if it covers them without gaps.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
};

template <class View>
Extent extent_of(View const& view) {
  if (view.size() == 0 || !view.span_is_contiguous()) return {};
  auto const begin = reinterpret_cast<std::uintptr_t>(view.data());
  return {begin, begin + view.span() * sizeof(typename View::value_type)};
}

inline void check_disjoint(char const* function, char const* a_name, Extent a, char const* b_name,
                           Extent b) {
  if (a.begin < b.end && b.begin < a.end)
    reject(function, std::string(a_name) + " and " + b_name + " overlap by " +
                         std::to_string((a.end < b.end ? a.end : b.end) -
                                        (a.begin > b.begin ? a.begin : b.begin)) +
                         " bytes of " + std::to_string(b.end - b.begin));
}

}  // namespace ktopk::detail
