// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed_bitonic.hpp>
#include <ktopk/explain.hpp>

#include "support/computed.hpp"
#include "support/recorder.hpp"

// Bitonic with a filter and a ranking function: the answer of the oracle, by bitonic's own kernels.

namespace ktopk::testing {
namespace {

struct Half {
  KOKKOS_FUNCTION float operator()(std::uint8_t key) const { return key * 0.5f - 30; }
};

struct Scrambled {
  KOKKOS_FUNCTION std::int32_t operator()(std::int64_t row, std::int64_t i) const {
    return static_cast<std::int32_t>((row * 1'000'003 + i) * 40'503 % 100'003);
  }
};

/// Counts calls for each position.
struct Counted {
  Kokkos::View<int*, Memory> calls;
  KOKKOS_FUNCTION float operator()(std::int64_t i) const {
    Kokkos::atomic_inc(&calls(i));
    return static_cast<float>(i * 7919 % 10'007);
  }
};
struct EveryThird {
  KOKKOS_FUNCTION bool operator()(std::int64_t i) const { return i % 3 == 0; }
};

std::vector<Algorithm> const by_bitonic{Algorithm::bitonic};

bool runs_bitonic(auto const& call) {
  Recorder const record;
  call();
  Exec().fence();
  return record.ran("ktopk::bitonic::parts");
}

}  // namespace

TEST_CASE("bitonic selects from keys that a functor makes and a mask leaves") {
  for (Input input : {Input::uniform, Input::all_equal, Input::few_values})
    for (std::int64_t const of : {1, 2, 17, 1000, 1'000'000'000})
      for (Size const size : {Size{1, 200'000, 40}, Size{3, 20'000, 256}, Size{70, 90, 30},
                              Size{70, 90, 90}, Size{5, 1, 1}}) {
        CAPTURE(name(input), of, size.rows, size.n);
        Some const some{of};
        auto const keys = filled<std::uint8_t>(input, size.rows, size.n);
        auto truth = uniform_truth(mapped<float>(keys, Half{}), size.rows, size.n);
        leave_some(truth, some);
        auto const source = where(transform(on_device(keys, size.rows, size.n), Half{}), some);
        ask(for_bitonic(source), truth, size.k, by_bitonic);
      }
}

TEST_CASE("bitonic selects from keys that lie nowhere, and from ragged rows") {
  std::vector<std::int32_t> keys;
  for (std::int64_t r = 0; r < 3; ++r)
    for (std::int64_t i = 0; i < 50'000; ++i) keys.push_back(Scrambled{}(r, i));
  ask(for_bitonic(generate<std::int32_t>(3, 50'000, Scrambled{})), uniform_truth(keys, 3, 50'000),
      100, by_bitonic);

  std::vector<std::int64_t> const begins{0, 0, 5, 9000, 9001, 140'000, 150'000};
  auto const bytes = filled<std::uint8_t>(Input::uniform, 1, 150'000);
  Truth<float> masked{begins, mapped<float>(bytes, Half{}), std::vector<char>(bytes.size(), 1)};
  Some const some{5};
  leave_some(masked, some);
  for (std::int64_t const k : {1, 200}) {
    auto const rows = ragged(on_device(bytes), on_device(begins));
    ask(for_bitonic(where(transform(rows, Half{}), some)), masked, k, by_bitonic);
  }
}

TEST_CASE("a Plan with bitonic for computed keys takes fewer rows") {
  std::int64_t const rows = 9, n = 30'000, k = 25;
  auto const keys = filled<std::uint8_t>(Input::uniform, rows, n);
  auto const view = on_device(keys, rows, n);
  Exec const exec;
  Some const some{4};
  auto const source = [&](auto const& part) {
    return for_bitonic(where(transform(part, Half{}), some));
  };
  Plan<Exec> plan(exec, shape_of(source(view), k), {.algorithm = Algorithm::bitonic});
  for (std::int64_t const first : {0, 4, 8, 9}) {
    auto const part =
        Kokkos::subview(view, Kokkos::pair<std::int64_t, std::int64_t>(first, rows), Kokkos::ALL);
    auto truth = uniform_truth(
        mapped<float>(std::vector(keys.begin() + first * n, keys.end()), Half{}), rows - first, n);
    for (std::int64_t r = 0; r < rows - first; ++r)
      for (std::int64_t i = 0; i < n; ++i) truth.exists[r * n + i] = some(r, i);
    Outputs<float> const outputs(rows - first, k);
    plan(source(part), outputs.values, outputs.indices, per_row(nothing, outputs.counts));
    exec.fence();
    compare(truth, outputs, {.algorithm = Algorithm::bitonic});
  }
}

TEST_CASE("bitonic runs where it is compiled for computed keys, else radix does") {
  Exec const exec;
  Outputs<std::int32_t> const outputs(2, 300);
  auto const source = generate<std::int32_t>(2, 5000, Scrambled{});
  auto const some = [&](std::int64_t k) {
    return Kokkos::subview(outputs.values, Kokkos::ALL,
                           Kokkos::pair<std::int64_t, std::int64_t>(0, k));
  };
  Options const options{.algorithm = Algorithm::bitonic};
  auto const by = [&](auto const& keys, std::int64_t k) {
    bool const runs = runs_bitonic([&] { top_k(exec, keys, some(k), nothing, options); });
    CHECK((explain(exec, shape_of(keys, k), options).kernel == "ktopk::bitonic") == runs);
    return runs;
  };
  CHECK(by(for_bitonic(source), 256));
  CHECK_FALSE(by(for_bitonic(source), 257));
  CHECK_FALSE(by(source, 10));
  CHECK_FALSE(runs_bitonic([&] { top_k(exec, for_bitonic(source), some(10), nothing); }));
}

TEST_CASE("a Plan for bitonic refuses keys for which it is not compiled") {
  Exec const exec;
  Outputs<std::int32_t> const outputs(2, 20);
  auto const source = generate<std::int32_t>(2, 5000, Scrambled{});
  Plan<Exec> plan(exec, shape_of(for_bitonic(source), 20), {.algorithm = Algorithm::bitonic});
  CHECK_THROWS_AS(plan(source, outputs.values, outputs.indices), std::invalid_argument);
}

TEST_CASE(
    "bitonic calls a functor for the keys that there are, and again for selected ones at most") {
  std::int64_t const n = 40'000, k = 20;
  Kokkos::View<int*, Memory> const calls("test::calls", n);
  Kokkos::View<float*, Memory> const values("test::values", k);
  top_k(Exec(), for_bitonic(where(generate<float>(n, Counted{calls}), EveryThird{})), values,
        nothing, {.algorithm = Algorithm::bitonic});
  Exec().fence();
  auto const counts = on_host(calls);
  int wrong = 0, more = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    more += counts(i) > 1;
    wrong += EveryThird{}(i) ? counts(i) < 1 || counts(i) > 2 : counts(i) != 0;
  }
  CHECK(wrong == 0);
  CHECK(more <= k);
}

}  // namespace ktopk::testing
