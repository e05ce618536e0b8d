// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include <set>

#include "support/contract.hpp"

namespace ktopk::testing {
namespace {

/// A row of every input.
template <class T>
std::vector<T> one_row_each(std::int64_t n, std::uint64_t seed) {
  std::vector<T> keys;
  for (Input input : inputs_for<T>()) {
    auto const row = make_keys<T>(input, n, seed);
    keys.insert(keys.end(), row.begin(), row.end());
  }
  return keys;
}

std::vector<std::int64_t> some_ks(std::int64_t n) {
  std::set<std::int64_t> const ks{0, 1, 2, n / 2, n - 1, n};
  auto const last = ks.upper_bound(n);
  return {ks.lower_bound(0), last};
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every option on every small row, all inputs in one call",
                        "[contract][small]", KeyTypes) {
  Validation validation;
  auto const rows = static_cast<std::int64_t>(inputs_for<TestType>().size());
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40})
    hold_to_contract<TestType>({"a row of every input, seed 1", one_row_each<TestType>(n, 1), rows,
                                n, some_ks(n), every_option<TestType>()},
                               validation);
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("every small row alone", "[contract][small]", KeyTypes) {
  Validation validation;
  auto const inputs = inputs_for<TestType>();
  auto const options = every_option<TestType>();
  for (std::int64_t n = 1; n <= 40; ++n)
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::uint64_t const draw = random_bits(2, n * 100 + i);
      hold_to_contract<TestType>({std::string(name(inputs[i])) + ", seed 3",
                                  make_keys<TestType>(inputs[i], n, 3),
                                  1,
                                  n,
                                  {static_cast<std::int64_t>(1 + draw % n)},
                                  {options[(draw >> 32) % options.size()]}},
                                 validation);
    }
  validation.close();
}

TEMPLATE_LIST_TEST_CASE("rows shorter than k are filled, if that is asked for", "[contract][small]",
                        KeyTypes) {
  Validation validation;
  auto const inputs = inputs_for<TestType>();
  auto const options = every_option<TestType>();
  for (std::int64_t n : {1, 5, 40, 700})
    for (std::int64_t k : {n / 2, n + 1, 2 * n + 7}) {
      std::uint64_t const draw = random_bits(4, n + k);
      Options chosen = options[draw % options.size()];
      chosen.short_rows = ShortRows::fill;
      Input const input = inputs[(draw >> 32) % inputs.size()];
      hold_to_contract<TestType>({std::string(name(input)) + ", seed 5",
                                  make_keys<TestType>(input, 3 * n, 5),
                                  3,
                                  n,
                                  {k},
                                  {chosen}},
                                 validation);
    }
  validation.close();
}

}  // namespace ktopk::testing
