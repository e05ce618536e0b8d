// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/core/testing.hpp>
#include <ktopk/explain.hpp>
#include <ktopk/lexicographic.hpp>

#include <Kokkos_Bitset.hpp>

#include "support/computed.hpp"
#include "support/recorder.hpp"
#include "support/rejects.hpp"

// Keys that a functor makes or a mask leaves: the answer of the oracle for the keys that there are. computed_sources.cpp
// has further sources.

namespace ktopk::testing {
namespace {

struct ToDouble {
  KOKKOS_FUNCTION double operator()(std::uint8_t key) const { return key * 0.5 - 30; }
};
struct Scrambled {
  KOKKOS_FUNCTION std::int16_t operator()(std::int64_t row, std::int64_t i) const {
    return static_cast<std::int16_t>((row * 1'000'003 + i) * 40'503 >> 3);
  }
};

/// Counts how often it is asked.
struct CountedMask {
  Kokkos::View<std::int64_t, Memory> asked;
  KOKKOS_FUNCTION bool operator()(std::int64_t, std::int64_t i) const {
    Kokkos::atomic_inc(&asked());
    return i % 2 == 0;
  }
};

}  // namespace

TEST_CASE("keys that a functor makes of others are selected as if they lay in memory") {
  for (Input input : {Input::normal, Input::nans, Input::zeros, Input::all_equal, Input::outliers,
                      Input::random_bits})
    for (Size const size : {Size{1, 300'000, 40}, Size{3, 20'000, 1500}, Size{70, 90, 90},
                            Size{70, 90, 1}, Size{5, 8192, 700}, Size{5, 8193, 20}}) {
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
      for (Size const size :
           {Size{1, 200'000, 40}, Size{3, 20'000, 1500}, Size{70, 90, 30}, Size{5, 8192, 700}}) {
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

TEST_CASE("computed rows are made in the caches of a host's threads") {
  Exec const exec;
  std::int64_t const rows = 30, k = 12;
  Outputs<std::int16_t> const outputs(rows, k);
  auto const source = [&](std::int64_t n) { return generate<std::int16_t>(rows, n, Scrambled{}); };
  auto const runs_in_cache = [&](auto const& call) {
    Recorder const record;
    call();
    exec.fence();
    for (Event const& event : record.all(Event::Kind::allocation))
      CHECK(event.label == "ktopk::workspace");
    bool const is_portable =
        record.ran("ktopk::one_pass::keep") || record.ran("ktopk::one_pass::ragged::keep");
    return !is_portable && (record.ran("ktopk::host::one_pass::computed_rows") ||
                            record.ran("ktopk::host::one_pass::computed_keep"));
  };
  auto const serves = [&](std::int64_t n, Algorithm algorithm) {
    Options const options{.algorithm = algorithm};
    bool const serves =
        runs_in_cache([&] { top_k(exec, source(n), outputs.values, outputs.indices, options); });
    bool const is_explained =
        explain(exec, shape_of(source(n), k), options).kernel == "ktopk::host::one_pass";
    CHECK(is_explained == serves);
    return serves;
  };
  bool const tuned = ktopk::detail::is_host_space<Exec> && KTOPK_ENABLE_HOST_TUNED;
  CHECK(serves(8192, Algorithm::automatic) == tuned);
  CHECK(serves(20, Algorithm::one_pass) == tuned);
  CHECK(serves(8193, Algorithm::automatic) == tuned);
  CHECK(serves(300'000, Algorithm::one_pass) == tuned);
  CHECK_FALSE(serves(8192, Algorithm::radix));
  CHECK_FALSE(serves(300'000, Algorithm::radix));

  // Where a mask leaves enough keys, and where it leaves fewer than k.
  for (std::int64_t const of : {3, 4000})
    CHECK(runs_in_cache([&] {
            top_k(exec, where(source(20'000), Some{of}), outputs.values, outputs.indices);
          }) == tuned);
  {
    ktopk::detail::ForceThreshold const force(ktopk::detail::Threshold::too_high);
    CHECK_FALSE(
        runs_in_cache([&] { top_k(exec, source(20'000), outputs.values, outputs.indices); }));
  }

  Plan<Exec> plan(exec, shape_of(source(300), k));
  CHECK(runs_in_cache([&] { plan(source(300), outputs.values, outputs.indices); }) == tuned);
  ktopk::detail::ForcePortable const portable;
  CHECK_FALSE(serves(8192, Algorithm::automatic));
  CHECK_FALSE(serves(300'000, Algorithm::automatic));
}

TEST_CASE("long computed rows whose threshold proves nothing are selected all the same") {
  using ktopk::detail::ForceThreshold;
  using ktopk::detail::Threshold;
  std::int64_t const rows = 2, n = 70'001, k = 40;
  auto const keys = filled<float>(Input::normal, rows, n);
  auto const view = on_device(keys, rows, n);
  auto computed = uniform_truth(mapped<float>(keys, Magnitude{}), rows, n);
  auto masked = computed;
  Some const some{3};
  leave_some(masked, some);
  for (Threshold const threshold : {Threshold::too_low, Threshold::too_high}) {
    ForceThreshold const force(threshold);
    ask(transform(view, Magnitude{}), computed, k);
    ask(where(transform(view, Magnitude{}), some), masked, k);
  }
}

TEST_CASE("a mask may leave few keys of a long row, or the worst ones alone") {
  std::int64_t const rows = 3, n = 40'000;
  for (Input input : {Input::normal, Input::nans, Input::few_values, Input::all_equal})
    for (std::int64_t const of : {40, 400, 4000, 39'999}) {
      CAPTURE(name(input), of);
      Some const some{of};
      auto const keys = filled<float>(input, rows, n);
      auto truth = uniform_truth(keys, rows, n);
      leave_some(truth, some);
      ask(where(on_device(keys, rows, n), some), truth, 30);
    }
  std::vector<std::uint8_t> const worst(rows * n, 0);
  auto truth = uniform_truth(worst, rows, n);
  Some const some{1000};
  leave_some(truth, some);
  ask(where(on_device(worst, rows, n), some), truth, 50);
}

TEST_CASE("portable one_pass asks a mask about the keys that reach the threshold") {
  std::int64_t const n = 300'000;
  ktopk::detail::ForcePortable const portable;
  Kokkos::View<std::int64_t, Memory> const asked("asked");
  auto const keys = on_device(filled<float>(Input::uniform, 1, n), 1, n);
  Outputs<float> const outputs(1, 40);
  Exec const exec;
  top_k(exec, where(keys, CountedMask{asked}), outputs.values, outputs.indices,
        {.algorithm = Algorithm::one_pass});
  exec.fence();
  CHECK(on_host(asked)() < n / 4);
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
  auto const turned = on_device(third, n, rows);
  rejects([&] { top_k(exec, lexicographic(a, turned), nothing, indices); },
          {"ktopk::top_k", "a column", std::to_string(n), std::to_string(rows)});
  rejects([&] { top_k(exec, lexicographic(a, b), nothing, indices, {.nan = NaN::skip}); },
          {"ktopk::lexicographic", "NaN::skip"});
  rejects([&] { top_k(exec, lexicographic(a, b), nothing, indices, {.by = By::magnitude}); },
          {"ktopk::lexicographic", "By::magnitude of signed integers"});
}

namespace {
struct Negated {
  KOKKOS_FUNCTION int operator()(int key) const { return -key; }
};
}  // namespace

TEST_CASE("computed calls are checked as others are") {
  Exec const exec;
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const keys("keys", 3, 100);
  Kokkos::View<bool**, Kokkos::LayoutRight, Memory> const mask("mask", 3, 99);
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const values("values", 3, 10);
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> const more("more", 3, 101);
  rejects([&] { top_k(exec, transform(keys, Magnitude{}), more, nothing); },
          {"ktopk::top_k", "k = 101", "n = 100"});
  rejects([&] { top_k(exec, transform(keys, Magnitude{}), keys, nothing); },
          {"ktopk::top_k", "keys and values overlap by 1200 bytes"});
  Plan<Exec> plan(exec, make_shape<float>(3, 100, 10));
  rejects([&] { plan(transform(keys, Magnitude{}), values, nothing); },
          {"ktopk::Plan", "computed and masked of the keys' shape are 1 and 0, but 0 and 0"});
  rejects([&] { static_cast<void>(shape_of(where(keys, mask), 10)); },
          {"length of the mask's rows is 99", "100"});
  Kokkos::Bitset<Exec> const bits(99);
  auto const row = Kokkos::subview(keys, 0, Kokkos::ALL);
  rejects([&] { static_cast<void>(shape_of(where(row, bits), 10)); },
          {"number of the mask's bits is 99", "100"});
  Kokkos::View<int**, Memory> const integers("integers", 3, 100), smallest("values", 3, 10);
  rejects(
      [&] {
        top_k(exec, transform(integers, Negated{}), smallest, nothing, {.by = By::magnitude});
      },
      {"By::magnitude of signed integers"});
}

}  // namespace ktopk::testing
