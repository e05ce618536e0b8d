// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>
#include <ktopk/top_k.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// Rows whose positions have 32 bits and more, on a device: hosts would take minutes.

namespace ktopk::testing {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = MemoryOf<Exec>;
template <class T>
using Row = Kokkos::View<T*, Memory>;
using Positions = Kokkos::View<std::int64_t*, Memory>;

constexpr std::int64_t two_to_the_32 = std::int64_t{1} << 32;

/// A row of few low keys, in which some are better: the places of these are on both sides of 2^31 and 2^32.
template <class T>
struct LowKeys {
  Row<T> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { keys(i) = static_cast<T>(i % 7); }
};
template <class T>
struct BetterKeys {
  Row<T> keys;
  Positions places;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    keys(places(i)) = static_cast<T>(10 + i % 5);
  }
};

std::vector<std::int64_t> better_places(std::int64_t n) {
  std::vector<std::int64_t> places;
  for (std::int64_t const at : {std::int64_t{0}, n / 3, two_to_the_32 / 2, two_to_the_32, n - 4})
    for (std::int64_t i = -2; i < 3; ++i)
      if (at + i >= 0 && at + i < n) places.push_back(at + i);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

template <class T>
Row<T> row_with(std::int64_t n, std::vector<std::int64_t> const& places) {
  Row<T> const keys(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test::keys"), n);
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("test::low", Range(0, n), LowKeys<T>{keys});
  Kokkos::parallel_for("test::better", Range(0, std::ssize(places)),
                       BetterKeys<T>{keys, copied_to<Memory>(places)});
  return keys;
}

struct Truth {
  std::vector<std::int64_t> positions, keys;
};
/// The k best: better ones by key and place, then those of key 6.
Truth best_of(std::int64_t k, std::vector<std::int64_t> const& places) {
  Truth truth;
  auto const add = [&](std::int64_t position, std::int64_t key) {
    if (std::ssize(truth.keys) < k) truth.positions.push_back(position), truth.keys.push_back(key);
  };
  for (std::int64_t key = 14; key >= 10; --key)
    for (std::int64_t i = 0; i < std::ssize(places); ++i)
      if (10 + i % 5 == key) add(places[i], key);
  for (std::int64_t i = 6; std::ssize(truth.keys) < k; i += 7)
    if (std::find(places.begin(), places.end(), i) == places.end()) add(i, 6);
  return truth;
}

/// Whether there is memory for a row and for what selects from it. (sort would need several times as much.)
template <class T>
bool fits_device(std::int64_t n) {
  try {
    Row<std::byte> const memory(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test::memory"),
                                n * (sizeof(T) + 8));
    return true;
  } catch (std::exception const&) { return false; }
}

template <class T>
void select_from(std::int64_t n, std::int64_t k) {
  auto const places = better_places(n);
  auto const keys = row_with<T>(n, places);
  Truth const truth = best_of(k, places);
  for_each_space([&](auto const& exec) {
    for (Algorithm const algorithm : {Algorithm::automatic, Algorithm::one_pass, Algorithm::radix,
                                      Algorithm::bitonic, Algorithm::queue, Algorithm::delegate}) {
      CAPTURE(n, k, name(algorithm));
      Row<T> const values("test::values", k);
      Positions const indices("test::indices", k);
      top_k(exec, keys, values, indices, {.algorithm = algorithm});
      exec.fence();
      auto const got_values = on_host(values);
      auto const got = on_host(indices);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < k; ++i)
        wrong += got(i) != truth.positions[i] || got_values(i) != static_cast<T>(truth.keys[i]);
      CHECK(wrong == 0);
    }
  });
}

struct Same {
  template <class T>
  KOKKOS_FUNCTION T operator()(T key) const {
    return key;
  }
};

using Types = std::tuple<std::uint8_t, float>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows of 2^31 and 2^32 keys", "[long_rows]", Types) {
  for (std::int64_t const n : {two_to_the_32 / 2 + 7, two_to_the_32 + 7}) {
    if (!fits_device<TestType>(n)) SKIP("this takes much memory");
    for (std::int64_t const k : {20, 3000}) select_from<TestType>(n, k);
  }
}

TEMPLATE_LIST_TEST_CASE("order statistics and counts of 2^32 keys", "[long_rows]", Types) {
  std::int64_t const n = two_to_the_32 + 7;
  if (!fits_device<TestType>(n)) SKIP("this takes much memory");
  Exec const exec;
  auto const places = better_places(n);
  auto const keys = row_with<TestType>(n, places);
  std::int64_t const better = std::ssize(places);

  Row<TestType> const values("test::values", 4);
  ranks(exec, keys, std::vector<std::int64_t>{0, better - 1, better, n - 1}, values);
  Row<TestType> const bounds("test::bounds", 2);
  Kokkos::deep_copy(bounds, TestType{9});
  Positions const above("test::above", 2), indices("test::indices", 40);
  count(exec, keys, bounds, above, nothing);
  Kokkos::View<TestType, Memory> const threshold("test::threshold");
  Kokkos::View<std::int64_t, Memory> const reaching_count("test::count");
  Kokkos::deep_copy(threshold, TestType{10});
  reaching(exec, keys, threshold, nothing, indices, reaching_count);
  exec.fence();

  auto const got = on_host(values);
  CHECK(got(0) == TestType{14});
  CHECK(got(1) == TestType{10});
  CHECK(got(2) == TestType{6});
  CHECK(got(3) == TestType{0});
  CHECK(on_host(above)(0) == better);
  CHECK(on_host(reaching_count)() == better);
  for (std::int64_t i = 0; i < better; ++i) CHECK(on_host(indices)(i) == places[i]);
}

TEST_CASE("2^32 computed keys", "[long_rows]") {
  std::int64_t const n = two_to_the_32 + 7, k = 20;
  if (!fits_device<float>(n)) SKIP("this takes much memory");
  Exec const exec;
  auto const places = better_places(n);
  auto const keys = row_with<float>(n, places);
  Truth const truth = best_of(k, places);
  Row<float> const values("test::values", k);
  Positions const indices("test::indices", k);
  top_k(exec, transform(keys, Same{}), values, indices);
  exec.fence();
  for (std::int64_t i = 0; i < k; ++i) {
    CHECK(on_host(indices)(i) == truth.positions[i]);
    CHECK(on_host(values)(i) == static_cast<float>(truth.keys[i]));
  }
}

}  // namespace ktopk::testing
