// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"

#include "support/bytes.hpp"
#include "support/inputs.hpp"

#include <Kokkos_Core.hpp>

#include <any>
#include <cstdint>
#include <string>
#include <vector>

namespace ktopk::perf {

template <class Exec, class T>
using KeyView = Kokkos::View<T**, Kokkos::LayoutRight, typename Exec::memory_space>;

template <class Exec>
inline constexpr bool on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// Where the rows begin among the keys, and the end of the last.
inline std::vector<std::int64_t> row_begins(Case const& c) {
  std::vector<std::int64_t> begins{0};
  for (std::int64_t row = 0; row < c.rows; ++row) {
    auto const random = testing::random_bits(17, static_cast<std::uint64_t>(row));
    auto const ragged = 1 + static_cast<std::int64_t>(random % static_cast<std::uint64_t>(c.n));
    begins.push_back(begins.back() + (c.lengths == Lengths::ragged ? ragged : c.n));
  }
  return begins;
}

/// Fills row by row, on a host by the threads that will read them where possible (first touch).
template <class Exec, class T>
void fill_rows(KeyView<Exec, T> const& keys, testing::Input input,
               std::vector<std::int64_t> const& begins) {
  for (std::size_t row = 0; row + 1 < begins.size(); ++row) {
    std::int64_t const n = begins[row + 1] - begins[row];
    testing::detail::KeySource<T> const source(input, n, 1 + row);
    T* const begin = keys.data() + begins[row];
    Kokkos::parallel_for(
        "ktopk::perf::fill", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, n),
        KOKKOS_LAMBDA(std::int64_t i) { begin[i] = source(i); });
  }
  Exec().fence();
}

/// The same keys but for `normal`, for which each machine has its own sine and logarithm.
template <class Exec, class T>
void fill_on_device(KeyView<Exec, T> const& keys, testing::Input input) {
  auto const n = static_cast<std::int64_t>(keys.extent(1));
  T* const begin = keys.data();
  Kokkos::parallel_for(
      "ktopk::perf::fill",
      Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
          0, static_cast<std::int64_t>(keys.size())),
      KOKKOS_LAMBDA(std::int64_t i) {
        begin[i] = testing::detail::KeySource<T>(input, n, 1 + i / n)(i % n);
      });
  Exec().fence();
}

template <class Exec, class T>
KeyView<Exec, T> uninitialized(std::string const& label, std::int64_t rows, std::int64_t columns) {
  return KeyView<Exec, T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), rows, columns);
}

/// k places for every row, none of which holds a position.
template <class Exec, class T>
KeyView<Exec, T> make_places(std::string const& label, Case const& c) {
  auto const places = uninitialized<Exec, T>(label, c.rows, c.k);
  Kokkos::deep_copy(testing::bytes_of(places), 0xff);
  return places;
}

/// Ragged rows lie one behind the other in a View of one row.
template <class Exec, class T>
KeyView<Exec, T> make_keys(Case const& c) {
  bool const ragged = c.lengths == Lengths::ragged;
  auto const begins = row_begins(c);
  auto const keys = uninitialized<Exec, T>("ktopk::perf::keys", ragged ? 1 : c.rows,
                                           ragged ? begins.back() : c.n);
  auto const input = testing::input_from_name(c.input).value();
  if (on_host<Exec> || ragged)
    fill_rows<Exec, T>(keys, input, begins);
  else
    fill_on_device<Exec, T>(keys, input);
  return keys;
}

/// The keys of the workload measured last, so that its further cases need not make them again.
class KeyCache {
 public:
  template <class Exec, class T>
  KeyView<Exec, T> get(Case const& c) {
    if (m_name != workload_name(c)) {
      clear();
      m_keys = make_keys<Exec, T>(c);
      m_name = workload_name(c);
    }
    return std::any_cast<KeyView<Exec, T>>(m_keys);
  }
  void clear() {
    m_keys.reset();
    m_name.clear();
  }

 private:
  std::string m_name;
  std::any m_keys;
};

inline KeyCache key_cache;

/// Floating-point inputs that std::nth_element's ordering does not hold for.
inline bool has_nans(Case const& c) {
  bool const floating = c.type.find('f') != std::string::npos;
  return floating && (c.input == "nans" || c.input == "mostly_nans" || c.input == "invalid" ||
                      c.input == "random_bits");
}

}  // namespace ktopk::perf
