// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>

#include "support/contract.hpp"

// A few small cases of every implementation: compute-sanitizer's slowest tool checks them in minutes.

namespace ktopk::testing {

TEMPLATE_TEST_CASE("a few small cases of every implementation", "[contract][sanitizer]",
                   std::uint8_t, float, double) {
  struct Size {
    std::int64_t rows, n, k;
  };
  Validation validation;
  for (Size const& size : {Size{1, 300, 10}, {5, 700, 33}, {2, 20'000, 3}, {1, 70'001, 1000}})
    for (Input input : {Input::random_bits, Input::all_equal})
      hold_to_contract<TestType>(
          {std::string(name(input)) + ", seed 11",
           make_keys<TestType>(input, size.rows * size.n, 11),
           size.rows,
           size.n,
           {size.k},
           {{}, {.order = Order::smallest, .sorted = Sorted::no, .ties = Ties::highest_index}}},
          validation);
  validation.close();
}

}  // namespace ktopk::testing
