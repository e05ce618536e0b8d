// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// What the host checks of a call. All of these functions throw std::invalid_argument with the caller's name and the
// wrong numbers. They are compiled in the library, because code that makes messages takes long to compile.

namespace ktopk::detail {

inline constexpr std::int64_t longest_row = std::int64_t{1} << 40;
inline constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void reject(char const* function, std::string const& what);
void require_equal(char const* function, char const* what, std::int64_t is, std::int64_t wanted);
void check_sizes(char const* function, Shape const& shape);
/// \param rows, columns  of an output, which is to have `wanted` rows
void check_output_rows(char const* function, char const* output, std::int64_t rows,
                       std::int64_t columns, std::int64_t wanted);
/// Whether a Plan for `planned` serves a call of the shape `given`.
void check_planned(char const* function, Shape const& given, Shape const& planned);
void check_not_moved_from(char const* function, bool is_made);
void check_options(char const* function, Options const& options);
/// Whether keys may be compared by magnitude where it is done by their ordered bits alone.
void check_magnitude(char const* function, Options const& options, KeyKind kind);
void check_last_position(char const* function, std::int64_t n, std::uint64_t largest_index);
void check_offsets(char const* function, std::size_t entries);
/// Returns rows * columns.
std::int64_t check_matrix(char const* function, std::int64_t rows, std::int64_t columns);
void check_host_wanted(char const* function, std::int64_t length, IntegerArray const& wanted);
void check_workspace(char const* function, std::size_t given, std::size_t needed);
/// Returns `needed`.
std::size_t check_needed(char const* function, std::size_t needed);

/// The options that implementations have to follow. NaNs that are no keys come last in a sorted output, and are taken
/// away there.
inline Options settled(Options options) {
  if (options.nan == NaN::skip) options.sorted = Sorted::yes;
  return options;
}
/// The shape that is selected from. Rows that may be shorter than k have no more than n keys selected.
inline Shape settled(Shape shape, Options const& options) {
  if (options.short_rows == ShortRows::fill && !shape.ragged && shape.n >= 0 && shape.k > shape.n)
    shape.k = shape.n;
  return shape;
}

template <class I>
void check_index_range(char const* function, std::int64_t n) {
  check_last_position(function, n, static_cast<std::uint64_t>(std::numeric_limits<I>::max()));
}

/// The bytes that a View covers, if it covers them without gaps.
struct Extent {
  char const* name = nullptr;
  std::uintptr_t begin = 0, end = 0;
};

template <class View>
Extent extent_of(char const* name, View const& view) {
  if (view.size() == 0 || !view.span_is_contiguous()) return {};
  auto const begin = reinterpret_cast<std::uintptr_t>(view.data());
  return {name, begin, begin + view.span() * sizeof(typename View::value_type)};
}

void check_disjoint(char const* function, std::initializer_list<Extent> extents);

}  // namespace ktopk::detail
