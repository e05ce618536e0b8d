// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include <algorithm>

#include "support/contract.hpp"

namespace ktopk::testing {
namespace {

/// Every width, and integers of either sign and floats among them: implementations meet a key as bits of its width. All
/// types are in the small and the random cases.
using EdgeTypes = std::tuple<std::uint8_t, float16, std::int32_t, float, std::int64_t, double>;

/// Some options drawn by a seed, the default always among them.
template <class T>
std::vector<Options> draw_options(int count, std::uint64_t seed) {
  auto const all = every_option<T>();
  std::vector<Options> some{Options{}};
  for (int i = 0; i < count; ++i) some.push_back(all[random_bits(seed, i) % all.size()]);
  return some;
}

/// k at and beside powers of two, and at both ends of the row; a few of them, drawn by a seed.
std::vector<std::int64_t> draw_edge_ks(std::int64_t n, int count, std::uint64_t seed) {
  std::vector<std::int64_t> edges{1, n - 1, n};
  for (std::int64_t power = 16; power <= n; power *= 2)
    for (std::int64_t k : {power - 1, power, power + 1})
      if (k <= n) edges.push_back(k);
  std::vector<std::int64_t> ks;
  for (int i = 0; i < count; ++i) ks.push_back(edges[random_bits(seed, 100 + i) % edges.size()]);
  return ks;
}

/// Row lengths beside a power of two with every input, each with some options and ks.
template <class T>
void around(std::int64_t power, std::int64_t rows, Validation& validation) {
  for (std::int64_t n : {power - 1, power, power + 1})
    for (Input input : inputs_for<T>()) {
      std::uint64_t const seed =
          static_cast<std::uint64_t>(1000 * n + 10 * rows) + static_cast<std::uint64_t>(input);
      std::vector<T> keys;
      for (std::int64_t row = 0; row < rows; ++row) {
        auto const next = make_keys<T>(input, n, seed + row);
        keys.insert(keys.end(), next.begin(), next.end());
      }
      hold_to_contract<T>(
          {std::string(name(input)) + ", seed " + std::to_string(seed), std::move(keys), rows, n,
           draw_edge_ks(n, 2, seed), draw_options<T>(1, seed)},
          validation);
    }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("rows beside block sizes", "[contract][edges]", EdgeTypes) {
  Validation validation;
  for (std::int64_t power : {64, 128, 256, 512, 1024, 2048, 4096})
    around<TestType>(power, 1, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("batches of rows beside block sizes", "[contract][edges]", EdgeTypes) {
  Validation validation;
  around<TestType>(256, 2, validation);
  around<TestType>(128, 7, validation);
  around<TestType>(64, 100, validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a row of 2^16 keys, more or less one", "[contract][edges]", EdgeTypes) {
  Validation validation;
  auto const inputs = inputs_for<TestType>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t const n = 65535 + static_cast<std::int64_t>(i) % 3;
    hold_to_contract<TestType>(
        {std::string(name(inputs[i])) + ", seed 5", make_keys<TestType>(inputs[i], n, 5), 1, n,
         draw_edge_ks(n, 2, i), draw_options<TestType>(1, i)},
        validation);
  }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("a row of 2^13 keys, more or less one, of which many are selected",
                        "[contract][edges]", EdgeTypes) {
  Validation validation;
  auto const inputs = inputs_for<TestType>();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t const n = 8191 + static_cast<std::int64_t>(i) % 3;
    hold_to_contract<TestType>({std::string(name(inputs[i])) + ", seed 6",
                                make_keys<TestType>(inputs[i], n, 6),
                                1,
                                n,
                                {i % 2 == 0 ? 1300 : 2048},
                                {{.sorted = Sorted::no}}},
                               validation);
  }
  validation.close();
}

/// Tie rules matter where the threshold splits a run of equal keys.
TEMPLATE_LIST_TEST_CASE("ties across the threshold", "[contract][edges]", EdgeTypes) {
  Validation validation;
  std::int64_t const n = 5000;
  for (Input input : {Input::all_equal, Input::few_values})
    for (std::int64_t k : {1, 10, 1300, 2500, 4999})
      for (std::int64_t rows : {1, 3}) {
        std::vector<TestType> keys = make_keys<TestType>(input, rows * n, 7);
        hold_to_contract<TestType>({std::string(name(input)) + ", seed 7",
                                    std::move(keys),
                                    rows,
                                    n,
                                    {k},
                                    {{.ties = Ties::lowest_index},
                                     {.order = Order::smallest, .ties = Ties::highest_index},
                                     {.sorted = Sorted::no, .ties = Ties::highest_index},
                                     {.sorted = Sorted::no, .ties = Ties::any}}},
                                   validation);
      }
  validation.close();
}

}  // namespace ktopk::testing
