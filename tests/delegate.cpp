// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "portable/delegate/delegate.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "support/recorder.hpp"
#include "support/run.hpp"

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;
using DelegateTypes = std::tuple<std::uint8_t, float16, float, std::int64_t, double>;

TEST_CASE("alpha is that of Rule 4", "[algorithms]") {
  auto const alpha = [](int log_n, int log_k, double constant = 3) {
    return rule_4(std::int64_t{1} << log_n, std::int64_t{1} << log_k, constant);
  };
  CHECK(alpha(30, 24) == 4);  // the example of section 5.3
  CHECK(alpha(30, 19) == 7);
  CHECK(alpha(30, 0) == 16);
  CHECK(alpha(30, 19, 5) == 8);
  CHECK(alpha(4, 4) == 1);
}

TEST_CASE("alpha is smaller where subranges of Rule 4 would leave threads idle", "[algorithms]") {
  Shape const shape{1, 1 << 20, 1, 4};
  CHECK(delegate_plan({true, 2}, shape).alpha == 11);
  CHECK(delegate_plan({true, 128}, shape).alpha == 10);  // of 32 parts of the row
  CHECK(delegate_plan({false, 1 << 10}, shape).alpha == 10);
  CHECK(delegate_plan({false, 1 << 18}, shape).alpha == 2);
  CHECK(delegate_plan({false, 1 << 18}, {1 << 10, 1 << 20, 1, 4}).alpha == 11);
}

/// Checks that blocks cover the row, and that every subrange has two keys and no more than its share of candidates.
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

TEST_CASE("any row is cut into subranges whose candidates fit the workspace", "[algorithms]") {
  for (int threads : {1, 8, 300})
    for (int key_bytes : {1, 4})
      for (std::int64_t n : {128, 129, 255, 1000, 4096, 100003, 1 << 20})
        for (std::int64_t k : {std::int64_t{1}, std::int64_t{7}, n / 100, n / 16}) {
          if (k == 0) continue;
          Shape const shape{1, n, k, key_bytes};
          REQUIRE((Delegate<Generic>::declines({{}, shape, {}}) == nullptr) == (k <= n / 16));
          if (k <= n / 16) check_plan(delegate_plan({true, threads}, shape), k);
          if (k <= n / 16) check_plan(delegate_plan({false, 1000 * threads}, shape), k);
        }
}

/// Where none is asked for, a tuned implementation may serve.
constexpr Algorithm inners[] = {Algorithm::automatic, Algorithm::radix, Algorithm::bucket,
                                Algorithm::bitonic};

/// In a workspace of exactly workspace_bytes(), whose bytes beyond are watched.
template <class Exec, class T>
Answer<T> select_in(Exec const& exec, Question<T> const& question, Options const& options) {
  std::int64_t const rows = question.rows(), n = question.length(0), k = question.width;
  auto const bytes = workspace_bytes(exec, make_shape<T>(rows, n, k), options);
  Buffer<Exec> keys(rows * n * sizeof(T)), values(rows * k * sizeof(T)),
      indices(rows * k * sizeof(std::int64_t)), workspace(bytes);
  keys.upload(question.keys);
  top_k(exec, keys.template matrix<T>(rows, n), values.template matrix<T>(rows, k),
        indices.template matrix<std::int64_t>(rows, k), options,
        Workspace<Exec>(workspace.template as<std::byte>(), bytes));
  exec.fence();
  workspace.template download<std::byte>(bytes);
  CHECK(workspace.untouched_from(bytes));
  return {
      values.template download<T>(rows * k), indices.template download<std::int64_t>(rows * k), {}};
}

template <class T>
void select_within(Input input, std::int64_t rows, std::int64_t n, std::int64_t k,
                   testing::Validation& validation) {
  auto const all = all_options<T>();
  auto const question = uniform_question(make_keys<T>(input, rows * n, 5), rows, n, k);
  auto const seed = static_cast<std::uint64_t>(input) * 64 + static_cast<std::uint64_t>(rows * k);
  std::uint64_t draw = random_bits(17, seed);
  for (Ties ties : {Ties::lowest_index, Ties::highest_index, Ties::any}) {
    Options options = all[draw++ % all.size()];
    options.ties = ties;
    options.algorithm = Algorithm::delegate;
    auto const truth = solve(question, options);
    for (Algorithm inner : inners) {
      options.inner = inner;
      options.sorted = draw++ % 2 == 0 ? Sorted::yes : Sorted::no;
      for_each_space([&](auto const& exec) {
        validation.expect(question, truth, select_in(exec, question, options), options, [&] {
          return std::string(exec.name()) + ", " + name(inner) + " within, " + name(input) +
                 ", rows = " + std::to_string(rows) + ", n = " + std::to_string(n) +
                 ", k = " + std::to_string(k);
        });
      });
    }
  }
}

/// Subranges so long that most of their steps change nothing.
template <class T>
void select_long(Input input, testing::Validation& validation) {
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
          validation.expect(question, truth, call(k, chosen), chosen, [&] {
            return std::string(exec.name()) + ", " + name(input) +
                   ", rows = " + std::to_string(rows) + ", k = " + std::to_string(k);
          });
        });
      }
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("radix, bucket and bitonic within delegate", "[algorithms]",
                        DelegateTypes) {
  testing::Validation validation;
  std::int64_t const n = 9'001;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t rows : {1, 3})
      for (std::int64_t k :
           {std::int64_t{1}, std::int64_t{255}, std::int64_t{256}, std::int64_t{257}, n / 16})
        select_within<TestType>(input, rows, n, k, validation);
  validation.close();
}

/// Delegates and candidates in lists that several groups share.
TEMPLATE_LIST_TEST_CASE("the same on rows so long that their lists have parts", "[algorithms]",
                        DelegateTypes) {
  testing::Validation validation;
  std::int64_t const n = 300'001;
  ForceAlpha const short_subranges(3);
  for (Input input : {Input::uniform, Input::few_values, Input::bucket_killer, Input::all_equal})
    for (std::int64_t k : {std::int64_t{1}, std::int64_t{256}, n / 16})
      select_within<TestType>(input, 1, n, k, validation);
  validation.close();
}

TEST_CASE("what is asked for within delegate selects there", "[algorithms]") {
  std::int64_t const n = 1 << 20;
  for_each_space([&](auto const& exec) {
    using Exec = std::decay_t<decltype(exec)>;
    UniformCall<Exec, float> call(exec, make_keys<float>(Input::uniform, n, 9), 1, n, 300);
    auto const ran = [&](std::int64_t k, Algorithm inner, char const* label) {
      Recorder const record;
      call(k, {.algorithm = Algorithm::delegate, .inner = inner});
      // The tuned one serves where nothing is asked for.
      if (record.ran("ktopk::cuda::delegate")) return inner == Algorithm::automatic;
      CHECK(record.ran("ktopk::delegate::build"));
      return record.ran(label);
    };
    CAPTURE(exec.name());
    CHECK(ran(100, Algorithm::automatic, "ktopk::radix"));
    CHECK(ran(100, Algorithm::radix, "ktopk::radix"));
    CHECK(ran(100, Algorithm::bucket, "ktopk::bucket"));
    CHECK(ran(256, Algorithm::bitonic, "ktopk::bitonic"));
    CHECK_FALSE(ran(100, Algorithm::radix, "ktopk::bucket"));
    CHECK_FALSE(ran(257, Algorithm::bitonic, "ktopk::bitonic"));
    CHECK(ran(257, Algorithm::bitonic, "ktopk::radix"));
  });
}

TEST_CASE("what bucket within delegate does not finish is left to radix", "[algorithms]") {
  std::int64_t const n = 1 << 20, k = n / 16;
  auto const keys = make_keys<std::int64_t>(Input::bucket_killer, n, 9);
  auto const question = uniform_question(keys, 1, n, k);
  Options const options{.algorithm = Algorithm::delegate, .inner = Algorithm::bucket};
  for_each_space([&](auto const& exec) {
    UniformCall<std::decay_t<decltype(exec)>, std::int64_t> call(exec, keys, 1, n, k);
    Recorder const record;
    CHECK(check(question, solve(question, options), call(k, options), options).empty());
    CHECK(record.ran("ktopk::radix"));
  });
}

TEST_CASE("a forced alpha is taken, and given back", "[algorithms]") {
  Shape const shape = make_shape<float>(1, 1 << 20, 1 << 10);
  int const chosen = delegate_plan({true, 1}, shape).alpha;
  {
    ForceAlpha const force(chosen + 2);
    CHECK(delegate_plan({true, 1}, shape).alpha == chosen + 2);
  }
  CHECK(delegate_plan({true, 1}, shape).alpha == chosen);
}

TEMPLATE_LIST_TEST_CASE("delegates of long subranges", "[algorithms]", DelegateTypes) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>()) select_long<TestType>(input, validation);
  validation.close();
}

}  // namespace ktopk::detail
