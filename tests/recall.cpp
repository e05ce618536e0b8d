// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/explain.hpp>
#include <ktopk/plan.hpp>
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

/// The k best of what the buckets keep.
template <class T>
std::vector<std::int64_t> of_candidates(T const* keys, Sizes const& sizes, Options const& options) {
  auto const plan = ktopk::detail::two_stage_plan(sizes.n, sizes.k, options.recall);
  std::vector<std::int64_t> positions;
  for (std::int64_t b = 0; b < plan.buckets; ++b) {
    std::vector<T> bucket;
    for (std::int64_t i = b; i < sizes.n; i += plan.buckets) bucket.push_back(keys[i]);
    for (std::int64_t const at :
         best_positions(bucket.data(), std::ssize(bucket), plan.kept, options))
      positions.push_back(b + at * plan.buckets);
  }
  std::sort(positions.begin(), positions.end());  // ties are decided by position
  std::vector<T> candidates;
  for (std::int64_t const i : positions) candidates.push_back(keys[i]);
  std::vector<std::int64_t> best;
  for (std::int64_t const at :
       best_positions(candidates.data(), std::ssize(candidates), sizes.k, options))
    best.push_back(positions[static_cast<std::size_t>(at)]);
  return best;
}

template <class T>
void check_is_best_of_candidates(std::vector<T> const& keys, std::int64_t rows, Sizes const& sizes,
                                 Answered<T> const& answer, Options const& options) {
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    T const* const row = keys.data() + r * sizes.n;
    auto const wanted = of_candidates(row, sizes, options);
    for (std::int64_t s = 0; s < sizes.k; ++s) {
      std::int64_t const slot = r * sizes.k + s, at = wanted[static_cast<std::size_t>(s)];
      wrong += answer.positions[slot] == at && same_bits(answer.values[slot], row[at]) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
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
    check_is_best_of_candidates(keys, 50, sizes, answer, options);
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

TEMPLATE_TEST_CASE("the answer is that of the buckets on every space, by every rule", "",
                   std::uint8_t, bfloat16, float, double) {
  std::int64_t const rows = 3;
  for (Sizes const sizes : {Sizes{30'001, 500, 0.85}, Sizes{256, 16, 0.9}, Sizes{5'000, 200, 0.97}})
    for (Options options : orders())
      for (Input input : {Input::normal, Input::few_values}) {
        options.algorithm = Algorithm::delegate;
        options.recall = sizes.recall;
        auto const keys = make_keys<TestType>(input, rows * sizes.n, 3);
        for (Ties ties : {Ties::lowest_index, Ties::highest_index})
          for (Algorithm inner : {Algorithm::automatic, Algorithm::bucket, Algorithm::bitonic}) {
            options.ties = ties;
            options.inner = inner;
            CAPTURE(sizes.n, name(input), name(inner));
            for_each_space([&](auto const& exec) {
              check_is_best_of_candidates(keys, rows, sizes, ask(exec, keys, rows, sizes, options),
                                          options);
            });
          }
      }
}

TEST_CASE("k differs by row, rows are fewer than a Plan's, or lie in LayoutLeft") {
  Sizes const sizes{20'000, 100, 0.9};
  std::int64_t const rows = 9;
  Options const options = with_recall(sizes.recall);
  auto const keys = make_keys<float>(Input::normal, rows * sizes.n, 5);
  std::vector<std::int64_t> const wanted{100, 0, 1, 7, 100, 50, 99, 3, 20};
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    using Memory = MemoryOf<Exec>;
    auto const left = copied_to<Memory, Kokkos::LayoutLeft>(keys, rows, sizes.n);
    Shape shape = shape_of(left, sizes.k);
    shape.k_per_row = true;
    Plan<Exec> plan(exec, shape, options);
    Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const positions("test::positions",
                                                                              rows, sizes.k);
    auto const of_row = copied_to<Memory>(wanted);
    for (std::int64_t const first : {0, 4}) {
      using Range = Kokkos::pair<std::int64_t, std::int64_t>;
      Range const some(first, rows);
      plan(Kokkos::subview(left, some, Kokkos::ALL), nothing,
           Kokkos::subview(positions, some, Kokkos::ALL),
           per_row(Kokkos::subview(of_row, some), nothing));
      exec.fence();
      auto const got = on_host(positions);
      std::int64_t wrong = 0;
      for (std::int64_t r = first; r < rows; ++r) {
        auto const all = of_candidates(keys.data() + r * sizes.n, sizes, options);
        for (std::int64_t s = 0; s < sizes.k; ++s)
          wrong += got(r, s) == (s < wanted[r] ? all[s] : -1) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  });
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
