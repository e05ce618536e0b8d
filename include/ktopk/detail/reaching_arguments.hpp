// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/reaching_call.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/collapse.hpp>
#include <ktopk/detail/find_reaching.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>

// The arguments of <ktopk/reaching.hpp> end here, in calls of pointers and strides.

namespace ktopk::detail {

template <class Exec, class Keys, class View>
constexpr void check_keys_on_device() {
  require_key_type<typename Source<Keys>::Key>();
  Source<Keys>::template check<Exec>();
  static_assert(
      !requires { Source<Keys>::has_no_values; },
      "ktopk: columns have no values that thresholds or bounds could be compared with");
  static_assert(Kokkos::is_view_v<View>, "ktopk: thresholds and bounds are a View");
  static_assert(std::is_same_v<typename View::non_const_value_type, typename Source<Keys>::Key>,
                "ktopk: thresholds and bounds are of key type");
  static_assert(reachable<Exec, View>,
                "ktopk: the execution space cannot access the memory of the thresholds or bounds");
}

template <class Exec, class Counts>
constexpr void check_counts() {
  using Integer = typename Counts::value_type;
  static_assert(!std::is_const_v<Integer>, "ktopk: counts are const, but they are an output");
  static_assert(reachable<Exec, Counts>,
                "ktopk: the execution space cannot access the memory of the counts");
  static_assert(std::is_integral_v<Integer> && std::is_signed_v<Integer> &&
                    (sizeof(Integer) == 4 || sizeof(Integer) == 8),
                "ktopk: counts are int32 or int64");
}

template <class Keys>
Shape source_shape(char const* function, Keys const& keys) {
  Shape const shape = Source<Keys>::shape(function, keys);
  check_sizes(function, shape);
  return shape;
}

/// The counts by bounds, as a matrix.
template <class Exec, class Counts>
IntegerMatrix count_matrix(char const* function, char const* what, Counts const& counts,
                           std::int64_t rows, std::int64_t bounds) {
  if constexpr (IsNothing<Counts>) {
    return {};
  } else {
    check_counts<Exec, Counts>();
    Matrix const matrix = matrix_of(counts);
    check_output_rows(function, what, matrix.rows, matrix.columns, rows);
    require_equal(function, "the length of a row of counts", matrix.columns, bounds);
    return {counts.data(), matrix.row_stride, matrix.column_stride,
            static_cast<int>(sizeof(typename Counts::value_type))};
  }
}

template <class Exec, class Keys, class Bounds, class Better, class Equal>
CountCall<source_rows<Keys>> count_call(char const* function, Keys const& keys,
                                        Bounds const& bounds, Better const& better,
                                        Equal const& equal, Options const& options) {
  using Bits = bits_of<source_key<Keys>>;
  check_keys_on_device<Exec, Keys, Bounds>();
  constexpr int output_rank = Source<Keys>::output_rank;
  static_assert(Bounds::rank == 1 || static_cast<int>(Bounds::rank) == output_rank,
                "ktopk::count: bounds have rank 1, the same for all rows, or rank 2");
  if constexpr (!IsNothing<Better>)
    static_assert(static_cast<int>(Better::rank) == output_rank, "ktopk::count: wrong rank");
  if constexpr (!IsNothing<Equal>)
    static_assert(static_cast<int>(Equal::rank) == output_rank, "ktopk::count: wrong rank");
  check_options(function, options);
  check_magnitude(function, options, KeyTraits<source_key<Keys>>::kind);
  CountCall<source_rows<Keys>> call{};
  call.function = function;
  call.shape = source_shape(function, keys);
  call.rows = Source<Keys>::rows(keys, options);
  call.rank = make_ordered_bits_map<source_key<Keys>>(options);
  Matrix const given = matrix_of(bounds);
  if constexpr (Bounds::rank == 2)
    require_equal(function, "the number of rows of bounds", given.rows, call.shape.rows);
  call.bounds = reinterpret_cast<Stored<Bits> const*>(bounds.data());
  call.bound_row = given.row_stride;
  call.bound_step = given.column_stride;
  call.better = count_matrix<Exec>(function, "better", better, call.shape.rows, given.columns);
  call.equal = count_matrix<Exec>(function, "equal", equal, call.shape.rows, given.columns);
  call.shape.k = given.columns;
  Extent const of_better = extent_of("better", better), of_equal = extent_of("equal", equal);
  check_disjoint(function, {Source<Keys>::keys_extent(keys), of_better, of_equal});
  check_disjoint(function, {extent_of("bounds", bounds), of_better, of_equal});
  return call;
}

/// A count of each row.
template <class Exec, class Counts>
IntegerArray row_counts(char const* function, Counts const& counts, std::int64_t rows) {
  if constexpr (IsNothing<Counts>) {
    return {};
  } else {
    check_counts<Exec, Counts>();
    static_assert(Counts::rank < 2, "ktopk::reaching: counts have rank 0 or 1");
    if constexpr (Counts::rank == 1) {
      require_equal(function, "the length of counts", static_cast<std::int64_t>(counts.extent(0)),
                    rows);
      return integers_of(counts);
    } else {
      require_equal(function, "the number of rows for one count", rows, 1);
      return {counts.data(), 1, static_cast<int>(sizeof(typename Counts::value_type))};
    }
  }
}

template <class Exec, class Keys, class Thresholds, class Values, class Indices, class Counts>
ReachingCall<source_rows<Keys>> reaching_call(char const* function, Keys const& keys,
                                              Thresholds const& thresholds, Values const& values,
                                              Indices const& indices, Counts const& counts,
                                              Options const& options) {
  using T = source_key<Keys>;
  using Bits = bits_of<T>;
  check_keys_on_device<Exec, Keys, Thresholds>();
  static_assert(Thresholds::rank < 2, "ktopk::reaching: thresholds have rank 0 or 1");
  static_assert(check_types<Exec, Keys, Values, Indices>());
  check_options(function, options);
  check_magnitude(function, options, KeyTraits<T>::kind);
  ReachingCall<source_rows<Keys>> call{};
  call.function = function;
  Shape& shape = call.shape;
  shape = source_shape(function, keys);
  call.rows = Source<Keys>::rows(keys, options);
  call.rank = make_ordered_bits_map<T>(options);
  call.skips_nan = skips_nan<T>(options);
  call.thresholds = reinterpret_cast<Stored<Bits> const*>(thresholds.data());
  if constexpr (Thresholds::rank == 1) {
    require_equal(function, "the length of thresholds",
                  static_cast<std::int64_t>(thresholds.extent(0)), shape.rows);
    call.threshold_stride = static_cast<std::int64_t>(thresholds.stride(0));
  }
  if constexpr (!IsNothing<Indices>) {
    Matrix const out = matrix_of(indices);
    check_output_rows(function, "indices", out.rows, out.columns, shape.rows);
    check_index_range<typename Indices::value_type>(function, longest_row_of(keys, shape));
    shape.k = out.columns;
    shape.index_bytes = static_cast<int>(sizeof(typename Indices::value_type));
    call.out.indices = indices.data();
    call.out.index_row = out.row_stride;
    call.out.index_step = out.column_stride;
    call.out.index_bytes = shape.index_bytes;
  }
  if constexpr (!IsNothing<Values>) {
    Matrix const out = matrix_of(values);
    check_output_rows(function, "values", out.rows, out.columns, shape.rows);
    if constexpr (!IsNothing<Indices>)
      require_equal(function, "the extent of values", out.columns, shape.k);
    shape.k = out.columns;
    call.out.values = reinterpret_cast<Stored<Bits>*>(values.data());
    call.out.value_row = out.row_stride;
    call.out.value_step = out.column_stride;
  }
  call.counts = row_counts<Exec>(function, counts, shape.rows);
  Extent const of_values = extent_of("values", values), of_indices = extent_of("indices", indices),
               of_counts = extent_of("counts", counts);
  check_disjoint(function, {Source<Keys>::keys_extent(keys), of_values, of_indices, of_counts});
  check_disjoint(function, {extent_of("thresholds", thresholds), of_values, of_indices, of_counts});
  return call;
}

}  // namespace ktopk::detail
