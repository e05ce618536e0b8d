// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/core/one_pass_plan.hpp>
#include <ktopk/core/testing.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <vector>

#include "support/recorder.hpp"
#include "support/rows.hpp"

// one_pass with a threshold that nothing reaches, or more keys than the list can hold. What it kept is then useless,
// so a right answer can only come from what falls back: on hosts radix, in the portable text a second sample for long
// rows, and a group's selection from all keys of the row. Some kernels of radix take such a threshold, too.

namespace ktopk::testing {
namespace {

using ktopk::detail::ForcePortable;
using ktopk::detail::ForceThreshold;
using ktopk::detail::Threshold;
using FallbackTypes = std::tuple<std::uint8_t, float16, float, double>;

// Lengths of rows that one host thread reads, with gaps between their keys, and that several threads share; of the
// longer ones a CUDA device holds `on_device`.
constexpr std::int64_t one_thread = 30'011, short_shared = 70'001, on_device = 300'007,
                       long_shared = 530'003;
constexpr std::int64_t many = 6'000;

template <class T>
void select_with(Threshold threshold, Input input, Validation& validation,
                 std::int64_t n = one_thread, std::vector<std::int64_t> const& ks = {1, 700},
                 Algorithm algorithm = Algorithm::one_pass) {
  for (std::int64_t rows : {1, 2})
    for (std::int64_t k : ks)
      for (Options options : all_options<T>()) {
        options.algorithm = algorithm;
        auto const question = uniform_question(make_keys<T>(input, rows * n, 5), rows, n, k);
        auto const truth = solve(question, options);
        for_each_space([&](auto const& exec) {
          UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, rows, n, k);
          ForceThreshold const force(threshold);
          auto const answer = n == one_thread ? call.with_gaps(k, options) : call(k, options);
          validation.expect(question, truth, answer, options, [&] {
            return std::string(exec.name()) + ", " + name(input) +
                   ", rows = " + std::to_string(rows) + ", k = " + std::to_string(k);
          });
        });
      }
}

/// The logarithm of the probability that a Poisson variable is from first to last.
double log_poisson(double mean, std::int64_t first, std::int64_t last) {
  double sum = 0;
  for (std::int64_t i = first; i <= last; ++i) {
    auto const x = static_cast<double>(i);
    sum += std::exp(x * std::log(mean) - mean - std::lgamma(x + 1));
  }
  return std::log(sum);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("a threshold too high falls back", "[fallback]", FallbackTypes) {
  Validation validation;
  select_with<TestType>(Threshold::too_high, Input::uniform, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a threshold too low falls back", "[fallback]", FallbackTypes) {
  Validation validation;
  select_with<TestType>(Threshold::too_low, Input::uniform, validation);
  validation.close();
}

TEST_CASE("equal keys fall back by the tie rule", "[fallback]") {
  Validation validation;
  for (Threshold threshold : {Threshold::too_high, Threshold::too_low})
    select_with<float>(threshold, Input::all_equal, validation);
  validation.close();
}

TEST_CASE("rows that threads share fall back too", "[fallback]") {
  Validation validation;
  for (Threshold threshold : {Threshold::too_high, Threshold::too_low}) {
    select_with<float>(threshold, Input::few_values, validation, short_shared, {700});
    select_with<float>(threshold, Input::few_values, validation, on_device, {1, 700});
    select_with<float>(threshold, Input::few_values, validation, long_shared, {many});
  }
  select_with<double>(Threshold::too_high, Input::uniform, validation, on_device, {700});
  validation.close();
}

TEST_CASE("radix falls back too where it samples", "[fallback]") {
  Validation validation;
  for (Threshold threshold : {Threshold::too_high, Threshold::too_low}) {
    select_with<float>(threshold, Input::few_values, validation, on_device, {700, 9'000},
                       Algorithm::radix);
    select_with<double>(threshold, Input::uniform, validation, on_device, {9'000},
                        Algorithm::radix);
  }
  validation.close();
}

TEST_CASE("ragged rows fall back too, long ones and short ones", "[fallback]") {
  Validation validation;
  for (Input input : {Input::uniform, Input::few_values, Input::all_equal, Input::descending})
    for (std::int64_t k : {1, 500, 5000}) {
      Question<float> question{{}, {3}, {}, k};
      for (std::int64_t length : {60'000, 0, 3'000, 4'096, 4'097, 9'000, 200'003, 1}) {
        question.begins.push_back(question.begins.back() + length);
        question.ks.push_back(k);
      }
      question.keys = make_keys<float>(input, question.begins.back() + 7, 5);
      Options const options{.ties = Ties::highest_index, .algorithm = Algorithm::one_pass};
      auto const truth = solve(question, options);
      for_each_space([&](auto const& exec) {
        RowsCall<std::decay_t<decltype(exec)>, float, std::int64_t> call(exec, question);
        for (Threshold threshold : {Threshold::sampled, Threshold::too_high, Threshold::too_low}) {
          ForceThreshold const force(threshold);
          Recorder const record;
          validation.expect(question, truth, call.ragged_rows_counted(options), options, [&] {
            return std::string(exec.name()) + ", " + name(input) + ", k = " + std::to_string(k);
          });
          if (!serves_tuned(exec)) CHECK(record.ran("one_pass::ragged::finish"));
        }
      });
    }
  validation.close();
}

TEST_CASE("one_pass serves these shapes, and on hosts radix stands behind it", "[fallback]") {
  for_each_space([](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    UniformCall<Exec, float> call(exec, make_keys<float>(Input::uniform, long_shared, 5), 1,
                                  long_shared, many);
    ForceThreshold const force(Threshold::too_high);
    Recorder const record;
    call(many, {.algorithm = Algorithm::one_pass});
    INFO(exec.name());
    CHECK(record.ran("one_pass"));
    if (!serves_tuned(exec))
      CHECK(record.ran("one_pass::finish"));
    else if (ktopk::detail::is_host_space<Exec>)
      CHECK(record.ran("one_pass::fallback"));
  });
}

TEST_CASE("long rows are sampled again before all of their keys are selected from", "[fallback]") {
  std::int64_t const n = (1 << 21) + 77, k = 300;
  Validation validation;
  for (Input input : {Input::uniform, Input::all_equal, Input::descending}) {
    Options const options{.sorted = Sorted::no, .algorithm = Algorithm::one_pass};
    auto const question = uniform_question(make_keys<float>(input, 2 * n, 5), 2, n, k);
    auto const truth = solve(question, options);
    for_each_space([&](auto const& exec) {
      std::optional<ForcePortable> portable;
      if (serves_tuned(exec)) portable.emplace();
      UniformCall<std::decay_t<decltype(exec)>, float> call(exec, question.keys, 2, n, k);
      for (Threshold threshold : {Threshold::sampled, Threshold::too_high, Threshold::too_low}) {
        ForceThreshold const force(threshold);
        Recorder const record;
        validation.expect(question, truth, call(k, options), options,
                          [&] { return std::string(exec.name()) + ", " + name(input); });
        CHECK(record.ran("one_pass::retry"));
      }
    });
  }
  validation.close();
}

TEST_CASE("a forced threshold ends with its scope", "[fallback]") {
  { ForceThreshold const force(Threshold::too_low); }
  CHECK(ktopk::detail::forced_threshold == Threshold::sampled);
}

TEST_CASE("the bound on Poisson's tails is one, and tight", "[fallback]") {
  for (double mean : {0.001, 0.5, 3.0, 24.4, 1000.0})
    for (double away : {-6.0, -4.5, -2.0, 2.0, 4.5, 6.0}) {
      auto const x = static_cast<std::int64_t>(mean + away * std::sqrt(mean) + (away > 0 ? 1 : 0));
      if (x < 0) continue;
      double const exact = away > 0 ? log_poisson(mean, x, x + 500) : log_poisson(mean, 0, x);
      double const bound = ktopk::detail::log_poisson_tail(mean, static_cast<double>(x));
      INFO("mean " << mean << ", x " << x);
      CHECK(bound > exact - 1e-9);
      CHECK(bound < exact + 0.2);
    }
}

}  // namespace ktopk::testing
