// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include <ktopk/core/workspace.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/instantiate.hpp>

namespace ktopk::detail {

[[noreturn]] KTOPK_INLINE void reject(char const* function, std::string const& what) {
  throw std::invalid_argument(std::string(function) + ": " + what);
}

KTOPK_INLINE void require_equal(char const* function, char const* what, std::int64_t is,
                                std::int64_t wanted) {
  if (is != wanted)
    reject(function, std::string(what) + " is " + std::to_string(is) + " but must be " +
                         std::to_string(wanted));
}

/// Whether 64 bits number the places of all rows; no size is negative.
inline void check_product(char const* function, char const* of_each, std::int64_t rows,
                          std::int64_t each) {
  if (each > 0 && rows > std::numeric_limits<std::int64_t>::max() / each)
    reject(function, "rows = " + std::to_string(rows) + " times " + of_each + " = " +
                         std::to_string(each) + " is more than 2^63 - 1");
}

KTOPK_INLINE void check_output_rows(char const* function, char const* output, std::int64_t rows,
                                    std::int64_t columns, std::int64_t wanted) {
  if (rows == wanted) return;
  std::string what = "the number of rows of " + std::string(output) + " is " +
                     std::to_string(rows) + " but must be " + std::to_string(wanted);
  if (columns == wanted)
    what += "; is it transposed? It has the extents (" + std::to_string(rows) + ", " +
            std::to_string(columns) + "), and (rows, k) are wanted";
  reject(function, what);
}

inline void require_at_most(char const* function, char const* what, std::int64_t is,
                            std::int64_t most) {
  if (is > most)
    reject(function, std::string(what) + " is " + std::to_string(is) +
                         " but the Plan was made for at most " + std::to_string(most));
}

KTOPK_INLINE void check_planned(char const* function, Shape const& given, Shape const& planned) {
  if (given.ragged && !planned.ragged)
    reject(function, std::to_string(given.rows) + " ragged rows of " + std::to_string(given.n) +
                         " keys, but the Plan's Shape lacks ragged = true");
  if (!given.ragged && planned.ragged)
    reject(function, std::to_string(given.rows) + " equal rows of " + std::to_string(given.n) +
                         " keys, but the Plan's Shape has ragged = true");
  if (given.k_per_row && !planned.k_per_row)
    reject(function, "a k for each of " + std::to_string(given.rows) +
                         " rows, but the Plan's Shape lacks k_per_row = true");
  require_at_most(function, "the number of rows", given.rows, planned.rows);
  require_equal(function, "k", given.k, planned.k);
  require_equal(function, "the size of a key", given.key_bytes, planned.key_bytes);
  if (given.computed != planned.computed || given.masked != planned.masked)
    reject(function, std::string("computed and masked of the keys' shape are ") +
                         std::to_string(given.computed) + " and " + std::to_string(given.masked) +
                         ", but " + std::to_string(planned.computed) + " and " +
                         std::to_string(planned.masked) + " of the Plan's");
  if (planned.for_bitonic && !given.for_bitonic)
    reject(function, "the keys lack for_bitonic, but the Plan's Shape has for_bitonic = true");
  if (planned.ragged)
    require_at_most(function, "the number of keys of all rows", given.n, planned.n);
  else
    require_equal(function, "n", given.n, planned.n);
}

KTOPK_INLINE void check_not_moved_from(char const* function, bool is_made) {
  if (!is_made) reject(function, "called after it was moved from");
}

KTOPK_INLINE void check_sizes(char const* function, Shape const& shape) {
  int const bytes = shape.key_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
    reject(function,
           "key_bytes = " + std::to_string(bytes) + " is not 1, 2, 4 or 8; make_shape sets it");
  if (shape.rows < 0 || shape.n < 0 || shape.k < 0)
    reject(function, "negative size: rows = " + std::to_string(shape.rows) +
                         ", n = " + std::to_string(shape.n) + ", k = " + std::to_string(shape.k));
  if (!shape.ragged && shape.rows > 0 && shape.k > shape.n)
    reject(function, "k = " + std::to_string(shape.k) +
                         " is larger than the row length n = " + std::to_string(shape.n));
  if (shape.n > longest_row)
    reject(function, "n = " + std::to_string(shape.n) + " is larger than the longest row " +
                         std::to_string(longest_row));
  if (shape.rows > most_rows)
    reject(function, "rows = " + std::to_string(shape.rows) +
                         " are more than the most there may be, " + std::to_string(most_rows));
  if (!shape.ragged) check_product(function, "n", shape.rows, shape.n);
  check_product(function, "k", shape.rows, shape.k);
}

KTOPK_INLINE void check_options(char const* function, Options const& options) {
  if (options.max_iterations < 0)
    reject(function, "max_iterations = " + std::to_string(options.max_iterations) + " is negative");
  if (!(options.epsilon >= 0))
    reject(function, "epsilon = " + std::to_string(options.epsilon) + " is not a number from 0 up");
  if (!(options.recall > 0 && options.recall <= 1))
    reject(function, "recall = " + std::to_string(options.recall) +
                         " is not a number above 0 and of at most 1");
  Algorithm const inner = options.inner;
  if (inner == Algorithm::automatic || inner == Algorithm::radix || inner == Algorithm::bucket ||
      inner == Algorithm::bitonic)
    return;
  auto const number = static_cast<std::size_t>(inner);
  reject(function,
         "inner = " + (number < algorithm_names.size() ? name(inner) : std::to_string(number)) +
             " is not automatic, radix, bucket or bitonic");
}

KTOPK_INLINE void check_magnitude(char const* function, Options const& options, KeyKind kind) {
  if (options.by == By::magnitude && kind == KeyKind::signed_integer)
    reject(
        function,
        "By::magnitude of signed integers is for top_k and Plan alone, and for no computed keys; "
        "have a functor return unsigned magnitudes: see ktopk::transform");
}

KTOPK_INLINE void check_last_position(char const* function, std::int64_t n,
                                      std::uint64_t largest_index) {
  if (n > 0 && static_cast<std::uint64_t>(n - 1) > largest_index)
    reject(function, "the index type holds at most " + std::to_string(largest_index) +
                         ", too little for the last position " + std::to_string(n - 1));
}

KTOPK_INLINE void check_offsets(char const* function, std::size_t entries) {
  if (entries == 0) reject(function, "offsets has 0 entries but must have at least 1");
}

KTOPK_INLINE std::int64_t check_matrix(char const* function, std::int64_t rows,
                                       std::int64_t columns) {
  check_product(function, "columns", rows, columns);
  return rows * columns;
}

KTOPK_INLINE void check_host_wanted(char const* function, std::int64_t length,
                                    IntegerArray const& wanted) {
  if (length > 1 && wanted.stride != 1)
    reject(function, "a wanted of " + std::to_string(length) +
                         " on the host must have stride 1, not " + std::to_string(wanted.stride));
}

KTOPK_INLINE void check_workspace(char const* function, std::size_t given, std::size_t needed) {
  if (given < needed)
    reject(function, "the workspace holds " + std::to_string(given) + " bytes but " +
                         std::to_string(needed) + " are needed");
}

KTOPK_INLINE std::size_t check_needed(char const* function, std::size_t needed) {
  if (needed >= WorkspaceLayout::most)
    reject(function, "a workspace of 2^63 bytes or more is needed");
  return needed;
}

KTOPK_INLINE void check_disjoint(char const* function, std::initializer_list<Extent> extents) {
  for (Extent const* b = extents.begin(); b != extents.end(); ++b)
    for (Extent const* a = extents.begin(); a != b; ++a)
      if (a->begin < b->end && b->begin < a->end)
        reject(function,
               std::string(a->name) + " and " + b->name + " overlap by " +
                   std::to_string(std::min(a->end, b->end) - std::max(a->begin, b->begin)) +
                   " bytes of " + std::to_string(b->end - b->begin));
}

}  // namespace ktopk::detail
