// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/problem.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>

// What the argument `keys` of a call may be, and which rows it becomes.

namespace ktopk::detail {

template <class Exec, class View>
inline constexpr bool reachable =
    Kokkos::SpaceAccessibility<Exec, typename View::memory_space>::accessible;

/// Rows and columns of a View of rank 1 (one row) or 2, with its strides in elements.
struct Matrix {
  std::int64_t rows, columns, row_stride, column_stride;
};

template <class View>
Matrix matrix_of(View const& view) {
  static_assert(View::rank == 1 || View::rank == 2, "ktopk: Views have rank 1 or 2");
  if constexpr (View::rank == 1)
    return {1, static_cast<std::int64_t>(view.extent(0)), 0,
            static_cast<std::int64_t>(view.stride(0))};
  else
    return {static_cast<std::int64_t>(view.extent(0)), static_cast<std::int64_t>(view.extent(1)),
            static_cast<std::int64_t>(view.stride(0)), static_cast<std::int64_t>(view.stride(1))};
}

template <class View>
IntegerArray integers_of(View const& view) {
  using Integer = typename View::non_const_value_type;
  static_assert(View::rank == 1 && std::is_integral_v<Integer> && std::is_signed_v<Integer> &&
                    (sizeof(Integer) == 4 || sizeof(Integer) == 8),
                "ktopk: offsets, wanted and counts are rank-1 Views of int32 or int64");
  return {const_cast<Integer*>(view.data()), static_cast<std::int64_t>(view.stride(0)),
          static_cast<int>(sizeof(Integer))};
}

/// An output that is not asked for covers nothing.
inline Extent extent_of(char const*, Nothing const&) { return {}; }

/// A key type. Another takes the place of a type that require_key_type refuses, so that the compiler says no more.
template <class T>
using checked_key = std::conditional_t<Key<T>, T, double>;

/// A source of keys.
///
///     Key                  their type
///     output_rank          of values and indices
///     check<Exec>()        does not compile if the execution space cannot read them
///     shape(function, s)   rows, n, and what else of a shape depends on the keys; k is 0
///     rows(s, options)     for kernels
///     keys_extent(s)       the memory of the keys, where they have any
template <class S>
struct Source;

template <class View>
  requires Kokkos::is_view_v<View>
struct Source<View> {
  using Key = typename View::non_const_value_type;
  static constexpr int output_rank = static_cast<int>(View::rank);

  template <class Exec>
  static constexpr void check() {
    static_assert(reachable<Exec, View>,
                  "ktopk: the execution space cannot access the memory of the keys");
  }
  static Shape shape(char const*, View const& keys) {
    Matrix const in = matrix_of(keys);
    Shape shape{in.rows, in.columns, 0, static_cast<int>(sizeof(Key)), 8};
    shape.packed = in.column_stride == 1 || in.columns < 2;
    return shape;
  }
  static StoredRows<bits_of<checked_key<Key>>> rows(View const& keys, Options const&) {
    using Bits = bits_of<checked_key<Key>>;
    Matrix const in = matrix_of(keys);
    StoredRows<Bits> rows;
    rows.n = in.columns;
    rows.keys = reinterpret_cast<Stored<Bits> const*>(keys.data());
    rows.row_stride = in.row_stride;
    rows.step = in.column_stride;
    return rows;
  }
  static Extent keys_extent(View const& keys) { return extent_of("keys", keys); }
};

template <class Keys, class Offsets>
struct Source<Ragged<Keys, Offsets>> {
  using Key = typename Keys::non_const_value_type;
  static constexpr int output_rank = 2;

  template <class Exec>
  static constexpr void check() {
    Source<Keys>::template check<Exec>();
    static_assert(reachable<Exec, Offsets>,
                  "ktopk: the execution space cannot access the memory of the offsets");
  }
  static Shape shape(char const* function, Ragged<Keys, Offsets> const& source) {
    Shape shape = Source<Keys>::shape(function, source.keys);
    check_offsets(function, source.offsets.extent(0));
    shape.rows = static_cast<std::int64_t>(source.offsets.extent(0)) - 1;
    shape.ragged = true;
    return shape;
  }
  static auto rows(Ragged<Keys, Offsets> const& source, Options const& options) {
    auto rows = Source<Keys>::rows(source.keys, options);
    rows.offsets = integers_of(source.offsets);
    return rows;
  }
  static Extent keys_extent(Ragged<Keys, Offsets> const& source) {
    return Source<Keys>::keys_extent(source.keys);
  }
};

template <class Keys, class Begins, class Ends>
struct Source<BoundedRows<Keys, Begins, Ends>> {
  using Key = typename Keys::non_const_value_type;
  static constexpr int output_rank = 2;
  static constexpr bool in_matrix = Keys::rank == 2;

  template <class Exec>
  static constexpr void check() {
    Source<Keys>::template check<Exec>();
    static_assert(reachable<Exec, Ends>,
                  "ktopk: the execution space cannot access the memory that says where rows end");
    if constexpr (!IsNothing<Begins>)
      static_assert(
          reachable<Exec, Begins>,
          "ktopk: the execution space cannot access the memory that says where rows begin");
  }
  static Shape shape(char const* function, BoundedRows<Keys, Begins, Ends> const& source) {
    Shape shape = Source<Keys>::shape(function, source.keys);
    auto const ends = static_cast<std::int64_t>(source.ends.extent(0));
    if constexpr (in_matrix) {
      require_equal(function, IsNothing<Begins> ? "the number of lengths" : "the number of ends",
                    ends, shape.rows);
      shape.n = check_matrix(function, shape.rows, shape.n);
    }
    if constexpr (!IsNothing<Begins>)
      require_equal(function, "the number of begins",
                    static_cast<std::int64_t>(source.begins.extent(0)), ends);
    shape.rows = ends;
    shape.ragged = true;
    return shape;
  }
  static auto rows(BoundedRows<Keys, Begins, Ends> const& source, Options const& options) {
    auto rows = Source<Keys>::rows(source.keys, options);
    if constexpr (!IsNothing<Begins>) rows.offsets = integers_of(source.begins);
    rows.ends = integers_of(source.ends);
    if constexpr (in_matrix) {
      rows.width = rows.n;
      rows.n = static_cast<std::int64_t>(source.keys.extent(0)) * rows.width;
    }
    return rows;
  }
  /// How long a row may be.
  static std::int64_t longest(BoundedRows<Keys, Begins, Ends> const& source) {
    return static_cast<std::int64_t>(source.keys.extent(in_matrix ? 1 : 0));
  }
  static Extent keys_extent(BoundedRows<Keys, Begins, Ends> const& source) {
    return Source<Keys>::keys_extent(source.keys);
  }
};

/// How many positions a row may have.
template <class Keys>
std::int64_t longest_row_of(Keys const& keys, Shape const& shape) {
  if constexpr (requires { Source<Keys>::longest(keys); })
    return Source<Keys>::longest(keys);
  else if constexpr (is_computed<Keys> && requires { keys.keys; })
    return longest_row_of(keys.keys, shape);
  else
    return shape.n;
}

template <class S>
using source_key = checked_key<typename Source<S>::Key>;

template <class S>
using source_rows = decltype(Source<S>::rows(std::declval<S const&>(), Options{}));

}  // namespace ktopk::detail
