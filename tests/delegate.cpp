// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/algorithms/delegate.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "support/recorder.hpp"
#include "support/run.hpp"

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;
using Widths = std::tuple<std::uint8_t, float16, float, std::int64_t, double>;

TEST_CASE("alpha is that of Rule 4", "[rooms]") {
  auto const alpha = [](int log_n, int log_k, double constant = 3) {
    return rule_4(std::int64_t{1} << log_n, std::int64_t{1} << log_k, constant);
  };
  CHECK(alpha(30, 24) == 4);  // the example of section 5.3
  CHECK(alpha(30, 19) == 7);
  CHECK(alpha(30, 0) == 16);
  CHECK(alpha(30, 19, 5) == 8);
  CHECK(alpha(4, 4) == 1);
}

TEST_CASE("dearer subranges are longer, dearer candidates make them shorter", "[rooms]") {
  std::int64_t const n = 1 << 26, k = 1 << 10;
  CHECK(choose_alpha(n, k, {8, 1}) == 11);
  CHECK(choose_alpha(n, k, {64, 1}) == 12);
  CHECK(choose_alpha(n, k, {1, 64}) == 8);
  CHECK(choose_alpha(n, n, {1, 64}) == 1);
}

/// That blocks cover the row, and every subrange has two keys and no more than its share of candidates.
void check_plan(DelegatePlan const& plan, std::int64_t k) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(plan.subranges()));
  for (std::int64_t i = 0; i < plan.n; ++i)
    ++lengths[static_cast<std::size_t>(plan.subrange_of(i))];
  std::sort(lengths.rbegin(), lengths.rend());
  CHECK(lengths.back() >= 2);
  CHECK(plan.block_end(plan.blocks - 1) == plan.n);
  std::int64_t most = k;
  for (std::int64_t s = 0; s < k / 2 && s < plan.subranges(); ++s)
    most += lengths[static_cast<std::size_t>(s)] - 2;
  CHECK(plan.candidates(k) >= std::min(plan.n, most));
  CHECK(plan.delegates() >= k);
}

TEST_CASE("any row is cut into subranges that leave room for their candidates", "[rooms]") {
  for (int threads : {1, 8, 300})
    for (int key_bytes : {1, 4})
      for (std::int64_t n : {128, 129, 255, 1000, 4096, 100003, 1 << 20})
        for (std::int64_t k : {std::int64_t{1}, std::int64_t{7}, n / 100, n / 16}) {
          if (k == 0) continue;
          Shape const shape{1, n, k, key_bytes};
          REQUIRE(Delegate<Generic>::supports(shape, {}) == (k <= n / 16));
          if (k <= n / 16) check_plan(delegate_plan({true, threads}, shape), k);
          if (k <= n / 16) check_plan(delegate_plan({false, 1000 * threads}, shape), k);
        }
}

/// Subranges so long that most of their steps change nothing.
template <class T>
void select_long(Input input, testing::Verdict& verdict) {
  std::int64_t const n = 150'007;
  auto const options = all_options<T>();
  for (std::int64_t rows : {1, 2})
    for (std::int64_t k : {1, 40}) {
      auto const question = uniform_question(make_keys<T>(input, rows * n, 3), rows, n, k);
      for (std::size_t draw = 0; draw < 3; ++draw) {
        auto const seed =
            static_cast<std::uint64_t>(input) * 64 + static_cast<std::uint64_t>(rows * k);
        Options chosen = options[random_bits(seed, draw) % options.size()];
        chosen.algorithm = Algorithm::delegate;
        auto const truth = solve(question, chosen);
        for_each_space([&](auto const& exec) {
          UniformCall<std::decay_t<decltype(exec)>, T> call(exec, question.keys, rows, n, k);
          verdict.expect(question, truth, call(k, chosen), chosen, [&] {
            return std::string(exec.name()) + ", " + name(input) +
                   ", rows = " + std::to_string(rows) + ", k = " + std::to_string(k);
          });
        });
      }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("delegates of long subranges", "[rooms]", Widths) {
  testing::Verdict verdict;
  for (Input input : inputs_for<TestType>()) select_long<TestType>(input, verdict);
  verdict.close();
}

}  // namespace ktopk::detail
