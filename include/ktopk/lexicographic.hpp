// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/computed.hpp>
#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/options.hpp>

/// \file
/// Keys of several columns: the first decides, the next where it ties, the position last. The columns are packed as they
/// are read, and nothing is written to memory first. As for all computed keys, kernels are compiled in the file that calls.

namespace ktopk {

/// A column that has an order of its own, whatever Options::order.
template <class Keys>
struct OrderedColumn {
  Keys keys;
  Order order;
};

/// A column of which smaller keys are better.
template <class Keys>
OrderedColumn<Keys> ascending(Keys const& keys) {
  return {keys, Order::smallest};
}
/// A column of which larger keys are better.
template <class Keys>
OrderedColumn<Keys> descending(Keys const& keys) {
  return {keys, Order::largest};
}

/// What lexicographic returns.
template <class First, class... More>
struct Lexicographic {
  First first;
  Lexicographic<More...> more;
};
template <class Last>
struct Lexicographic<Last> {
  Last first;
};

/// Keys that are compared column by column. Takes the place of `keys` in calls for indices: values are ktopk::nothing, and
/// ktopk::gather brings the columns of what is selected.
/// \param first, more  two or three Views of the same extents, of rank 1 or 2, with keys of 8 bytes at most together; or
///                     what ascending() or descending() make of such a View
/// Options::nan and Options::by hold for each column, but for NaN::skip and magnitudes of signed integers, which throw.
template <class First, class... More>
Lexicographic<First, More...> lexicographic(First const& first, More const&... more) {
  static_assert(sizeof...(More) == 1 || sizeof...(More) == 2,
                "ktopk::lexicographic: there are two or three columns");
  if constexpr (sizeof...(More) == 1)
    return {first, {more...}};
  else
    return {first, [](auto const& second, auto const& third) {
              return Lexicographic<More...>{second, {third}};
            }(more...)};
}

namespace detail {

template <class F, class... M>
inline constexpr bool is_computed<Lexicographic<F, M...>> = true;

template <class Column>
struct ColumnOf {
  using Keys = Column;
  static Keys const& keys(Column const& column) { return column; }
  static Options options(Column const&, Options const& of_call) { return of_call; }
};
template <class K>
struct ColumnOf<OrderedColumn<K>> {
  using Keys = K;
  static Keys const& keys(OrderedColumn<K> const& column) { return column.keys; }
  static Options options(OrderedColumn<K> const& column, Options options) {
    options.order = column.order;
    return options;
  }
};

/// The columns of a row, by value: a kernel asks for many of its keys.
template <class Bits, class... More>
struct ColumnsOfRow {
  StoredRow<Bits> keys;
  OrderedBitsMap<Bits> rank;
  ColumnsOfRow<More...> more;

  KTOPK_FUNCTION std::uint64_t packed(std::int64_t i) const {
    return std::uint64_t{rank(keys[i])} << (8 * (sizeof(More) + ...)) | more.packed(i);
  }
};
template <class Bits>
struct ColumnsOfRow<Bits> {
  StoredRow<Bits> keys;
  OrderedBitsMap<Bits> rank;

  KTOPK_FUNCTION std::uint64_t packed(std::int64_t i) const { return rank(keys[i]); }
};

/// The columns of some rows, each with the map to its ordered bits.
template <class Bits, class... More>
struct ColumnRows {
  StoredRows<Bits> rows;
  OrderedBitsMap<Bits> rank;
  ColumnRows<More...> more;

  KTOPK_FUNCTION ColumnsOfRow<Bits, More...> row(std::int64_t row) const {
    return {rows.row(row), rank, more.row(row)};
  }
  ColumnRows without_first(std::int64_t count) const {
    return {rows.without_first(count), rank, more.without_first(count)};
  }
};
template <class Bits>
struct ColumnRows<Bits> {
  StoredRows<Bits> rows;
  OrderedBitsMap<Bits> rank;

  KTOPK_FUNCTION ColumnsOfRow<Bits> row(std::int64_t row) const { return {rows.row(row), rank}; }
  ColumnRows without_first(std::int64_t count) const { return {rows.without_first(count), rank}; }
};

/// Rows whose keys are packed columns.
template <class Out, class... ColumnBits>
struct LexicographicRows {
  using Bits = Out;
  static constexpr bool has_gaps = false;

  ColumnRows<ColumnBits...> columns;
  Out flip;  // so that the order of the call turns packed bits to where the best are the largest

  struct Row {
    using Bits = Out;
    static constexpr bool has_gaps = false;
    ColumnsOfRow<ColumnBits...> columns;
    Out flip;
    KTOPK_FUNCTION Bits operator[](std::int64_t i) const {
      return static_cast<Bits>(columns.packed(i) ^ flip);
    }
    KTOPK_FUNCTION std::int64_t lead(std::int64_t i) const { return columns.keys.lead(i); }
  };

  KTOPK_FUNCTION std::int64_t length(std::int64_t) const { return columns.rows.n; }
  KTOPK_FUNCTION std::int64_t begin(std::int64_t row) const { return row * columns.rows.n; }
  KTOPK_FUNCTION Row row(std::int64_t row) const { return {columns.row(row), flip}; }
  bool are_side_by_side() const { return columns.rows.are_side_by_side(); }
  bool are_neighbors() const { return columns.rows.are_neighbors(); }
  LexicographicRows without_first(std::int64_t rows) const {
    return {columns.without_first(rows), flip};
  }
  LexicographicRows with_room(std::int64_t, std::int64_t) const { return *this; }
};

template <class... Columns>
struct Source<Lexicographic<Columns...>> {
  static constexpr std::size_t bytes =
      (sizeof(typename ColumnOf<Columns>::Keys::non_const_value_type) + ...);
  static_assert(bytes <= 8, "ktopk::lexicographic: the keys of all columns have 8 bytes at most");
  using Key = std::conditional_t<bytes <= 4, std::uint32_t, std::uint64_t>;
  using First = typename ColumnOf<std::tuple_element_t<0, std::tuple<Columns...>>>::Keys;
  static constexpr int output_rank = static_cast<int>(First::rank);
  static constexpr bool has_no_values = true;
  static_assert(((static_cast<int>(ColumnOf<Columns>::Keys::rank) == output_rank) && ...),
                "ktopk::lexicographic: columns have one rank");

  template <class Exec>
  static constexpr void check() {
    (Source<typename ColumnOf<Columns>::Keys>::template check<Exec>(), ...);
    (require_key_type<typename ColumnOf<Columns>::Keys::non_const_value_type>(), ...);
  }
  static Shape shape(char const* function, Lexicographic<Columns...> const& source) {
    Matrix const first = matrix_of(column(source));
    Shape shape = make_shape<Key>(first.rows, first.columns, 0);
    shape.computed = true;
    check_extents(function, source, shape);
    return shape;
  }
  static auto rows(Lexicographic<Columns...> const& source, Options const& options) {
    if (options.nan == NaN::skip)
      reject("ktopk::lexicographic", "NaN::skip is not there for keys of several columns");
    bool const largest = options.order == Order::largest;
    return LexicographicRows<
        Key, bits_of<checked_key<typename ColumnOf<Columns>::Keys::non_const_value_type>>...>{
        column_rows(source, options), largest ? Key{0} : std::numeric_limits<Key>::max()};
  }
  static Extent keys_extent(Lexicographic<Columns...> const& source) {
    return extent_of("keys", column(source));
  }

 private:
  template <class F, class... M>
  static auto const& column(Lexicographic<F, M...> const& columns) {
    return ColumnOf<F>::keys(columns.first);
  }
  template <class F, class... M>
  static void check_extents(char const* function, Lexicographic<F, M...> const& columns,
                            Shape const& shape) {
    Matrix const own = matrix_of(column(columns));
    require_equal(function, "the number of a column's rows", own.rows, shape.rows);
    require_equal(function, "the length of a column", own.columns, shape.n);
    if constexpr (sizeof...(M) != 0) check_extents(function, columns.more, shape);
  }
  template <class F, class... M>
  static auto column_rows(Lexicographic<F, M...> const& columns, Options const& options) {
    using View = typename ColumnOf<F>::Keys;
    using T = checked_key<typename View::non_const_value_type>;
    Options const own = ColumnOf<F>::options(columns.first, options);
    check_magnitude("ktopk::lexicographic", own, KeyTraits<T>::kind);
    auto const rows = Source<View>::rows(column(columns), own);
    auto const rank = make_ordered_bits_map<T>(own);
    if constexpr (sizeof...(M) == 0)
      return ColumnRows<bits_of<T>>{rows, rank};
    else
      return joined(rows, rank, column_rows(columns.more, options));
  }
  template <class Bits, class... More>
  static ColumnRows<Bits, More...> joined(StoredRows<Bits> const& rows,
                                          OrderedBitsMap<Bits> const& rank,
                                          ColumnRows<More...> const& more) {
    return {rows, rank, more};
  }
};

}  // namespace detail
}  // namespace ktopk
