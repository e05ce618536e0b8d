// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "src/refinement.hpp"
#include "support/run.hpp"

// bucket, sample and quick on rows that several groups share, where the refinement continues in lists and in radix.

namespace ktopk::detail {
namespace {

using namespace ktopk::testing;

using Widths = std::tuple<std::uint8_t, bfloat16, std::int32_t, float, double>;

constexpr Algorithm algorithms[] = {Algorithm::bucket, Algorithm::sample, Algorithm::quick};

template <class T>
void select_each(std::int64_t rows, std::int64_t n, std::int64_t k, Input input,
                 testing::Validation& validation) {
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

TEMPLATE_LIST_TEST_CASE("implementations that refine partitions, on long rows of every input",
                        "[refinement]", Widths) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t rows : {1, 2}) {
      std::int64_t const n = 70'001;
      for (std::int64_t k : {std::int64_t{1}, std::int64_t{2000}, n / 2})
        select_each<TestType>(rows, n, k, input, validation);
    }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("implementations that refine partitions, on rows of a group each",
                        "[refinement]", Widths) {
  testing::Validation validation;
  for (Input input : inputs_for<TestType>())
    for (std::int64_t n : {70, 3000, 20'000})
      for (std::int64_t k : {std::int64_t{1}, n / 20, n / 2})
        select_each<TestType>(5, n, k, input, validation);
  validation.close();
}

namespace {

/// Whether one row of floats is finished without radix.
template <class Splitters, class Exec>
bool settles(Exec const& exec, std::vector<float> const& keys, std::int64_t k) {
  using Bits = std::uint32_t;
  Options const options{.sorted = Sorted::no};
  std::vector<std::int64_t> positions(static_cast<std::size_t>(k));
  Problem<Bits> problem{};
  problem.shape = make_shape<float>(1, std::ssize(keys), k);
  problem.rank = make_rank_map<float>(options);
  problem.keys = reinterpret_cast<Bits const*>(keys.data());
  problem.indices = positions.data();
  KeySource<Bits, Item64> source{};
  source.problem = problem;
  source.map = make_item_map<Item64>(problem.rank, problem.shape.n, options.ties);
  RefinementSizes const sizes{1, problem.shape.n, problem.shape.n};
  Pieces all;
  RefinementScratch<Item64>(all, device_of(exec), sizes, Splitters::ways);
  std::vector<std::byte> memory(all.bytes());
  Pieces pieces(memory.data());
  RefinementScratch<Item64> const scratch(pieces, device_of(exec), sizes, Splitters::ways);
  WinnerSink<Bits, Item64> const sink{problem, source.map, nullptr};
  refine(
      exec,
      PartitionRefinement<Splitters, KeySource<Bits, Item64>, Bits, Item64>{source, scratch, sink},
      Splitters::passes, Splitters::labels);
  exec.fence();
  return scratch.states[0].settled;
}

}  // namespace

/// Inputs on which a fixed number of passes suffices; others may be left to radix.
TEMPLATE_TEST_CASE("implementations that refine partitions seldom need radix", "[refinement]",
                   EqualParts, FifteenSplitters, OnePivot) {
  for (Input input : {Input::uniform, Input::normal, Input::ascending, Input::all_equal})
    for (std::int64_t n : {20'000, 200'000})
      for_each_space([&](auto const& exec) {
        using Exec = std::decay_t<decltype(exec)>;
        if constexpr (is_host_space<Exec>) {
          CAPTURE(exec.name(), name(input), n);
          CHECK(settles<TestType>(exec, make_keys<float>(input, n, 9), n / 40));
        }
      });
}

TEST_CASE("a thread counts no more keys of a part than 32 bits hold", "[refinement]") {
  for (int threads : {1, 64})
    for (std::int64_t rows : {1, 1000})
      for (std::int64_t n : {std::int64_t{1} << 20, std::int64_t{1} << 33, std::int64_t{1} << 40}) {
        Pieces pieces;
        RefinementScratch<Item64> const scratch(pieces, {true, threads}, {rows, n, n}, 16);
        CHECK(part_of(n, 0, scratch.parts).end < std::int64_t{1} << 32);
      }
}

}  // namespace ktopk::detail
