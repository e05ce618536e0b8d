// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/explain.hpp>
#include <ktopk/recall.hpp>
#include <ktopk/top_k.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/recorder.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// Selection with a recall below 1: what the formula promises is measured, and what holds of keys in no random order.

namespace ktopk::testing {
namespace {

struct Sizes {
  std::int64_t n, k;
  double recall;
};

Options with_recall(double recall) {
  Options options;
  options.algorithm = Algorithm::delegate;
  options.recall = recall;
  return options;
}

template <class T>
struct Answered {
  std::vector<T> values;
  std::vector<std::int64_t> positions;
};

template <class T, class Exec>
Answered<T> ask(Exec const& exec, std::vector<T> const& keys, std::int64_t rows, Sizes const& sizes,
                Options const& options) {
  using Memory = MemoryOf<Exec>;
  auto const view = copied_to<Memory, Kokkos::LayoutRight>(keys, rows, sizes.n);
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> const values("test::values", rows, sizes.k);
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const positions("test::positions", rows,
                                                                            sizes.k);
  top_k(exec, view, values, positions, options);
  exec.fence();
  auto const v = on_host(values);
  auto const p = on_host(positions);
  return {{v.data(), v.data() + v.size()}, {p.data(), p.data() + p.size()}};
}

/// How many of the true k best of a row are among its positions.
template <class T>
std::int64_t found(T const* keys, Sizes const& sizes, std::int64_t const* positions,
                   Options const& options) {
  auto truth = best_positions(keys, sizes.n, sizes.k, options);
  std::sort(truth.begin(), truth.end());
  return std::count_if(positions, positions + sizes.k, [&](std::int64_t i) {
    return std::binary_search(truth.begin(), truth.end(), i);
  });
}

template <class T>
void check_is_best_of_candidates(std::vector<T> const& keys, std::int64_t rows, Sizes const& sizes,
                                 Answered<T> const& answer) {
  bool ordered = true, own = true;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t s = 0; s < sizes.k; ++s) {
      auto const at = static_cast<std::size_t>(r * sizes.k + s);
      auto const key = keys[static_cast<std::size_t>(r * sizes.n + answer.positions[at])];
      own = own && same_bits(answer.values[at], key);
      ordered = ordered && (s == 0 || answer.values[at - 1] >= answer.values[at]);
    }
  CHECK(own);
  CHECK(ordered);
}

}  // namespace

TEST_CASE("what is found of keys in random order is what the formula promises") {
  std::int64_t const rows = 10'000;
  for (Sizes const sizes : {Sizes{2048, 32, 0.8}, Sizes{2048, 32, 0.95}, Sizes{2048, 8, 0.9},
                            Sizes{3001, 64, 0.9}, Sizes{8192, 200, 0.99}}) {
    CAPTURE(sizes.n, sizes.k, sizes.recall);
    Options const options = with_recall(sizes.recall);
    double const promised = recall_of(make_shape<float>(rows, sizes.n, sizes.k), options);
    REQUIRE(promised >= sizes.recall);
    REQUIRE(promised < 1);
    auto const keys = make_keys<float>(Input::uniform, rows * sizes.n, 11);
    Kokkos::DefaultExecutionSpace const exec;
    auto const answer = ask(exec, keys, rows, sizes, options);
    check_is_best_of_candidates(keys, rows, sizes, answer);
    double sum = 0, squares = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      auto const part = static_cast<double>(found(keys.data() + r * sizes.n, sizes,
                                                  answer.positions.data() + r * sizes.k, options)) /
                        static_cast<double>(sizes.k);
      sum += part;
      squares += part * part;
    }
    auto const count = static_cast<double>(rows);
    double const mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
    double const bound = 3.29 * deviation / std::sqrt(count);  // 99.9 %
    CAPTURE(mean, promised, bound);
    CHECK(std::abs(mean - promised) <= bound);
  }
}

TEST_CASE("of sorted rows and of equal keys all are found") {
  Sizes const sizes{20'000, 100, 0.9};
  Options options = with_recall(sizes.recall);
  std::vector<float> rising(static_cast<std::size_t>(sizes.n)), equal(rising.size(), 3.5f);
  std::iota(rising.begin(), rising.end(), -5.f);
  auto falling = rising;
  std::reverse(falling.begin(), falling.end());
  for_each_space([&](auto const& exec) {
    for (auto const& keys : {rising, falling, equal})
      for (Ties ties : {Ties::lowest_index, Ties::highest_index}) {
        options.ties = ties;
        auto const answer = ask(exec, keys, 1, sizes, options);
        CHECK(answer.positions == best_positions(keys.data(), sizes.n, sizes.k, options));
      }
  });
}

TEST_CASE("an approximate answer is the same on every space and in every run") {
  Sizes const sizes{70'001, 500, 0.85};
  std::int64_t const rows = 7;
  for (Options options : {Options{}, Options{.order = Order::smallest, .by = By::magnitude}}) {
    options.algorithm = Algorithm::delegate;
    options.recall = sizes.recall;
    auto const keys = make_keys<double>(Input::normal, rows * sizes.n, 3);
    std::vector<std::int64_t> first;
    for (Algorithm inner : {Algorithm::automatic, Algorithm::radix, Algorithm::bucket})
      for_each_space([&](auto const& exec) {
        options.inner = inner;
        auto const answer = ask(exec, keys, rows, sizes, options);
        if (first.empty()) first = answer.positions;
        CHECK(answer.positions == first);
      });
    CHECK(recall_of(make_shape<double>(rows, sizes.n, sizes.k), options) >= sizes.recall);
  }
}

TEST_CASE("only delegate answers approximately, where it can") {
  Kokkos::DefaultExecutionSpace const exec;
  auto const kernel = [&](Shape const& shape, Options const& options) {
    return explain(exec, shape, options).kernel;
  };
  char const* const two_stage = "ktopk::delegate::two_stage";
  Shape const shape = make_shape<float>(4, 100'000, 50);
  Options options = with_recall(0.9);
  CHECK(kernel(shape, options) == two_stage);
  options.recall = 1;
  CHECK(kernel(shape, options) != two_stage);
  CHECK(recall_of(shape, options) == 1);
  options = {};
  options.recall = 0.9;
  CHECK(kernel(shape, options) != two_stage);
  CHECK(recall_of(shape, options) == 1);
  options = with_recall(0.9);
  Shape too_many = shape;
  too_many.k = shape.n / 16 + 1;
  CHECK(kernel(too_many, options) != two_stage);
  CHECK(recall_of(too_many, options) == 1);
  Shape ragged = shape;
  ragged.ragged = true;
  CHECK(kernel(ragged, options) != two_stage);

  Recorder const record;
  ask(exec, make_keys<float>(Input::uniform, 4 * 100'000, 1), 4, {100'000, 50, 0.9}, options);
  CHECK(record.ran("ktopk::delegate::keep"));
}

}  // namespace ktopk::testing
