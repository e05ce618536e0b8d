// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstring>
#include <iterator>
#include <set>

#include "portable/group/lane_group.hpp"
#include "support/algorithm.hpp"
#include "support/recorder.hpp"
#include "support/rows.hpp"

// Bisection where it differs from the other implementations: its limits, and rows longer than its scratch memory.

namespace ktopk::testing {
namespace {

/// Whether an answer has some keys of each row, each once, best first: an approximate answer promises no more.
template <class T>
bool is_valid(Question<T> const& question, Answer<T> const& answer, Options const& options) {
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    std::int64_t const n = question.length(row), k = question.width;
    std::vector<T> taken;
    std::set<std::int64_t> places;
    for (std::int64_t slot = 0; slot < k; ++slot) {
      std::int64_t const at = answer.indices[row * k + slot];
      if (at < 0 || at >= n || !places.insert(at).second) return false;
      if (!same_bits(answer.values[row * k + slot], question.row(row)[at])) return false;
      taken.push_back(answer.values[row * k + slot]);
    }
    auto const before = [&](T const& a, T const& b) {
      return is_better(number(a), number(b), options);
    };
    if (options.sorted == Sorted::yes && !std::is_sorted(taken.begin(), taken.end(), before))
      return false;
  }
  return true;
}

/// The share of the true k best in an answer.
template <class T>
double hit_rate(Question<T> const& question, Answer<T> const& truth, Answer<T> const& answer) {
  std::int64_t hits = 0;
  std::int64_t const k = question.width;
  for (std::int64_t row = 0; row < question.rows(); ++row) {
    std::set<std::int64_t> const best(truth.indices.begin() + row * k,
                                      truth.indices.begin() + (row + 1) * k);
    for (std::int64_t slot = row * k; slot < (row + 1) * k; ++slot)
      hits += static_cast<std::int64_t>(best.count(answer.indices[slot]));
  }
  return static_cast<double>(hits) / static_cast<double>(question.rows() * k);
}

struct HitRates {
  int max_iterations;
  double percent[5];  // for k = 16, 32, 64, 96, 128
};

/// RTop-K, table 2: n = 256, normal keys.
constexpr HitRates table_2[] = {
    {2, {45.85, 37.81, 51.78, 69.59, 70.93}}, {3, {54.29, 60.32, 69.04, 74.41, 79.33}},
    {4, {68.35, 74.46, 80.51, 84.33, 87.34}}, {5, {77.36, 83.19, 87.88, 90.49, 92.34}},
    {6, {81.57, 87.62, 91.83, 93.77, 95.03}}, {7, {83.17, 89.51, 93.68, 95.33, 96.35}},
    {8, {83.68, 90.19, 94.35, 95.94, 96.86}}};

}  // namespace

TEST_CASE("an early stop finds what the paper's table 2 states, or more", "[bisection]") {
  std::int64_t const rows = 1000, n = 256;
  std::int64_t const ks[] = {16, 32, 64, 96, 128};
  auto const keys = make_keys<float>(Input::normal, rows * n, 7);
  for_each_space([&](auto const& exec) {
    UniformCall<std::decay_t<decltype(exec)>, float> call(exec, keys, rows, n, 128);
    for (int c = 0; c < 5; ++c) {
      auto const question = uniform_question(keys, rows, n, ks[c]);
      Options options{.algorithm = Algorithm::bisection};
      auto const truth = solve(question, options);
      for (HitRates const& stated : table_2) {
        options.max_iterations = stated.max_iterations;
        auto const answer = call(ks[c], options);
        CHECK(is_valid(question, answer, options));
        CAPTURE(exec.name(), ks[c], stated.max_iterations);
        CHECK(100 * hit_rate(question, truth, answer) > stated.percent[c] - 1);
      }
    }
  });
}

TEST_CASE("epsilon bounds how far below the k-th key is taken", "[bisection]") {
  std::int64_t const rows = 200, n = 3000, k = 64;
  auto const keys = make_keys<double>(Input::normal, rows * n, 7);
  auto const question = uniform_question(keys, rows, n, k);
  for (double epsilon : {0.3, 0.01, 1e-6}) {
    Options const options{.algorithm = Algorithm::bisection, .epsilon = epsilon};
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      UniformCall<std::decay_t<decltype(exec)>, double> call(exec, keys, rows, n, k);
      auto const answer = call(k, options);
      CHECK(is_valid(question, answer, options));
      for (std::int64_t row = 0; row < rows; ++row) {
        double const best = truth.values[row * k], kth = truth.values[row * k + k - 1];
        CHECK(kth - answer.values[row * k + k - 1] <= epsilon * std::abs(best));
      }
    });
  }
}

TEMPLATE_LIST_TEST_CASE("early stops of every input are valid, and many steps are exact",
                        "[bisection]", KeyTypes) {
  Validation validation;
  std::int64_t const k = 37;
  for (std::int64_t n : {100, 2100})
    for (Input input : inputs_for<TestType>())
      for (Options options : all_options<TestType>()) {
        options.algorithm = Algorithm::bisection;
        auto const question = uniform_question(make_keys<TestType>(input, 2 * n, 3), 2, n, k);
        auto const truth = solve(question, options);
        for_each_space([&](auto const& exec) {
          UniformCall<std::decay_t<decltype(exec)>, TestType> call(exec, question.keys, 2, n, k);
          Options few = options, many = options, wide = options;
          few.max_iterations = 3;
          many.max_iterations = 2 * 8 * static_cast<int>(sizeof(TestType));
          wide.epsilon = 0.1;
          CHECK(is_valid(question, call(k, few), few));
          CHECK(is_valid(question, call(k, wide), wide));
          validation.expect(question, truth, call(k, many), many,
                            [&] { return std::string(name(input)) + ", many steps"; });
        });
      }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("rows that just fit scratch memory, and longer ones", "[bisection]",
                        KeyTypes) {
  Validation validation;
  auto const fitting = static_cast<std::int64_t>(32 * 1024 / sizeof(TestType));
  for (std::int64_t n : {fitting, fitting + 1, std::int64_t{65536}})
    for (Input input : inputs_for<TestType>())
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{300}, n / 2, n})
        expect_algorithm<TestType>(Algorithm::bisection, input, 1, n, k, validation);
  validation.close();
}

/// Many keys share a code of the tuned implementation with the k-th, at every magnitude.
TEMPLATE_LIST_TEST_CASE("keys whose magnitudes differ widely", "[bisection]", KeyTypes) {
  Validation validation;
  struct Size {
    std::int64_t rows, n, k;
  };
  for (Size const& size :
       {Size{64, 511, 414}, Size{265, 247, 204}, Size{9, 60, 45}, Size{5, 2000, 1500}})
    for (Input input : {Input::sparse, Input::bucket_killer, Input::zipf})
      for (Keys keys : {Keys::packed, Keys::of_neighbors})
        expect_algorithm<TestType>(Algorithm::bisection, input, size.rows, size.n, size.k,
                                   validation, keys);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("rows that one lane holds, and many", "[bisection]", KeyTypes) {
  Validation validation;
  struct {
    int lanes;
    std::int64_t n;
  } const cases[] = {{1, 1}, {1, 32}, {2, 33}, {8, 8}, {8, 100}, {64, 256}, {64, 1000}};
  for (auto const [lanes, n] : cases) {
    ktopk::detail::ForceLanes const forced(lanes);
    for (Input input : inputs_for<TestType>())
      for (std::int64_t k : {(n + 2) / 3, n})
        expect_algorithm<TestType>(Algorithm::bisection, input, 5, n, k, validation);
  }
  validation.close();
}

/// Normal doubles, among which a row has one kind of rare ones each: at every 16th place, or everywhere.
std::vector<double> rare_doubles(std::int64_t n) {
  constexpr std::uint64_t rare[] = {
      0x7f80000000000000, 0x7f80000000000001, 0xff80000000000000, 0xffe0000000000000,  // 2^1017
      0x7ff0000000000000, 0xfff0000000000000, 0xfff0000000000001, 0x7ff0000000000001,  // inf, NaN
      0x7ff8000000000000, 0xfff8000000000000, 0x8000000000000000, 0x8000000000000001};
  std::int64_t const rows = 2 * std::size(rare);
  auto keys = make_keys<double>(Input::normal, rows * n, 7);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t at = row / 2; at < n; at += row % 2 == 0 ? 16 : 1)
      std::memcpy(&keys[row * n + at], &rare[row / 2], sizeof(double));
  return keys;
}

TEST_CASE("rows of doubles that are huge, infinite or not a number", "[bisection]") {
  Validation validation;
  for (std::int64_t n : {60, 256, 1000}) {
    auto const keys = rare_doubles(n);
    std::int64_t const rows = static_cast<std::int64_t>(keys.size()) / n;
    for (std::int64_t k : {8, 50})
      for (Options options : all_options<double>()) {
        options.algorithm = Algorithm::bisection;
        auto const question = uniform_question(keys, rows, n, k);
        auto const truth = solve(question, options);
        for_each_space([&](auto const& exec) {
          UniformCall<std::decay_t<decltype(exec)>, double> call(exec, keys, rows, n, k);
          validation.expect(question, truth, call(k, options), options, [&] {
            return std::string(exec.name()) + ", n = " + std::to_string(n) +
                   ", k = " + std::to_string(k);
          });
        });
      }
  }
  validation.close();
}

/// Most rows are short, some are empty, some longer than most, and few longer than any group holds.
template <class T>
Question<T> uneven_rows(std::int64_t rows, std::int64_t typical, Input input, std::int64_t k) {
  Question<T> question{{}, {1}, {}, k};
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const draw = static_cast<std::int64_t>(random_bits(7, row) % 1000);
    std::int64_t const length = row % 50 == 49   ? 0
                                : row % 97 == 11 ? 4000 + 13 * draw
                                : row % 11 == 3  ? 4 * typical + draw
                                                 : draw * typical / 500;
    question.begins.push_back(question.begins.back() + length);
    question.ks.push_back(k);
  }
  question.keys = make_keys<T>(input, question.begins.back() + 3, 7);
  return question;
}

TEMPLATE_LIST_TEST_CASE("ragged rows, shorter and longer than lanes and warps hold", "[bisection]",
                        KeyTypes) {
  Validation validation;
  for (std::int64_t typical : {20, 90, 400, 1100})
    for (Input input : {Input::random_bits, Input::few_values})
      for (std::int64_t k : {5, 120}) {
        auto const question = uneven_rows<TestType>(300, typical, input, k);
        Options const options{.sorted = k == 5 ? Sorted::yes : Sorted::no,
                              .ties = k == 5 ? Ties::highest_index : Ties::lowest_index,
                              .algorithm = Algorithm::bisection};
        auto const truth = solve(question, options);
        for_each_space([&](auto const& exec) {
          RowsCall<std::decay_t<decltype(exec)>, TestType, std::int32_t> call(exec, question);
          validation.expect(question, truth, call.ragged_rows_counted(options), options, [&] {
            return std::string(exec.name()) + ", " + name(input) +
                   ", typical = " + std::to_string(typical) + ", k = " + std::to_string(k);
          });
        });
      }
  validation.close();
}

TEST_CASE("more ragged rows than a device has groups", "[bisection]") {
  Validation validation;
  auto const question = uneven_rows<float>(15'000, 30, Input::normal, 20);
  for (Algorithm algorithm : {Algorithm::bisection, Algorithm::one_pass}) {
    Options const options{.algorithm = algorithm};
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      RowsCall<std::decay_t<decltype(exec)>, float, std::int32_t> call(exec, question);
      validation.expect(question, truth, call.ragged_rows_counted(options), options,
                        [&] { return std::string(exec.name()) + ", " + name(algorithm); });
    });
  }
  validation.close();
}

TEST_CASE("rows of up to 8192 keys are held by lanes", "[bisection]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (std::int64_t n : {8192, 8193}) {
      UniformCall<Exec, float> call(exec, make_keys<float>(Input::uniform, n, 5), 1, n, 40);
      Recorder const record;
      call(40, {.algorithm = Algorithm::bisection});
      CHECK(record.ran("bisection::lanes") == (n == 8192));
      CHECK(record.ran("bisection::rows") == (n != 8192));
    }
  });
}

TEST_CASE("bisection serves rows up to 2^16, radix longer ones", "[bisection]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    for (std::int64_t n : {1 << 16, (1 << 16) + 1}) {
      UniformCall<Exec, float> call(exec, make_keys<float>(Input::uniform, n, 5), 1, n, 40);
      Recorder const record;
      call(40, {.algorithm = Algorithm::bisection});
      CHECK(record.ran("bisection") == (n == 1 << 16));
      CHECK(record.ran("radix") == (n != 1 << 16));
    }
  });
}

}  // namespace ktopk::testing
