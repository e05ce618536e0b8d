// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/core/positions.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <ktopk/impl/portable/group/lane_group.hpp>

#include "support/copies.hpp"
#include "support/oracle.hpp"
#include "support/recorder.hpp"
#include "support/rejects.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// Order statistics: the oracle sorts each row, and so knows the key of every rank.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, std::int16_t, bfloat16, float, double, std::uint64_t>;
using FloatTypes = std::tuple<bfloat16, float, double>;

/// The key that comes out for a key: of equal ones always the same.
template <class T>
T canonical(T key, By by = By::value) {
  if constexpr (ktopk::detail::KeyTraits<T>::kind == ktopk::detail::KeyKind::floating) {
    using Bits = ktopk::detail::bits_of<T>;
    auto const infinity = static_cast<Bits>(ktopk::detail::KeyTraits<T>::infinity);
    auto const magnitude = static_cast<Bits>(static_cast<Bits>(std::bit_cast<Bits>(key) << 1) >> 1);
    if (magnitude == 0) return std::bit_cast<T>(Bits{0});
    auto const quiet_bit = static_cast<Bits>((infinity & (~infinity + 1)) >> 1);
    if (magnitude > infinity) return std::bit_cast<T>(static_cast<Bits>(infinity | quiet_bit));
    if (by == By::magnitude) return std::bit_cast<T>(magnitude);
  }
  return key;
}

/// The sorted keys of each row.
template <class T>
struct Sorted2 {
  std::vector<std::vector<T>> rows;
  Options options;

  Sorted2(std::vector<T> const& keys, std::vector<std::int64_t> const& begins, Options const& asked)
      : options(asked) {
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      T const* const first = keys.data() + begins[r];
      std::int64_t const n = begins[r + 1] - begins[r];
      rows.emplace_back();
      for (std::int64_t const at : best_positions(first, n, n, options))
        if (options.nan != NaN::skip || !is_nan(number(first[at])))
          rows.back().push_back(canonical(first[at], options.by));
    }
  }
  T of_rank(std::int64_t row, std::int64_t rank) const {
    auto const& keys = rows[row];
    return rank >= 0 && rank < std::ssize(keys) ? keys[rank] : worst_key<T>(options);
  }
};

/// Calls body(exec) for each execution space; for hosts with the tuned search, and with the portable one.
template <class Body>
void for_each_search(Body const& body) {
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
  for_each_exec(body);
#else
  for_each_space(body);
#endif
}

std::vector<std::int64_t> equal_rows(std::int64_t rows, std::int64_t n) {
  std::vector<std::int64_t> begins;
  for (std::int64_t r = 0; r <= rows; ++r) begins.push_back(r * n);
  return begins;
}

struct Size {
  std::int64_t rows, n;
};

std::vector<std::int64_t> some_ranks(std::int64_t n, std::int64_t count) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < count; ++i) ranks.push_back((i * 7919 + 3) * (n / 5 + 1) % n);
  ranks.back() = n - 1;
  ranks.front() = count > 1 ? 0 : n / 2;
  return ranks;
}

template <class T, class Exec, class Keys>
void ask_ranks(Exec const& exec, Keys const& keys, Sorted2<T> const& truth,
               std::vector<std::int64_t> const& ranks, Options const& options) {
  auto const rows = std::ssize(truth.rows), count = std::ssize(ranks);
  Kokkos::View<T**, Kokkos::LayoutLeft, MemoryOf<Exec>> const values("values", rows, count);
  auto const on_device = copied_to<MemoryOf<Exec>>(ranks);
  for (bool const known : {true, false}) {
    Kokkos::deep_copy(values, T{});
    if (known)
      ktopk::ranks(exec, keys, ranks, values, options);
    else
      ktopk::ranks(exec, keys, on_device, values, options);
    exec.fence();
    auto const got = on_host(values);
    std::int64_t wrong = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < count; ++i)
        wrong += same_bits(got(r, i), truth.of_rank(r, ranks[i])) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

/// Asks for each of these numbers of ranks.
template <class T, class Layout, class Exec>
void ask_equal_rows(Exec const& exec, Input input, Size size,
                    std::vector<std::int64_t> const& counts) {
  auto const keys = filled<T>(input, size.rows, size.n);
  auto const view = copied_to<MemoryOf<Exec>, Layout>(keys, size.rows, size.n);
  for (Options const& options : orders()) {
    Sorted2<T> const truth(keys, equal_rows(size.rows, size.n), options);
    for (std::int64_t const count : counts) {
      CAPTURE(exec.name(), name(input), size.rows, size.n, count);
      ask_ranks(exec, view, truth, some_ranks(size.n, count), options);
    }
  }
}

struct Magnitude {
  KOKKOS_FUNCTION float operator()(float key) const { return key < 0 ? -key : key; }
};
/// Of every `of` positions one.
struct OneOf {
  std::int64_t of;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::int64_t i) const {
    return (i * 7919 + row) % of == 0;
  }
};

/// What NumPy defines, rounded once.
double between(double a, double b, double weight) {
  return weight < 0.5 ? std::fma(b - a, weight, a) : std::fma(a - b, 1 - weight, b);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the keys of any ranks, of every input", "[ranks]", Types) {
  for_each_search([&](auto const& exec) {
    for (auto const& [input, input_name] : input_table) {
      ask_equal_rows<TestType, Kokkos::LayoutRight>(exec, input, {1, 70'000}, {1, 7});
      ask_equal_rows<TestType, Kokkos::LayoutRight>(exec, input, {5, 3'000}, {1, 23});
    }
  });
}

TEMPLATE_LIST_TEST_CASE("ranks of rows of every length and layout", "[ranks]", Types) {
  for_each_search([&](auto const& exec) {
    for (Size const size : {Size{1, 1}, Size{300, 1}, Size{40, 65}, Size{3, 8191}, Size{3, 8192},
                            Size{2, 32'768}, Size{2, 150'000}}) {
      ask_equal_rows<TestType, Kokkos::LayoutRight>(exec, Input::uniform, size, {1, 2, 16});
      ask_equal_rows<TestType, Kokkos::LayoutLeft>(exec, Input::few_values, size, {1, 16});
    }
  });
}

TEMPLATE_LIST_TEST_CASE("ranks by magnitude, and of rows whose NaNs are no keys", "[ranks]",
                        FloatTypes) {
  for_each_search([&](auto const& exec) {
    for (Input input : {Input::normal, Input::nans, Input::mostly_nans, Input::zeros})
      for (Size const size : {Size{1, 70'000}, Size{5, 3'000}}) {
        auto const keys = filled<TestType>(input, size.rows, size.n);
        auto const view = copied_to<MemoryOf<std::decay_t<decltype(exec)>>, Kokkos::LayoutRight>(
            keys, size.rows, size.n);
        for (Order order : {Order::largest, Order::smallest})
          for (By by : {By::magnitude, By::value})
            for (NaN nan : {NaN::least, NaN::skip}) {
              Options const options{.order = order, .nan = nan, .by = by};
              CAPTURE(exec.name(), name(input), size.n, static_cast<int>(order),
                      static_cast<int>(by), static_cast<int>(nan));
              ask_ranks(exec, view, Sorted2<TestType>(keys, equal_rows(size.rows, size.n), options),
                        some_ranks(size.n, 7), options);
            }
      }
  });
}

TEST_CASE("counts of ranks are added up before they are too large", "[ranks]") {
  ktopk::detail::ForceMostCounted const few(4096);
  for_each_search([&](auto const& exec) {
    for (Input input : {Input::normal, Input::all_equal, Input::clustered})
      for (Size const size : {Size{1, 200'000}, Size{60, 9'000}})
        ask_equal_rows<float, Kokkos::LayoutRight>(exec, input, size, {5});
  });
}

TEST_CASE("ranks that ragged rows have, or lack", "[ranks]") {
  std::vector<std::int64_t> const begins{0, 0, 5, 9000, 9001, 140'000, 150'000};
  for_each_search([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    for (Input input : {Input::normal, Input::few_values, Input::nans}) {
      auto const keys = filled<float>(input, 1, 150'000);
      auto const rows = ragged(copied_to<Memory>(keys), copied_to<Memory>(begins));
      for (Options const& options : orders())
        ask_ranks(exec, rows, Sorted2<float>(keys, begins, options), {0, 3, 8'995, 9'999, 100'000},
                  options);
    }
  });
}

TEST_CASE("the k-th of each row, one k or a k of each", "[ranks]") {
  for_each_search([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    for (std::int64_t const n : {20'000, 2'000}) {
      std::int64_t const rows = 6;
      auto const keys = filled<double>(Input::normal, rows, n);
      auto const view = copied_to<Memory, Kokkos::LayoutRight>(keys, rows, n);
      Sorted2<double> const truth(keys, equal_rows(rows, n), {});
      Kokkos::View<double*, Memory> const values("values", rows);
      auto const check = [&](auto const& k_of) {
        exec.fence();
        auto const got = on_host(values);
        for (std::int64_t r = 0; r < rows; ++r) CHECK(got(r) == truth.of_rank(r, k_of(r) - 1));
      };
      kth(exec, view, 777, values);
      check([](std::int64_t) { return 777; });
      // Out of range on the device: such a row has no such key.
      std::vector<std::int64_t> const each{1, n, n / 2, 0, n + 1, 17};
      auto const k_of = [&](std::int64_t r) { return each[r]; };
      kth(exec, view, copied_to<Memory>(each), values);
      check(k_of);
      Kokkos::deep_copy(values, 0);
      auto const host = copied_to<Kokkos::HostSpace>(each);
      kth(exec, view, host, values);
      check(k_of);

      Kokkos::View<double, Memory> const value("value");
      kth(exec, Kokkos::subview(view, 2, Kokkos::ALL), n / 2, value);
      exec.fence();
      CHECK(on_host(value)() == truth.of_rank(2, n / 2 - 1));
    }
  });
}

TEST_CASE("rows without a key have no k-th, and no quantile", "[ranks]") {
  for_each_search([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    Kokkos::View<float**, Kokkos::LayoutRight, Memory> const none("none", 3, 0);
    Kokkos::View<float*, Memory> const values("values", 3);
    Kokkos::View<float**, Memory> const medians("medians", 3, 1);
    Kokkos::deep_copy(values, 7.f);
    Kokkos::deep_copy(medians, 7.f);
    kth(exec, none, copied_to<Memory>(std::vector<std::int64_t>{1, 0, 5}), values);
    quantiles(exec, none, std::vector<double>{0.5}, medians);
    exec.fence();
    for (int r = 0; r < 3; ++r) {
      CHECK(same_bits(on_host(values)(r), worst_key<float>({})));
      CHECK(std::isnan(on_host(medians)(r, 0)));
    }
  });
}

TEST_CASE("ranks, counts and thresholds of computed and masked keys", "[ranks]") {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  Exec const exec;
  for (std::int64_t const n : {300, 200'000})
    for (std::int64_t const of : {1, 3, 1'000'000}) {
      auto const floats = filled<float>(Input::normal, 2, n);
      std::vector<float> kept;  // of both rows, one row after the other
      std::vector<std::int64_t> begins{0}, positions;
      for (std::int64_t r = 0; r < 2; ++r) {
        for (std::int64_t i = 0; i < n; ++i)
          if (OneOf{of}(r, i)) {
            kept.push_back(Magnitude{}(floats[r * n + i]));
            positions.push_back(i);
          }
        begins.push_back(std::ssize(kept));
      }
      auto const keys = where(
          transform(copied_to<Memory, Kokkos::LayoutRight>(floats, 2, n), Magnitude{}), OneOf{of});
      Sorted2<float> const truth(kept, begins, {});
      ask_ranks(exec, keys, truth, {0, n / 7, n / 3, n / 2, n - 1}, {});

      Kokkos::View<float*, Memory> const thresholds("thresholds", 2);
      Kokkos::View<std::int64_t**, Memory> const indices("indices", 2, n), better("better", 2, 2);
      Kokkos::View<std::int64_t*, Memory> const counts("counts", 2);
      kth(exec, keys, 10, thresholds);
      reaching(exec, keys, thresholds, nothing, indices, counts);
      count(exec, keys, thresholds, better, nothing);
      exec.fence();
      auto const got = on_host(indices);
      auto const got_counts = on_host(counts);
      auto const got_better = on_host(better);
      for (std::int64_t r = 0; r < 2; ++r) {
        float const tenth = truth.of_rank(r, 9);
        std::vector<std::int64_t> reach;
        for (std::int64_t i = begins[r]; i < begins[r + 1]; ++i)
          if (kept[i] >= tenth) reach.push_back(positions[i]);
        CHECK(got_counts(r) == std::ssize(reach));
        CHECK(got_better(r, r) ==
              std::max<std::int64_t>(0, std::min<std::int64_t>(9, std::ssize(reach))));
        for (std::int64_t s = 0; s < std::ssize(reach); ++s) CHECK(got(r, s) == reach[s]);
      }
    }
}

TEST_CASE("quantiles are what NumPy defines", "[ranks]") {
  std::vector<double> const q{0, 0.25, 0.5, 0.75, 1, 0.1, 1.0 / 3, 0.999, 0.5, 1e-9, 0.2, 0.9};
  for_each_exec([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    for (std::int64_t const n : {1, 2, 4, 5, 1000, 60'001}) {
      auto const keys = filled<float>(Input::normal, 2, n);
      auto const view = copied_to<Memory, Kokkos::LayoutRight>(keys, 2, n);
      Sorted2<float> const truth(keys, equal_rows(2, n), {.order = Order::smallest});
      auto const count = std::ssize(q);
      Kokkos::View<float**, Kokkos::LayoutRight, Memory> const values("values", 2, count);
      Kokkos::View<double**, Kokkos::LayoutRight, Memory> const numbers("numbers", 2, count);
      for (Interpolation const how :
           {Interpolation::lower, Interpolation::higher, Interpolation::nearest,
            Interpolation::linear, Interpolation::midpoint}) {
        CAPTURE(exec.name(), n, static_cast<int>(how));
        quantiles(exec, view, q, values, how);
        quantiles(exec, view, copied_to<Memory>(q), numbers, how, {.order = Order::largest});
        exec.fence();
        auto const got = on_host(values);
        auto const got_numbers = on_host(numbers);
        for (std::int64_t r = 0; r < 2; ++r)
          for (std::int64_t i = 0; i < count; ++i) {
            double const place = q[i] * static_cast<double>(n - 1);
            auto const key = [&](double at) {
              return static_cast<double>(truth.of_rank(r, static_cast<std::int64_t>(at)));
            };
            double const low = key(std::floor(place)), high = key(std::ceil(place));
            double const wanted = how == Interpolation::lower     ? low
                                  : how == Interpolation::higher  ? high
                                  : how == Interpolation::nearest ? key(std::nearbyint(place))
                                  : how == Interpolation::linear
                                      ? between(low, high, place - std::floor(place))
                                      : between(low, high, 0.5);
            CHECK(got(r, i) == static_cast<float>(wanted));
            CHECK(got_numbers(r, i) == wanted);
          }
      }
    }
  });
}

TEST_CASE("what only the device reads is no quantile outside 0 to 1", "[ranks]") {
  using Memory = Kokkos::DefaultExecutionSpace::memory_space;
  Kokkos::DefaultExecutionSpace const exec;
  std::vector<double> const q{std::nextafter(1.0, 2.0),
                              1 + 1e-12,
                              1.5,
                              1e300,
                              -0.0,
                              -1e-300,
                              -1,
                              std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN(),
                              1};
  bool const is_checked = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
  for (std::int64_t const n : {2, 1000, 60'001}) {
    auto const keys = filled<float>(Input::uniform, 1, n);
    auto const view = copied_to<Memory>(keys);
    auto const parts = copied_to<Memory>(q);
    Kokkos::View<double*, Memory> const numbers("numbers", q.size());
    Kokkos::View<float*, Memory> const values("values", q.size());
    for (Interpolation const how :
         {Interpolation::lower, Interpolation::higher, Interpolation::nearest,
          Interpolation::linear, Interpolation::midpoint}) {
      CAPTURE(n, static_cast<int>(how));
      if (is_checked) {
        CHECK_THROWS_AS(quantiles(exec, view, parts, numbers, how), std::invalid_argument);
        continue;
      }
      quantiles(exec, view, parts, numbers, how, {.order = Order::largest});
      quantiles(exec, view, parts, values, how);
      exec.fence();
      auto const got = on_host(numbers);
      auto const got_values = on_host(values);
      for (std::size_t i = 0; i < q.size(); ++i) {
        CAPTURE(q[i]);
        bool const is_one = q[i] >= 0 && q[i] <= 1;
        CHECK(std::isnan(got(i)) != is_one);
        bool const is_between = how == Interpolation::linear || how == Interpolation::midpoint;
        if (!is_one)
          CHECK((is_between
                     ? std::isnan(got_values(i))
                     : same_bits(got_values(i), worst_key<float>({.order = Order::smallest}))));
      }
    }
  }
}

TEST_CASE("quantiles of what is not NaN", "[ranks]") {
  for_each_exec([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    for (std::int64_t const n : {4, 1001, 60'001}) {
      auto keys = filled<double>(Input::normal, 1, n);
      std::vector<double> numbers;
      for (std::int64_t i = 0; i < n; ++i)
        if (i % 3 == 0)
          keys[i] = std::numeric_limits<double>::quiet_NaN();
        else
          numbers.push_back(keys[i]);
      std::sort(numbers.begin(), numbers.end());
      Kokkos::View<double*, Memory> const values("values", 2);
      quantiles(exec, copied_to<Memory>(keys), {0.5, 1}, values, Interpolation::linear,
                {.nan = NaN::skip});
      exec.fence();
      auto const got = on_host(values);
      double const place = 0.5 * static_cast<double>(numbers.size() - 1);
      auto const at = static_cast<std::size_t>(place);
      CHECK(got(0) == between(numbers[at], numbers[std::min(at + 1, numbers.size() - 1)],
                              place - static_cast<double>(at)));
      CHECK(got(1) == numbers.back());
    }
  });
}

TEST_CASE("quantiles of integers are numbers, and of empty rows none", "[ranks]") {
  for_each_exec([&](auto const& exec) {
    using Memory = MemoryOf<std::decay_t<decltype(exec)>>;
    auto const keys = copied_to<Memory>(std::vector<int>{5, -3, 8, 9});
    auto const offsets = copied_to<Memory>(std::vector<int>{0, 0, 4});
    Kokkos::View<double**, Kokkos::LayoutRight, Memory> const numbers("numbers", 2, 2);
    Kokkos::View<int**, Kokkos::LayoutRight, Memory> const integers("integers", 2, 2);
    quantiles(exec, ragged(keys, offsets), {0.5, 0.25}, numbers);
    quantiles(exec, ragged(keys, offsets), {0.5, 0.25}, integers, Interpolation::lower);
    exec.fence();
    auto const got = on_host(numbers);
    auto const got_integers = on_host(integers);
    CHECK(std::isnan(got(0, 0)));
    CHECK(got(1, 0) == 6.5);
    CHECK(got(1, 1) == 3);
    CHECK(got_integers(0, 1) == std::numeric_limits<int>::max());
    CHECK(got_integers(1, 0) == 5);
  });
}

TEST_CASE("a plan for ranks serves fewer rows and any ranks, and allocates nothing", "[ranks]") {
  for_each_exec([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    std::int64_t const rows = 700, n = 70'000;
    auto const keys = filled<float>(Input::uniform, 1, rows + n);
    auto const flat = copied_to<MemoryOf<Exec>>(keys);
    // Rows that overlap, so that there may be many long ones.
    Kokkos::View<float**, Kokkos::LayoutStride, MemoryOf<Exec>> const view(
        flat.data(), Kokkos::LayoutStride(rows, 1, n, 1));
    RanksPlan<Exec> plan(exec, make_shape<float>(rows, n, 1));
    for (std::int64_t const few : {700, 1, 3, 0}) {
      auto const part =
          Kokkos::subview(view, Kokkos::pair<std::int64_t, std::int64_t>(0, few), Kokkos::ALL);
      Kokkos::View<float*, MemoryOf<Exec>> const values("values", few);
      Recorder const record;
      plan.kth(part, n / 3, values);
      CHECK(record.all(Event::Kind::allocation).empty());
      CHECK(record.all(Event::Kind::fence).empty());
      exec.fence();
      auto const got = on_host(values);
      for (std::int64_t r : {std::int64_t{0}, few / 2, few - 1})
        if (r >= 0 && r < few)
          CHECK(got(r) == keys[r + best_positions(keys.data() + r, n, n / 3,
                                                  {})[static_cast<std::size_t>(n / 3 - 1)]]);
    }
  });
}

TEST_CASE("wrong ranks are rejected", "[ranks]") {
  using Exec = Kokkos::DefaultExecutionSpace;
  using Memory = Exec::memory_space;
  Exec const exec;
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const keys("keys", 3, 10),
      values("values", 3, 2);
  Kokkos::View<int**, Kokkos::LayoutRight, Memory> const integers("integers", 3, 10),
      integer_values("values", 3, 2);
  Kokkos::View<float*, Memory> const value("value", 3), two("two", 2), in_keys(keys.data(), 3);
  Kokkos::View<int*, Memory> const integer_value("value", 3);
  rejects([&] { kth(exec, keys, 0, value); }, {"ktopk::kth", "0", "10"});
  rejects([&] { kth(exec, keys, 11, value); }, {"ktopk::kth", "11", "10"});
  rejects([&] { kth(exec, keys, 1, two); }, {"ktopk::kth", "length of the values is 2", "3"});
  rejects([&] { kth(exec, keys, 1, in_keys); }, {"ktopk::kth", "overlap"});
  Kokkos::View<std::int64_t*, Memory> const wanted("wanted", 2);
  rejects([&] { kth(exec, keys, wanted, value); }, {"ktopk::kth", "length of k is 2", "3"});
  rejects([&] { ranks(exec, keys, {0, 10}, values); }, {"ktopk::ranks", "10", "9"});
  rejects([&] { ranks(exec, keys, {0, -1}, values); }, {"ktopk::ranks", "-1", "9"});
  rejects([&] { ranks(exec, keys, {0}, values); }, {"ktopk::ranks", "number of ranks is 1", "2"});
  rejects([&] { quantiles(exec, keys, {0.5, 1.5}, values); }, {"ktopk::quantiles", "1.5"});
  rejects([&] { quantiles(exec, keys, {0.5, std::nan("")}, values); }, {"ktopk::quantiles", "nan"});
  rejects([&] { quantiles(exec, keys, {0.5}, values); },
          {"ktopk::quantiles", "number of q is 1", "2"});
  rejects([&] { quantiles(exec, integers, {0.5, 0.5}, integer_values); },
          {"ktopk::quantiles", "interpolation = 3", "values are integers"});
  rejects([&] { kth(exec, integers, 1, integer_value, {.by = By::magnitude}); },
          {"ktopk::kth", "By::magnitude of signed integers"});
  RanksPlan<Exec> plan(exec, make_shape<float>(2, 10, 1));
  rejects([&] { plan.kth(keys, 1, value); },
          {"ktopk::RanksPlan", "number of rows is 3", "at most 2"});
  RanksPlan<Exec> from(exec, make_shape<float>(3, 10, 1));
  RanksPlan<Exec> to(std::move(from));
  CHECK_NOTHROW(to.kth(keys, 1, value));
  rejects([&] { from.kth(keys, 1, value); },
          {"ktopk::RanksPlan", "called after it was moved from"});
  exec.fence();
}

TEST_CASE("lanes hold short rows, whatever their number", "[ranks]") {
  ktopk::detail::ForcePortable const portable;
  for_each_exec([&](auto const& exec) {
    auto const is_held = [&](std::int64_t rows, std::int64_t n, Options const& options,
                             std::int64_t count = 1) {
      auto const keys = filled<float>(Input::nans, rows, n);
      auto const view =
          copied_to<MemoryOf<std::decay_t<decltype(exec)>>, Kokkos::LayoutRight>(keys, rows, n);
      Recorder const record;
      ask_ranks(exec, view, Sorted2<float>(keys, equal_rows(rows, n), options),
                some_ranks(n, count), options);
      return record.ran("ktopk::ranks::held");
    };
    CHECK(is_held(3, 8192, {}));
    CHECK_FALSE(is_held(3, 8193, {}));
    CHECK_FALSE(is_held(3, 8192, {.nan = NaN::skip}));
    CHECK(is_held(3, 3000, {}, 7));
    CHECK_FALSE(is_held(3, 8192, {}, 7));
    for (int const lanes : {1, 8, 64, 256}) {  // of a device; a host has one
      ktopk::detail::ForceLanes const force(lanes);
      for (Size const size : {Size{1, 1}, Size{7, 33}, Size{70, 300}, Size{1, 2000}})
        CHECK(is_held(size.rows, size.n, {}, 3));
    }
  });
}

#if KTOPK_ENABLE_HOST_TUNED && !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
TEMPLATE_TEST_CASE("hosts search long rows once for each four intervals", "[order_statistics]",
                   float, double, std::int32_t, std::uint64_t) {
  for_each_exec([&](auto const& exec) {
    if (!serves_tuned(exec)) return;
    for (std::int64_t const n : {40'000, 140'000, 1'100'000}) {
      auto const keys = copied_to<Kokkos::HostSpace>(filled<TestType>(Input::normal, 1, n));
      Kokkos::View<TestType*, Kokkos::HostSpace> const values("values", 9), wanted("wanted", 9);
      std::vector<std::int64_t> const ranks{0, n / 2, n / 2 + 1, 5, n - 1, n / 7, n / 3, 0, n / 9};
      Recorder const recorder;
      ktopk::ranks(exec, keys, ranks, values);
      exec.fence();
      CHECK(recorder.ran("ktopk::host::ranks::read"));
      CHECK_FALSE(recorder.ran("ktopk::ranks::"));
      ktopk::detail::ForcePortable const portable;
      ktopk::ranks(exec, keys, ranks, wanted);
      exec.fence();
      CHECK(recorder.ran("ktopk::ranks::"));
      for (int i = 0; i < 9; ++i) CHECK(same_bits(values(i), wanted(i)));
    }
  });
}

TEST_CASE("hosts search portably where a sample misleads", "[order_statistics]") {
  std::int64_t const n = 200'000;
  std::vector<float> row(n);
  for (std::int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(i);
  // What is sampled is nothing like the others.
  for (std::int64_t const samples : {1024, 2048, 8192}) {
    ktopk::detail::Strata const strata(n, samples);
    for (std::int64_t i = 0; i < samples; ++i) row[strata.place(i)] = 1e9F;
  }
  auto sorted = row;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  auto const keys = copied_to<Kokkos::HostSpace>(row);
  for_each_exec([&](auto const& exec) {
    Kokkos::View<float, Kokkos::HostSpace> const value("value");
    Recorder const recorder;
    ktopk::kth(exec, keys, n / 2, value);
    exec.fence();
    CHECK(value() == sorted[n / 2 - 1]);
    CHECK(recorder.ran("ktopk::host::ranks::read") == serves_tuned(exec));
    CHECK(recorder.ran("ktopk::ranks::"));
  });
}
#endif

}  // namespace ktopk::testing
