// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include "support/recorder.hpp"
#include "support/run.hpp"

// bucket, sample and quick on rows that several groups share, where the search continues in lists and in radix.

namespace ktopk::testing {
namespace {

using Widths = std::tuple<std::uint8_t, bfloat16, std::int32_t, float, double>;

constexpr Algorithm algorithms[] = {Algorithm::bucket, Algorithm::sample, Algorithm::quick};

template <class T>
void select_each(std::int64_t rows, std::int64_t n, std::int64_t k, Input input,
                 Validation& validation) {
  auto const all = all_options<T>();
  auto const question = uniform_question(make_keys<T>(input, rows * n, 9), rows, n, k);
  Options options = all[random_bits(11, n + 100 * k + static_cast<int>(input)) % all.size()];
  auto const truth = solve(question, options);
  for (Algorithm algorithm : algorithms) {
    options.algorithm = algorithm;
    for_each_space([&](auto const& exec) {
      UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, rows, n, k);
      validation.expect(question, truth, call(k, options), options, [&] {
        return std::string(exec.name()) + ", " + name(input) + ", rows = " + std::to_string(rows) +
               ", n = " + std::to_string(n) + ", k = " + std::to_string(k);
      });
    });
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("implementations that narrow, on long rows of every input", "[narrow]",
                        Widths) {
  Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t rows : {1, 2}) {
      std::int64_t const n = 70'001;
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{2000}, n / 2})
        select_each<TestType>(rows, n, k, input, validation);
    }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("implementations that narrow, on rows of a group each", "[narrow]",
                        Widths) {
  Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {70, 3000, 20'000})
      for (std::int64_t k : {std::int64_t{1}, n / 20, n / 2})
        select_each<TestType>(5, n, k, input, validation);
  validation.close();
}

/// Inputs on which a fixed number of passes suffices; others may be left to radix.
TEST_CASE("implementations that narrow seldom need radix on a host", "[narrow]") {
  std::int64_t const n = 200'000, k = 5000;
  for (Input input : {Input::uniform, Input::normal, Input::ascending, Input::all_equal})
    for (Algorithm algorithm : algorithms)
      for_each_space([&](auto const& exec) {
        using Exec = std::decay_t<decltype(exec)>;
        if constexpr (std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>) {
          UniformCall<Exec, float> call(exec, make_keys<float>(input, n, 9), 1, n, k);
          Recorder const record;
          call(k, {.algorithm = algorithm});
          CAPTURE(exec.name(), name(input), name(algorithm));
          CHECK(record.ran(std::string("ktopk::") + name(algorithm)));
          CHECK_FALSE(record.ran("ktopk::radix"));
        }
      });
}

}  // namespace ktopk::testing
