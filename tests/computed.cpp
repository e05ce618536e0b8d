// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/lexicographic.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <Kokkos_Bitset.hpp>
#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

// Keys that a functor makes or a mask leaves: the answer of the oracle for the keys that there are.

namespace ktopk::testing {
namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

template <class T>
Kokkos::View<T*, Memory> on_device(std::vector<T> const& from) {
  return copied_to<Memory>(from);
}
template <class T, class Layout = Kokkos::LayoutRight>
Kokkos::View<T**, Layout, Memory> on_device(std::vector<T> const& from, std::int64_t rows,
                                            std::int64_t n) {
  return copied_to<Memory, Layout>(from, rows, n);
}

/// What rows hold: keys, and which of their positions exist.
template <class T>
struct Truth {
  std::vector<std::int64_t> begins;
  std::vector<T> keys;
  std::vector<char> exists;
  std::int64_t rows() const { return std::ssize(begins) - 1; }
};

template <class T>
Truth<T> uniform_truth(std::vector<T> keys, std::int64_t rows, std::int64_t n) {
  Truth<T> truth{{}, std::move(keys), {}};
  for (std::int64_t r = 0; r <= rows; ++r) truth.begins.push_back(r * n);
  truth.exists.assign(truth.keys.size(), 1);
  return truth;
}

template <class T>
struct RowAnswer {
  std::vector<T> values;
  std::vector<std::int64_t> positions;
  std::int64_t count;
};

template <class T>
RowAnswer<T> expected(Truth<T> const& truth, std::int64_t row, std::int64_t k,
                      Options const& options) {
  std::vector<T> keys;
  std::vector<std::int64_t> positions;
  for (std::int64_t i = truth.begins[row]; i < truth.begins[row + 1]; ++i)
    if (truth.exists[i] != 0 && !(options.nan == NaN::skip && is_nan(number(truth.keys[i])))) {
      keys.push_back(truth.keys[i]);
      positions.push_back(i - truth.begins[row]);
    }
  std::int64_t const count = std::min<std::int64_t>(k, std::ssize(keys));
  RowAnswer<T> answer{{}, {}, count};
  for (std::int64_t const at : best_positions(keys.data(), std::ssize(keys), count, options)) {
    answer.values.push_back(keys[at]);
    answer.positions.push_back(positions[at]);
  }
  answer.values.resize(k, worst_key<T>(options));
  answer.positions.resize(k, -1);
  return answer;
}

template <class T>
struct Outputs {
  Outputs(std::int64_t rows, std::int64_t k)
      : values("ktopk::tests::values", rows, k),
        indices("ktopk::tests::indices", rows, k),
        counts("ktopk::tests::counts", rows) {
    Kokkos::deep_copy(indices, -7);
  }
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> values;
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> indices;
  Kokkos::View<std::int64_t*, Memory> counts;
};

template <class T>
void compare(Truth<T> const& truth, Outputs<T> const& outputs, Options const& options) {
  auto const values = on_host(outputs.values);
  auto const indices = on_host(outputs.indices);
  auto const counts = on_host(outputs.counts);
  std::int64_t const k = static_cast<std::int64_t>(values.extent(1));
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < truth.rows(); ++r) {
    RowAnswer<T> const answer = expected(truth, r, k, options);
    std::vector<std::int64_t> slots(static_cast<std::size_t>(k));
    std::iota(slots.begin(), slots.end(), 0);
    std::vector<std::int64_t> wanted = slots;
    if (options.sorted == Sorted::no) {
      std::sort(slots.begin(), slots.begin() + answer.count,
                [&](auto a, auto b) { return indices(r, a) < indices(r, b); });
      std::sort(wanted.begin(), wanted.begin() + answer.count,
                [&](auto a, auto b) { return answer.positions[a] < answer.positions[b]; });
    }
    bool right = counts(r) == answer.count;
    for (std::int64_t s = 0; s < k; ++s)
      right = right && same_bits(values(r, slots[s]), answer.values[wanted[s]]) &&
              indices(r, slots[s]) == answer.positions[wanted[s]];
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
}

/// Asks for k of each row, by every algorithm that serves computed keys and all rules; once by a Plan, too.
template <class T, class Source>
void ask(Source const& source, Truth<T> const& truth, std::int64_t k) {
  Exec const exec;
  Outputs<T> const outputs(truth.rows(), k);
  auto const counts = per_row(nothing, outputs.counts);
  auto all = orders();
  if (is_float_key<T>) all.push_back({.nan = NaN::skip, .by = By::magnitude});
  for (Options options : all)
    for (Algorithm algorithm : {Algorithm::automatic, Algorithm::one_pass, Algorithm::radix})
      for (Ties ties : {Ties::lowest_index, Ties::highest_index})
        for (Sorted sorted : {Sorted::yes, Sorted::no}) {
          options.algorithm = algorithm;
          options.ties = ties;
          options.sorted = sorted;
          CAPTURE(name(algorithm), k, static_cast<int>(ties), static_cast<int>(sorted));
          Kokkos::deep_copy(outputs.indices, -7);
          top_k(exec, source, outputs.values, outputs.indices, counts, options);
          exec.fence();
          compare(truth, outputs, options);
        }
  Plan<Exec> plan(exec, shape_of(source, k));
  Kokkos::deep_copy(outputs.indices, -7);
  plan(source, outputs.values, outputs.indices, counts);
  exec.fence();
  compare(truth, outputs, {});
}

/// Not fabs, which on some devices changes the bits of a NaN.
struct Magnitude {
  KOKKOS_FUNCTION float operator()(float key) const {
    return Kokkos::bit_cast<float>(Kokkos::bit_cast<std::uint32_t>(key) & 0x7fffffffu);
  }
};
struct ToDouble {
  KOKKOS_FUNCTION double operator()(std::uint8_t key) const { return key * 0.5 - 30; }
};
struct Scrambled {
  KOKKOS_FUNCTION std::int16_t operator()(std::int64_t row, std::int64_t i) const {
    return static_cast<std::int16_t>((row * 1'000'003 + i) * 40'503 >> 3);
  }
};
struct Staircase {
  KOKKOS_FUNCTION std::uint64_t operator()(std::int64_t i) const {
    return static_cast<std::uint64_t>(i / 100 % 300);
  }
};
/// Of every `of` positions one.
struct Some {
  std::int64_t of;
  KOKKOS_FUNCTION bool operator()(std::int64_t row, std::int64_t i) const {
    return (i * 7919 + row) % of == 0;
  }
};

struct SetSome {
  Kokkos::Bitset<Exec> bits;
  Some some;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (some(0, i)) bits.set(static_cast<unsigned>(i));
  }
};

template <class T, class F>
std::vector<T> mapped(auto const& keys, F const& f) {
  std::vector<T> made;
  for (auto const key : keys) made.push_back(f(key));
  return made;
}

template <class T>
void leave_some(Truth<T>& truth, Some const& some) {
  for (std::int64_t r = 0; r < truth.rows(); ++r)
    for (std::int64_t i = truth.begins[r]; i < truth.begins[r + 1]; ++i)
      truth.exists[i] = some(r, i - truth.begins[r]) ? 1 : 0;
}

struct Size {
  std::int64_t rows, n, k;
};

}  // namespace

TEST_CASE("keys that a functor makes of others are selected as if they lay in memory") {
  for (Input input : {Input::normal, Input::nans, Input::zeros, Input::all_equal, Input::outliers,
                      Input::random_bits})
    for (Size const size : {Size{1, 300'000, 40}, Size{3, 20'000, 1500}, Size{70, 90, 90}}) {
      CAPTURE(name(input), size.rows, size.n);
      auto const keys = filled<float>(input, size.rows, size.n);
      auto const truth = uniform_truth(mapped<float>(keys, Magnitude{}), size.rows, size.n);
      ask(transform(on_device(keys, size.rows, size.n), Magnitude{}), truth, size.k);
      ask(transform(on_device<float, Kokkos::LayoutLeft>(keys, size.rows, size.n), Magnitude{}),
          truth, size.k);
    }
}

TEST_CASE("keys may lie nowhere") {
  std::vector<std::int16_t> keys;
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t i = 0; i < 50'000; ++i) keys.push_back(Scrambled{}(r, i));
  ask(generate<std::int16_t>(3, 50'000, Scrambled{}), uniform_truth(keys, 3, 50'000), 100);
}

TEST_CASE("what is masked does not exist, whatever makes the keys") {
  for (Input input : {Input::uniform, Input::all_equal, Input::few_values})
    for (std::int64_t const of : {1, 2, 17, 1000, 1'000'000'000})
      for (Size const size : {Size{1, 200'000, 40}, Size{3, 20'000, 1500}, Size{70, 90, 30}}) {
        CAPTURE(name(input), of, size.rows, size.n);
        Some const some{of};
        auto const keys = filled<std::uint8_t>(input, size.rows, size.n);
        auto truth = uniform_truth(mapped<double>(keys, ToDouble{}), size.rows, size.n);
        leave_some(truth, some);
        ask(where(transform(on_device(keys, size.rows, size.n), ToDouble{}), some), truth, size.k);
      }
}

TEST_CASE("ragged rows of computed and masked keys") {
  std::vector<std::int64_t> const begins{0, 0, 5, 9000, 9001, 140'000, 150'000};
  auto const offsets = on_device(begins);
  auto const floats = filled<float>(Input::normal, 1, 150'000);
  auto const bytes = filled<std::uint8_t>(Input::uniform, 1, 150'000);
  Truth<float> const computed{begins, mapped<float>(floats, Magnitude{}),
                              std::vector<char>(floats.size(), 1)};
  Truth<double> masked{begins, mapped<double>(bytes, ToDouble{}),
                       std::vector<char>(bytes.size(), 1)};
  Some const some{5};
  leave_some(masked, some);
  for (std::int64_t const k : {1, 20, 700}) {
    ask(transform(ragged(on_device(floats), offsets), Magnitude{}), computed, k);
    ask(where(transform(ragged(on_device(bytes), offsets), ToDouble{}), some), masked, k);
  }
}

TEST_CASE("a Plan for computed keys takes fewer rows") {
  std::int64_t const rows = 9, n = 30'000, k = 25;
  auto const keys = filled<std::uint8_t>(Input::uniform, rows, n);
  auto const view = on_device(keys, rows, n);
  Exec const exec;
  Some const some{4};
  auto const source = [&](auto const& part) { return where(transform(part, ToDouble{}), some); };
  Plan<Exec> plan(exec, shape_of(source(view), k));
  for (std::int64_t const first : {0, 4, 8, 9}) {
    auto const part =
        Kokkos::subview(view, Kokkos::pair<std::int64_t, std::int64_t>(first, rows), Kokkos::ALL);
    auto truth =
        uniform_truth(mapped<double>(std::vector(keys.begin() + first * n, keys.end()), ToDouble{}),
                      rows - first, n);
    leave_some(truth, some);
    Outputs<double> const outputs(rows - first, k);
    plan(source(part), outputs.values, outputs.indices, per_row(nothing, outputs.counts));
    exec.fence();
    compare(truth, outputs, {});
  }
}

TEST_CASE("columns decide one after the other, each in its own order") {
  std::int64_t const rows = 3, n = 20'000, k = 300;
  auto const first = filled<bfloat16>(Input::few_values, rows, n);
  auto const second = filled<std::int32_t>(Input::uniform, rows, n);
  auto const third = filled<std::uint8_t>(Input::uniform, rows, n);
  auto const a = on_device(first, rows, n);
  auto const b = on_device<std::int32_t, Kokkos::LayoutLeft>(second, rows, n);
  auto const c = on_device(third, rows, n);
  Exec const exec;
  for (Options options : orders())
    for (Algorithm algorithm : {Algorithm::one_pass, Algorithm::radix}) {
      options.algorithm = algorithm;
      Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Memory> const indices("indices", rows, k);
      top_k(exec, lexicographic(a, ascending(b), c), nothing, indices, options);
      exec.fence();
      auto const got = on_host(indices);
      for (std::int64_t r = 0; r < rows; ++r) {
        auto const before = [&](std::int64_t i, std::int64_t j) {
          auto const better = [&](auto const& keys, Options const& how) {
            auto const x = number(keys[r * n + i]), y = number(keys[r * n + j]);
            return is_better(x, y, how) ? 1 : is_better(y, x, how) ? -1 : 0;
          };
          int const by_first = better(first, options);
          int const by_second =
              by_first != 0 ? by_first : better(second, {.order = Order::smallest});
          int const by_third = by_second != 0 ? by_second : better(third, options);
          return by_third != 0 ? by_third > 0 : i < j;
        };
        std::vector<std::int64_t> all(n);
        std::iota(all.begin(), all.end(), 0);
        std::partial_sort(all.begin(), all.begin() + k, all.end(), before);
        CHECK(std::equal(all.begin(), all.begin() + k, &got(r, 0)));
      }
    }
  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Memory> const indices("indices", rows, k);
  CHECK_THROWS_AS(top_k(exec, lexicographic(a, on_device(third, n, rows)), nothing, indices),
                  std::invalid_argument);
  CHECK_THROWS_AS(top_k(exec, lexicographic(a, b), nothing, indices, {.nan = NaN::skip}),
                  std::invalid_argument);
  CHECK_THROWS_AS(top_k(exec, lexicographic(a, b), nothing, indices, {.by = By::magnitude}),
                  std::invalid_argument);
}

// Each source compiles kernels of its own, of which nvcc takes minutes: those above have every part once.
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)

TEST_CASE("keys in memory may be masked") {
  for (Input input : {Input::normal, Input::mostly_nans, Input::all_equal, Input::infinities})
    for (std::int64_t const of : {1, 2, 1000, 1'000'000'000}) {
      CAPTURE(name(input), of);
      Some const some{of};
      auto truth = uniform_truth(filled<float>(input, 3, 20'000), 3, 20'000);
      leave_some(truth, some);
      ask(where(on_device(truth.keys, 3, 20'000), some), truth, 150);
    }
}

TEST_CASE("a mask may be a View or a Bitset, and sources nest") {
  std::int64_t const rows = 4, n = 5000, k = 70;
  auto const keys = filled<float>(Input::nans, rows, n);
  Some const some{3};
  auto truth = uniform_truth(mapped<float>(keys, Magnitude{}), rows, n);
  leave_some(truth, some);
  auto const view = on_device(keys, rows, n);
  ask(transform(where(view, some), Magnitude{}), truth, k);
  ask(where(transform(view, Magnitude{}), on_device(truth.exists, rows, n)), truth, k);

  auto row_truth = uniform_truth(filled<float>(Input::uniform, 1, n), 1, n);
  leave_some(row_truth, some);
  Kokkos::Bitset<Exec> bits(static_cast<unsigned>(n));
  Kokkos::parallel_for("set", Kokkos::RangePolicy<Exec>(0, n), SetSome{bits, some});
  Kokkos::View<float*, Memory> values("values", k);
  Kokkos::View<std::int64_t*, Memory> indices("indices", k);
  Exec const exec;
  top_k(exec, where(on_device(row_truth.keys), bits), values, indices);
  exec.fence();
  auto const answer = expected(row_truth, 0, k, {});
  auto const got = on_host(indices);
  for (std::int64_t s = 0; s < k; ++s) CHECK(got(s) == answer.positions[s]);
}

TEST_CASE("one row may be generated by position") {
  Exec const exec;
  Kokkos::View<std::uint64_t*, Memory> values("values", 5);
  Kokkos::View<int*, Memory> indices("indices", 5);
  top_k(exec, generate<std::uint64_t>(100'000, Staircase{}), values, indices);
  exec.fence();
  CHECK(on_host(values)(4) == 299);
  CHECK(on_host(indices)(4) == 29'904);
}

#endif

TEST_CASE("computed calls are checked as others are") {
  Exec const exec;
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const keys("keys", 3, 100);
  Kokkos::View<bool**, Kokkos::LayoutRight, Memory> const mask("mask", 3, 99);
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const values("values", 3, 10);
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const more("more", 3, 101);
  CHECK_THROWS_AS(top_k(exec, transform(keys, Magnitude{}), more, nothing), std::invalid_argument);
  CHECK_THROWS_AS(top_k(exec, transform(keys, Magnitude{}), keys, nothing), std::invalid_argument);
  Plan<Exec> plan(exec, make_shape<float>(3, 100, 10));
  CHECK_THROWS_AS(plan(transform(keys, Magnitude{}), values, nothing), std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(shape_of(where(keys, mask), 10)), std::invalid_argument);
}

}  // namespace ktopk::testing
