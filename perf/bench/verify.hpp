// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "workloads.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace ktopk::perf {

// A wrong answer does not count as fast: every selection of ktopk is verified after it has been timed. The k positions
// must be different, the values must be the keys there, and the selection must hold as many keys better than its worst
// as the whole row does.

template <class T>
KOKKOS_INLINE_FUNCTION auto comparable(T key) {
  if constexpr (std::is_arithmetic_v<T>)
    return key;
  else
    return static_cast<float>(key);
}

template <class Exec, class T>
std::int64_t count_above(Exec const& exec, T const* keys, std::int64_t n, T limit) {
  std::int64_t count = 0;
  auto const bound = comparable(limit);
  Kokkos::parallel_reduce(
      "ktopk::perf::count_above",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
      KOKKOS_LAMBDA(std::int64_t i, std::int64_t& sum) { sum += comparable(keys[i]) > bound; },
      count);
  return count;
}

template <class Exec, class T, class I>
std::int64_t count_strangers(Exec const& exec, T const* keys, T const* values, I const* indices,
                             std::int64_t k) {
  std::int64_t count = 0;
  Kokkos::parallel_reduce(
      "ktopk::perf::count_strangers",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, k),
      KOKKOS_LAMBDA(std::int64_t j, std::int64_t& sum) {
        sum += comparable(keys[indices[j]]) != comparable(values[j]);
      },
      count);
  return count;
}

/// The row's address, which View::operator() does not give for a GPU's memory.
template <class T, class... Properties>
T* row_begin(Kokkos::View<T**, Properties...> const& view, std::int64_t row) {
  return view.data() + row * static_cast<std::int64_t>(view.stride(0));
}

/// The first `count` elements of a row.
template <class View>
auto on_host_copy(View const& view, std::int64_t row, std::int64_t count) {
  using T = typename View::non_const_value_type;
  auto const host = Kokkos::create_mirror_view_and_copy(
      Kokkos::HostSpace(), testing::bytes_of(Kokkos::subview(view, row, Kokkos::ALL)));
  auto const* const first = reinterpret_cast<T const*>(host.data());
  return std::vector<T>(first, first + count);
}

inline void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(std::string("WRONG ANSWER: ") + what);
}

inline constexpr auto is_less = [](auto a, auto b) { return comparable(a) < comparable(b); };

/// The keys of a row, and how many of them are to be selected.
template <class T>
struct KeyRow {
  T const* keys;
  std::int64_t n, k;
};

template <class Exec, class T, class Indices>
void verify_row(Exec const& exec, KeyRow<T> const& expected, KeyView<Exec, T> const& values,
                Indices const& indices, std::int64_t row, bool approximate) {
  auto const [keys, n, k] = expected;
  auto positions = on_host_copy(indices, row, k);
  std::sort(positions.begin(), positions.end());
  require(positions.front() >= 0 && positions.back() < n, "a position is out of range");
  require(std::adjacent_find(positions.begin(), positions.end()) == positions.end(),
          "a position is there twice");
  require(count_strangers(exec, keys, row_begin(values, row), row_begin(indices, row), k) == 0,
          "a value is not the key there");
  auto const selected = on_host_copy(values, row, k);
  if (approximate) return;
  T const worst = *std::min_element(selected.begin(), selected.end(), is_less);
  auto const better =
      std::count_if(selected.begin(), selected.end(), [&](T key) { return is_less(worst, key); });
  require(count_above(exec, keys, n, worst) == better, "a better key was left out");
}

/// Calls visit(row, its keys) for the first row, the last and one between.
template <class Exec, class T, class Visit>
void for_some_rows(Case const& c, KeyView<Exec, T> const& keys, Visit const& visit) {
  auto const begins = row_begins(c);
  for (std::int64_t row : {std::int64_t(0), c.rows / 2, c.rows - 1}) {
    std::int64_t const begin = begins[static_cast<std::size_t>(row)];
    std::int64_t const n = begins[static_cast<std::size_t>(row) + 1] - begin;
    visit(row, KeyRow<T>{keys.data() + begin, n, std::min(c.k, n)});
  }
}

/// \throws std::runtime_error for a wrong answer
template <class Exec, class T, class Indices>
void verify(Exec const& exec, Case const& c, KeyView<Exec, T> const& keys,
            KeyView<Exec, T> const& values, Indices const& indices) {
  if (has_nans(c)) return;
  for_some_rows<Exec>(c, keys, [&](std::int64_t row, KeyRow<T> const& expected) {
    verify_row(exec, expected, values, indices, row, c.recall != "1");
  });
}

/// Which part of the true k best keys was found, in the mean over the rows that are verified. One is found if fewer than k
/// keys of its row are better.
template <class Exec, class T>
double part_found(Exec const& exec, Case const& c, KeyView<Exec, T> const& keys,
                  KeyView<Exec, T> const& values) {
  double sum = 0;
  for_some_rows<Exec>(c, keys, [&](std::int64_t row, KeyRow<T> const& expected) {
    auto selected = on_host_copy(values, row, expected.k);
    std::sort(selected.begin(), selected.end(), [](T a, T b) { return is_less(b, a); });
    auto const end = std::partition_point(selected.begin(), selected.end(), [&](T key) {
      return count_above(exec, expected.keys, expected.n, key) < expected.k;
    });
    sum += static_cast<double>(end - selected.begin()) / static_cast<double>(expected.k);
  });
  return sum / 3;
}

/// The same where there are values alone, on a host: they must be the best keys of their row.
template <class T>
bool are_the_best(KeyRow<T> const& expected, T const* values) {
  std::vector<T> best(static_cast<std::size_t>(expected.k));
  auto const better = [](T a, T b) { return b < a; };
  std::partial_sort_copy(expected.keys, expected.keys + expected.n, best.begin(), best.end(),
                         better);
  std::vector<T> selected(values, values + expected.k);
  std::sort(selected.begin(), selected.end(), better);
  return selected == best;
}

}  // namespace ktopk::perf
