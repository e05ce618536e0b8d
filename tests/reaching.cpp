// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/config.hpp>
#include <ktopk/core/backend.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/reaching.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "support/copies.hpp"
#include "support/oracle.hpp"
#include "support/recorder.hpp"
#include "support/rejects.hpp"
#include "support/spaces.hpp"

// What reaches a threshold, and counts by bounds. The oracle tells which of two keys is better.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, std::int16_t, bfloat16, float, double, std::uint64_t>;

template <class T>
bool are_equal(T a, T b, Options options) {
  T const both[2]{a, b}, turned[2]{b, a};
  options.ties = Ties::lowest_index;
  return best_positions(both, 2, 1, options)[0] == 0 &&
         best_positions(turned, 2, 1, options)[0] == 0;
}

/// How many other keys of the row are better than each: the same number for equal keys.
template <class T>
std::vector<std::int64_t> places_of(T const* keys, std::int64_t n, Options const& options) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(n));
  auto const best = best_positions(keys, n, n, options);
  for (std::int64_t i = 0; i < n; ++i)
    places[best[i]] =
        i > 0 && are_equal(keys[best[i - 1]], keys[best[i]], options) ? places[best[i - 1]] : i;
  return places;
}

std::vector<std::int64_t> positions_up_to(std::vector<std::int64_t> const& places,
                                          std::int64_t place) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < std::ssize(places); ++i)
    if (places[i] <= place) positions.push_back(i);
  return positions;
}

/// The same, but NaNs that are no keys reach nothing.
template <class T>
std::vector<std::int64_t> reaching_place(T const* keys, std::vector<std::int64_t> const& places,
                                         std::int64_t place, Options const& options) {
  auto positions = positions_up_to(places, place);
  if (options.nan == NaN::skip)
    std::erase_if(positions, [&](std::int64_t i) { return is_nan(number(keys[i])); });
  return positions;
}

struct Size {
  std::int64_t rows, n, capacity;
};

template <class T, class Layout, class Exec>
void ask_reaching(Exec const& exec, Input input, Size size, double part, Options const& options) {
  using Memory = MemoryOf<Exec>;
  auto const keys = filled<T>(input, size.rows, size.n);
  auto const view = copied_to<Memory, Layout>(keys, size.rows, size.n);
  std::vector<T> thresholds;
  std::vector<std::vector<std::int64_t>> reach;
  for (std::int64_t r = 0; r < size.rows; ++r) {
    auto const at = std::min(size.n - 1, static_cast<std::int64_t>(part * double(size.n)));
    T const* const row = keys.data() + r * size.n;
    auto const position = best_positions(row, size.n, at + 1, options).back();
    auto const places = places_of(row, size.n, options);
    thresholds.push_back(row[position]);
    reach.push_back(reaching_place(row, places, places[position], options));
  }
  auto const expect_reached = [&] {
    Kokkos::View<T**, Layout, Memory> const values("values", size.rows, size.capacity);
    Kokkos::View<std::int32_t**, Layout, Memory> const indices("indices", size.rows, size.capacity);
    Kokkos::View<std::int64_t*, Memory> const counts("counts", size.rows);
    Kokkos::deep_copy(indices, -7);
    reaching(exec, view, copied_to<Memory>(thresholds), values, indices, counts, options);
    exec.fence();
    auto const got = on_host(values);
    auto const got_indices = on_host(indices);
    auto const got_counts = on_host(counts);
    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < size.rows; ++r) {
      T const* const row = keys.data() + r * size.n;
      auto const& wanted = reach[r];
      wrong += got_counts(r) == std::ssize(wanted) ? 0 : 1;
      for (std::int64_t s = 0; s < size.capacity; ++s) {
        bool const is_there = s < std::ssize(wanted);
        bool const right =
            is_there ? got_indices(r, s) == wanted[s] && same_bits(got(r, s), row[wanted[s]])
                     : got_indices(r, s) == -7;
        wrong += right ? 0 : 1;
      }
    }
    CAPTURE(exec.name(), name(input), size.rows, size.n, size.capacity, part);
    CHECK(wrong == 0);
  };
  expect_reached();
  if constexpr (ktopk::detail::is_host_space<Exec>) {
    ktopk::detail::ForcePortable const portable;
    expect_reached();
  }
}

/// How many keys of each row are better than each bound, and how many are equal: bounds are put in the row, and found.
template <class T>
std::vector<std::pair<std::int64_t, std::int64_t>> counts_of(std::vector<T> const& keys,
                                                             std::int64_t rows, std::int64_t n,
                                                             std::vector<T> const& bounds,
                                                             Options const& options) {
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<T> row(keys.begin() + r * n, keys.begin() + (r + 1) * n);
    row.insert(row.end(), bounds.begin(), bounds.end());
    auto const places = places_of(row.data(), std::ssize(row), options);
    for (std::int64_t b = 0; b < std::ssize(bounds); ++b) {
      std::int64_t const own = places[n + b];
      auto const better = [&](std::int64_t place) { return place < own; };
      counts.emplace_back(std::count_if(places.begin(), places.begin() + n, better),
                          std::count(places.begin(), places.begin() + n, own));
    }
  }
  return counts;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("what reaches a threshold, of every input", "[reaching]", Types) {
  for_each_exec([&](auto const& exec) {
    for (auto const& [input, input_name] : input_table)
      for (Options const& options : orders()) {
        ask_reaching<TestType, Kokkos::LayoutRight>(exec, input, {1, 70'000, 300}, 0.001, options);
        ask_reaching<TestType, Kokkos::LayoutLeft>(exec, input, {3, 900, 500}, 0.3, options);
      }
  });
}

TEST_CASE("what reaches a threshold by magnitude, and if NaNs are no keys", "[reaching]") {
  for_each_exec([&](auto const& exec) {
    for (Input input : {Input::normal, Input::nans, Input::mostly_nans})
      for (Order order : {Order::largest, Order::smallest})
        for (NaN nan : {NaN::greatest, NaN::skip}) {
          Options const options{.order = order, .nan = nan, .by = By::magnitude};
          ask_reaching<float, Kokkos::LayoutRight>(exec, input, {1, 70'000, 300}, 0.001, options);
          ask_reaching<double, Kokkos::LayoutRight>(exec, input, {3, 900, 500}, 0.9, options);
        }
  });
}

TEST_CASE("a few keys, many and all reach a threshold", "[reaching]") {
  for_each_exec([&](auto const& exec) {
    for (Size const size : {Size{1, 1, 1}, Size{1, 400'000, 400'000}, Size{5, 70'000, 10'000},
                            Size{900, 33, 33}, Size{2, 90'000, 0}})
      for (double const part : {0.0, 0.001, 0.05, 0.07, 0.5, 1.0})
        ask_reaching<float, Kokkos::LayoutRight>(exec, Input::normal, size, part, {});
  });
}

TEST_CASE("what reaches a threshold in ragged rows, by a plan, into one output", "[reaching]") {
  std::vector<std::int64_t> const begins{0, 0, 5, 9000, 9001, 140'000, 150'000};
  auto const keys = filled<float>(Input::normal, 1, 150'000);
  for_each_exec([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = MemoryOf<Exec>;
    auto const rows = ragged(copied_to<Memory>(keys), copied_to<Memory>(begins));
    Kokkos::View<float, Memory> const threshold("threshold");
    Kokkos::deep_copy(threshold, 1.5f);
    Kokkos::View<std::int64_t**, Memory> const indices("indices", 6, 9000);
    Shape shape = make_shape<float>(6, 200'000, 1);
    shape.ragged = true;
    ReachingPlan<Exec> plan(exec, shape);
    Recorder const record;
    plan(rows, threshold, nothing, indices, nothing);
    CHECK(record.all(Event::Kind::allocation).empty());
    CHECK(record.all(Event::Kind::fence).empty());
    exec.fence();
    auto const got = on_host(indices);
    for (std::int64_t r = 0; r < 6; ++r) {
      std::vector<std::int64_t> wanted;
      for (std::int64_t i = begins[r]; i < begins[r + 1]; ++i)
        if (keys[i] >= 1.5f) wanted.push_back(i - begins[r]);
      std::int64_t wrong = 0;
      for (std::int64_t s = 0; s < std::min<std::int64_t>(9000, std::ssize(wanted)); ++s)
        wrong += got(r, s) == wanted[s] ? 0 : 1;
      CHECK(wrong == 0);
    }
  });
}

TEMPLATE_LIST_TEST_CASE("counts by bounds", "[reaching]", Types) {
  for_each_exec([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    for (auto const& [input, input_name] : input_table)
      for (auto const& [rows, n, bounds] :
           {Size{1, 40'000, 1}, Size{3, 300, 11}, Size{2, 33'000, 4}})
        for (Options const& options : orders()) {
          auto const keys = filled<TestType>(input, rows, n);
          // Keys of the first row are the bounds of all.
          std::vector<TestType> chosen;
          for (std::int64_t b = 0; b < bounds; ++b) chosen.push_back(keys[b * 6151 % n]);
          Kokkos::View<std::int32_t**, Kokkos::LayoutLeft, Memory> const better_counts("c", rows,
                                                                                       bounds);
          Kokkos::View<std::int64_t**, Memory> const equal_counts("c", rows, bounds);
          auto const truth = counts_of(keys, rows, n, chosen, options);
          auto const expect_counts = [&] {
            Kokkos::deep_copy(better_counts, 99);
            count(exec, copied_to<Memory, Kokkos::LayoutRight>(keys, rows, n),
                  copied_to<Memory>(chosen), better_counts, equal_counts, options);
            exec.fence();
            auto const got_better = on_host(better_counts);
            auto const got_equal = on_host(equal_counts);
            std::int64_t wrong = 0;
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t b = 0; b < bounds; ++b) {
                auto const& [better_keys, equal_keys] = truth[r * bounds + b];
                wrong += got_better(r, b) == better_keys && got_equal(r, b) == equal_keys ? 0 : 1;
              }
            CAPTURE(exec.name(), input_name, rows, n);
            CHECK(wrong == 0);
          };
          expect_counts();
          ktopk::detail::ForcePortable const portable;
          expect_counts();
        }
  });
}

#if KTOPK_ENABLE_HOST_TUNED && !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEST_CASE("hosts count neighbors and what reaches a threshold with SIMD", "[reaching]") {
  for_each_exec([&](auto const& exec) {
    Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> const rows("rows", 2, 5000);
    Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> const columns("c", 2, 5000);
    Kokkos::View<double*, Kokkos::HostSpace> const bounds("bounds", 1), thresholds("t", 2);
    Kokkos::View<int**, Kokkos::HostSpace> const equal("equal", 2, 1), indices("indices", 2, 3);
    Recorder const recorder;
    count(exec, columns, bounds, nothing, equal);
    reaching(exec, columns, thresholds, nothing, indices, nothing);
    exec.fence();
    CHECK_FALSE(recorder.ran("ktopk::host::count"));
    CHECK_FALSE(recorder.ran("ktopk::host::reaching::list"));
    count(exec, rows, bounds, nothing, equal);
    reaching(exec, rows, thresholds, nothing, indices, nothing);
    exec.fence();
    CHECK(recorder.ran("ktopk::host::count"));
    CHECK(recorder.ran("ktopk::host::reaching::list"));
    CHECK(recorder.ran("ktopk::host::reaching::store"));
    CHECK((equal(0, 0) == 5000 && equal(1, 0) == 5000));
    CHECK((indices(0, 2) == 2 && indices(1, 2) == 2));
  });
}
#endif

TEST_CASE("payload is gathered by position, of several Views at once", "[gather]") {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  Exec const exec;
  std::vector<int> const flat{-1, 2, 0, 3, 1, 4};
  auto const indices = copied_to<Memory, Kokkos::LayoutRight>(flat, 2, 3);
  auto const labels = copied_to<Memory>(std::vector<double>{10, 11, 12, 13});
  auto const of_rows =
      copied_to<Memory, Kokkos::LayoutLeft>(std::vector<int>{0, 1, 2, 3, 100, 101, 102, 103}, 2, 4);
  auto const features = copied_to<Memory, Kokkos::LayoutRight>(
      std::vector<float>{0, .5, 1, 1.5, 2, 2.5, 3, 3.5}, 4, 2);
  auto const parts = copied_to<Memory>(std::vector<int>{0, 2, 6});
  Kokkos::View<double**, Memory> const to_labels("to", 2, 3);
  Kokkos::View<int**, Memory> const to_rows("to", 2, 3), to_parts("to", 2, 3);
  Kokkos::View<float***, Memory> const to_features("to", 2, 3, 2);
  Kokkos::deep_copy(to_rows, -5);
  auto const six = copied_to<Memory>(std::vector<int>{20, 21, 30, 31, 32, 33});
  gather(exec, indices, payload(labels, to_labels), payload(of_rows, to_rows),
         payload(features, to_features), payload(ragged(six, parts), to_parts));
  exec.fence();
  auto const got_labels = on_host(to_labels);
  auto const got_rows = on_host(to_rows), got_parts = on_host(to_parts);
  auto const got_features = on_host(to_features);
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 3; ++s) {
      int const i = flat[3 * r + s];
      bool const is_there = i >= 0 && i < 4;
      CHECK(got_labels(r, s) == (is_there ? 10 + i : 0));
      CHECK(got_rows(r, s) == (is_there ? 100 * r + i : -5));
      CHECK(got_features(r, s, 1) == (is_there ? float(i) + .5f : 0));
    }
  CHECK(got_parts(0, 2) == 20);
  CHECK(got_parts(1, 0) == 33);
  CHECK(got_parts(1, 1) == 31);
  Kokkos::View<double**, Memory> const too_few("to", 2, 2);
  rejects([&] { gather(exec, indices, payload(labels, too_few)); }, {"ktopk::gather", "2", "3"});
}

TEST_CASE("wrong thresholds and bounds are rejected", "[reaching]") {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  Exec const exec;
  Kokkos::View<float**, Memory> const keys("keys", 3, 10), values("values", 3, 2);
  Kokkos::View<float**, Memory> const more("values", 2, 2);
  Kokkos::View<float*, Memory> const thresholds("thresholds", 3), two("two", 2);
  Kokkos::View<std::int64_t**, Memory> const counts("counts", 3, 2);
  Kokkos::View<std::int64_t*, Memory> const one("one", 1);
  char const* const reach = "ktopk::reaching";
  rejects([&] { reaching(exec, keys, two, values, nothing, nothing); },
          {reach, "length of thresholds is 2", "3"});
  rejects([&] { reaching(exec, keys, thresholds, more, nothing, nothing); },
          {reach, "rows of values is 2", "3"});
  rejects([&] { reaching(exec, keys, thresholds, keys, nothing, nothing); },
          {reach, "keys and values overlap by 120 bytes"});
  rejects([&] { reaching(exec, keys, thresholds, values, nothing, one); },
          {reach, "length of counts is 1", "3"});
  Kokkos::View<int**, Memory> const indices("indices", 3, 3);
  rejects([&] { reaching(exec, keys, thresholds, values, indices, nothing); },
          {reach, "extent of values is 2", "3"});
  Kokkos::View<float**, Memory> const same(thresholds.data(), 3, 1);
  rejects([&] { reaching(exec, keys, thresholds, same, nothing, nothing); },
          {reach, "thresholds and values overlap by 12 bytes"});
  Kokkos::View<int**, Memory> const index_of_each("indices", 3, 1);
  Kokkos::View<int*, Memory> const in_indices(index_of_each.data(), 3);
  rejects([&] { reaching(exec, keys, thresholds, nothing, index_of_each, in_indices); },
          {reach, "indices and counts overlap by 12 bytes"});

  char const* const number = "ktopk::count";
  rejects([&] { count(exec, keys, thresholds, counts, nothing); },
          {number, "length of a row of counts is 2", "3"});
  rejects([&] { count(exec, keys, more, counts, nothing); }, {number, "rows of bounds is 2", "3"});
  rejects([&] { count(exec, keys, two, counts, counts); },
          {number, "better and equal overlap by 48"});
  Kokkos::View<std::int32_t**, Memory> const in_keys(reinterpret_cast<std::int32_t*>(keys.data()),
                                                     3, 2);
  rejects([&] { count(exec, keys, two, nothing, in_keys); },
          {number, "keys and equal overlap by 24"});
  Kokkos::View<std::int32_t**, Memory> const in_bounds(reinterpret_cast<std::int32_t*>(two.data()),
                                                       1, 2);
  Kokkos::View<float**, Memory> const row("row", 1, 10);
  rejects([&] { count(exec, row, two, in_bounds, nothing); },
          {number, "bounds and better overlap by 8"});
}

}  // namespace ktopk::testing
