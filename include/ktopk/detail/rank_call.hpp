// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/rank_request.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/collapse.hpp>
#include <ktopk/detail/find_ranks.hpp>
#include <ktopk/detail/sources.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>

// The arguments of <ktopk/order_statistics.hpp> end here, in a RankCall of pointers and strides.

namespace ktopk::detail {

template <class V>
concept IntegerView =
    Kokkos::is_view_v<V> && std::signed_integral<typename V::non_const_value_type>;
template <class K>
concept RankArgument = std::integral<K> || IntegerView<K>;
template <class L>
concept RankList = IntegerView<L> || std::convertible_to<L const&, std::span<std::int64_t const>>;
template <class V>
concept DoubleView = Kokkos::is_view_v<V> && std::same_as<typename V::non_const_value_type, double>;
template <class L>
concept QuantileList = DoubleView<L> || std::convertible_to<L const&, std::span<double const>>;

/// Whether the host reads a View during the call. Else its values are there when the kernels run.
template <class Exec, class View>
inline constexpr bool is_read_by_host = is_host_space<Exec> || !reachable<Exec, View>;

/// A View of values as a matrix: one value of each row, or `count` of them.
template <class Values>
Matrix value_matrix(char const* function, Values const& values, Shape const& shape, bool one_row) {
  if constexpr (Values::rank == 0) {
    return {1, 1, 0, 1};
  } else if constexpr (Values::rank == 2) {
    return matrix_of(values);
  } else {
    auto const extent = static_cast<std::int64_t>(values.extent(0));
    auto const stride = static_cast<std::int64_t>(values.stride(0));
    if (one_row) return {1, extent, 0, stride};
    require_equal(function, "the length of the values", extent, shape.rows);
    return {extent, 1, stride, 0};
  }
}

/// A call without what is asked for.
/// \param one_row  whether values of rank 1 belong to one row
template <class Exec, class Keys, class Values>
RankCall<source_rows<Keys>> rank_call(char const* function, Keys const& keys, Values const& values,
                                      Options const& options, bool one_row) {
  using T = source_key<Keys>;
  require_key_type<typename Source<Keys>::Key>();
  Source<Keys>::template check<Exec>();
  static_assert(
      !requires { Source<Keys>::has_no_values; },
      "ktopk: columns have no values: take top_k for indices, and gather by them");
  static_assert(Kokkos::is_view_v<Values>, "ktopk: values are a View");
  static_assert(!std::is_const_v<typename Values::value_type>,
                "ktopk: values are const, but they are an output");
  static_assert(reachable<Exec, Values>,
                "ktopk: the execution space cannot access the memory of the values");
  check_options(function, options);
  check_magnitude(function, options, KeyTraits<T>::kind);
  RankCall<source_rows<Keys>> call{};
  call.function = function;
  call.shape = Source<Keys>::shape(function, keys);
  check_sizes(function, call.shape);
  call.rows = Source<Keys>::rows(keys, options);
  call.rank = make_ordered_bits_map<T>(options);
  call.worst = worst_key<T>(options);
  call.skips_nan = skips_nan<T>(options);
  Matrix const out = value_matrix(function, values, call.shape, one_row);
  check_output_rows(function, "values", out.rows, out.columns, call.shape.rows);
  call.shape.k = out.columns;
  using Value = typename Values::non_const_value_type;
  call.out = {values.data(),
              out.row_stride,
              out.column_stride,
              std::is_same_v<Value, T>,
              static_cast<int>(sizeof(Value)),
              number_kind<T>()};
  check_disjoint(function, {Source<Keys>::keys_extent(keys), extent_of("values", values)});
  return call;
}

template <class Keys, class Values>
constexpr void check_values_are_keys() {
  static_assert(std::is_same_v<typename Values::non_const_value_type, typename Source<Keys>::Key>,
                "ktopk: values are not of key type");
}

template <class Exec, class Keys, class K, class Value>
auto kth_call(char const* function, Keys const& keys, K const& k, Value const& value,
              Options const& options) {
  check_values_are_keys<Keys, Value>();
  static_assert(Value::rank < 2, "ktopk::kth: value has rank 0 or 1: one of each row");
  static_assert(Value::rank == 1 || Source<Keys>::output_rank == 1,
                "ktopk::kth: several rows need a value each: a View of rank 1");
  auto call = rank_call<Exec>(function, keys, value, options, false);
  call.request.kind = RankRequest::Kind::kth;
  if constexpr (std::integral<K>) {
    check_kth(function, call.shape, static_cast<std::int64_t>(k));
    call.request.given[0] = static_cast<std::int64_t>(k);
  } else {
    require_equal(function, "the length of k", static_cast<std::int64_t>(k.extent(0)),
                  call.shape.rows);
    call.request.known = false;
    call.shape.k_per_row = true;
    (reachable<Exec, K> ? call.request.integers : call.host_wanted) = integers_of(k);
    check_host_wanted(function, call.shape.rows, call.host_wanted);
  }
  return call;
}

template <class Exec, class Keys, class List, class Values>
auto ranks_call(char const* function, Keys const& keys, List const& list, Values const& values,
                Options const& options) {
  check_values_are_keys<Keys, Values>();
  static_assert(static_cast<int>(Values::rank) == Source<Keys>::output_rank,
                "ktopk::ranks: values have another rank");
  auto call = rank_call<Exec>(function, keys, values, options, Values::rank == 1);
  call.request.kind = RankRequest::Kind::ranks;
  if constexpr (!IntegerView<List>) {
    std::span<std::int64_t const> const given(list);
    require_equal(function, "the number of ranks", std::ssize(given), call.shape.k);
    call.host_ranks = {const_cast<std::int64_t*>(given.data()), 1, 8};
  } else {
    require_equal(function, "the number of ranks", static_cast<std::int64_t>(list.extent(0)),
                  call.shape.k);
    call.request.known = is_read_by_host<Exec, List>;
    (call.request.known ? call.host_ranks : call.request.integers) = integers_of(list);
  }
  if (call.request.known) check_ranks(function, call.shape, call.host_ranks);
  return call;
}

template <class Exec, class Keys, class List, class Values>
auto quantiles_call(char const* function, Keys const& keys, List const& list, Values const& values,
                    Interpolation interpolation, Options options) {
  using Value = typename Values::non_const_value_type;
  using T = source_key<Keys>;
  static_assert(static_cast<int>(Values::rank) == Source<Keys>::output_rank,
                "ktopk::quantiles: values have another rank");
  static_assert(
      std::is_same_v<Value, T> || std::is_same_v<Value, float> || std::is_same_v<Value, double>,
      "ktopk::quantiles: values are of key type, float or double");
  options.order = Order::smallest;
  auto call = rank_call<Exec>(function, keys, values, options, Values::rank == 1);
  call.request.kind = RankRequest::Kind::quantiles;
  call.request.interpolation = interpolation;
  constexpr bool are_integers = KeyTraits<Value>::kind != KeyKind::floating;
  check_interpolation(function, interpolation, call.out.as_keys, are_integers);
  call.out.as_keys = call.out.as_keys && !call.request.is_between();
  double const* data = nullptr;
  std::int64_t step = 1, count = 0;
  if constexpr (DoubleView<List>) {
    static_assert(List::rank == 1, "ktopk::quantiles: q has rank 1");
    call.request.known = is_read_by_host<Exec, List>;
    data = list.data();
    step = static_cast<std::int64_t>(list.stride(0));
    count = static_cast<std::int64_t>(list.extent(0));
  } else {
    std::span<double const> const given(list);
    data = given.data();
    count = std::ssize(given);
  }
  require_equal(function, "the number of q", count, call.shape.k);
  if (call.request.known) {
    check_parts(function, call.shape, data, step);
    call.host_parts = data;
    call.host_step = step;
  } else {
    call.request.parts = data;
    call.request.part_step = step;
  }
  return call;
}

}  // namespace ktopk::detail
