// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <ktopk/core/problem.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/select.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>

// Views end here: whatever their layout, strides and traits, they become a Problem of pointers and strides.

namespace ktopk::detail {

#if defined(KOKKOS_HALF_T_IS_FLOAT) && !KOKKOS_HALF_T_IS_FLOAT
template <>
struct KeyTraits<Kokkos::Experimental::half_t> : FloatingKey<0x7c00u> {};
#endif
#if defined(KOKKOS_BHALF_T_IS_FLOAT) && !KOKKOS_BHALF_T_IS_FLOAT
template <>
struct KeyTraits<Kokkos::Experimental::bhalf_t> : FloatingKey<0x7f80u> {};
#endif
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct KeyTraits<__half> : FloatingKey<0x7c00u> {};
template <>
struct KeyTraits<__nv_bfloat16> : FloatingKey<0x7f80u> {};
#endif

template <class Exec, class Keys, class Values, class Indices>
constexpr bool check_types() {
  using T = typename Source<Keys>::Key;
  require_key_type<T>();
  Source<Keys>::template check<Exec>();
  static_assert(!(IsNothing<Values> && IsNothing<Indices>), "ktopk: neither values nor indices");
  static_assert(
      IsNothing<Values> || !requires { Source<Keys>::has_no_values; },
      "ktopk: columns have no values: pass ktopk::nothing, and gather by the indices");
  constexpr int output_rank = Source<Keys>::output_rank;
  if constexpr (!IsNothing<Values>) {
    static_assert(!std::is_const_v<typename Values::value_type>,
                  "ktopk: values are const, but they are an output");
    static_assert(std::is_same_v<typename Values::non_const_value_type, T>,
                  "ktopk: values are not of key type");
    static_assert(static_cast<int>(Values::rank) == output_rank, "ktopk: values have another rank");
    static_assert(reachable<Exec, Values>,
                  "ktopk: the execution space cannot access the memory of the values");
  }
  if constexpr (!IsNothing<Indices>) {
    static_assert(!std::is_const_v<typename Indices::value_type>,
                  "ktopk: indices are const, but they are an output");
    static_assert(Index<typename Indices::non_const_value_type>,
                  "ktopk: indices are 32- or 64-bit integers");
    static_assert(static_cast<int>(Indices::rank) == output_rank,
                  "ktopk: indices have another rank");
    static_assert(reachable<Exec, Indices>,
                  "ktopk: the execution space cannot access the memory of the indices");
  }
  return true;
}

/// The shape of a call; its k is that of the outputs.
template <class Keys, class Values, class Indices, class Rows>
Shape shape_of(char const* function, Keys const& keys, Values const& values, Indices const& indices,
               Rows const& per_row, Options const& options) {
  Shape shape = Source<Keys>::shape(function, keys);
  if constexpr (!IsNothing<Indices>) {
    shape.k = matrix_of(indices).columns;
    shape.index_bytes = static_cast<int>(sizeof(typename Indices::value_type));
    check_output_rows(function, "indices", matrix_of(indices).rows, shape.k, shape.rows);
  }
  if constexpr (!IsNothing<Values>) {
    if constexpr (!IsNothing<Indices>)
      require_equal(function, "the k of values", matrix_of(values).columns, shape.k);
    shape.k = matrix_of(values).columns;
    check_output_rows(function, "values", matrix_of(values).rows, shape.k, shape.rows);
  }
  check_sizes(function, settled(shape, options));
  if constexpr (!IsNothing<Indices>)
    check_index_range<typename Indices::value_type>(function, longest_row_of(keys, shape));
  if constexpr (is_per_row<Rows>) {
    if constexpr (!IsNothing<decltype(per_row.wanted)>) {
      require_equal(function, "the length of wanted",
                    static_cast<std::int64_t>(per_row.wanted.extent(0)), shape.rows);
      shape.k_per_row = true;
    }
    if constexpr (!IsNothing<decltype(per_row.counts)>)
      require_equal(function, "the length of counts",
                    static_cast<std::int64_t>(per_row.counts.extent(0)), shape.rows);
  }
  return shape;
}

template <class Keys, class Values, class Indices, class Rows>
void check_overlap(char const* function, Keys const& keys, Values const& values,
                   Indices const& indices, Rows const& per_row) {
  Extent of_counts;
  if constexpr (is_per_row<Rows>) of_counts = extent_of("counts", per_row.counts);
  check_disjoint(function, {Source<Keys>::keys_extent(keys), extent_of("values", values),
                            extent_of("indices", indices), of_counts});
}

/// Checks everything that the host can see, and returns a call without Views.
template <class Exec, class Keys, class Values, class Indices, class Rows>
CallOf<source_rows<Keys>> collapse(char const* function, Keys const& keys, Values const& values,
                                   Indices const& indices, Rows const& per_row,
                                   Options const& options) {
  // As a constant it is checked before what follows is compiled: g++ 16 would drop a check of a function that fails.
  static_assert(check_types<Exec, Keys, Values, Indices>());
  check_options(function, options);
  using T = source_key<Keys>;
  using Bits = bits_of<T>;
  Shape const shape = shape_of(function, keys, values, indices, per_row, options);
  CallOf<source_rows<Keys>> call{
      function, make_problem(settled(shape, options), Source<Keys>::rows(keys, options)), {}};
  call.columns = shape.k;
  call.skips_nan = skips_nan<T>(options);
  if constexpr (is_computed<Keys>) check_magnitude(function, options, KeyTraits<T>::kind);
  call.by_magnitude_of_integers =
      options.by == By::magnitude && KeyTraits<T>::kind == KeyKind::signed_integer;
  auto& problem = call.problem;
  check_overlap(function, keys, values, indices, per_row);
  problem.rank = make_ordered_bits_map<T>(options);
  problem.out.worst = worst_key<T>(options);
  if constexpr (!IsNothing<Values>) {
    Matrix const out = matrix_of(values);
    problem.out.values = reinterpret_cast<Stored<Bits>*>(values.data());
    problem.out.value_row = out.row_stride;
    problem.out.value_step = out.column_stride;
  }
  if constexpr (!IsNothing<Indices>) {
    Matrix const out = matrix_of(indices);
    problem.out.indices = indices.data();
    problem.out.index_row = out.row_stride;
    problem.out.index_step = out.column_stride;
  }
  if constexpr (is_per_row<Rows>) {
    if constexpr (!IsNothing<decltype(per_row.counts)>) {
      using Counts = std::remove_cvref_t<decltype(per_row.counts)>;
      static_assert(!std::is_const_v<typename Counts::value_type>,
                    "ktopk: counts are const, but they are an output");
      static_assert(reachable<Exec, Counts>,
                    "ktopk: the execution space cannot access the memory of the counts");
      problem.counts = integers_of(per_row.counts);
    }
    if constexpr (!IsNothing<decltype(per_row.wanted)>)
      (reachable<Exec, decltype(per_row.wanted)> ? problem.wanted : call.host_wanted) =
          integers_of(per_row.wanted);
    check_host_wanted(function, problem.shape.rows, call.host_wanted);
  }
  return call;
}

}  // namespace ktopk::detail
