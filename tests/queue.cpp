// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/host/sort.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>
#include <vector>

#include "support/algorithm.hpp"

// queue on a device, and how a host sorts.

namespace ktopk::detail {
using namespace ktopk::testing;

TEST_CASE("composite keys sort on one thread, whatever their number", "[queue]") {
  for (std::int64_t count : {0, 1, 2, 3, 127, 128, 129, 2047, 2048, 5000}) {
    std::vector<CompositeKey64> composites, spare(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      composites.push_back(random_bits(5, static_cast<std::uint64_t>(i)) & 0xff0000ff00ffffffull);
    auto sorted = composites;
    std::sort(sorted.begin(), sorted.end(), std::greater<CompositeKey64>());
    sort_alone(composites.data(), spare.data(), count);
    CAPTURE(count);
    CHECK(composites == sorted);
    sort_alone(composites.data(), spare.data(), count);
    CHECK(composites == sorted);
  }
}

#if KTOPK_ENABLE_CUDA_TUNED
/// The sample's keys are read again, and must not count twice.
TEST_CASE("rows of which a device's queue takes a sample", "[queue]") {
  Validation validation;
  std::int64_t const n = (std::int64_t{1} << 23) + 5;
  for (Input input : {Input::uniform, Input::ascending, Input::few_values})
    for (std::int64_t k : {1, 32, 1000})
      expect_algorithm<float>(Algorithm::queue, input, 1, n, k, validation);
  validation.close();
}
#endif

/// Whole groups of rows that a block of a device reads together, and groups with too few of them; one part of a row, and
/// several.
TEMPLATE_TEST_CASE("queue of rows whose keys lie side by side", "[queue]", std::uint8_t, bfloat16,
                   float, double) {
  Validation validation;
  for (Input input : {Input::uniform, Input::ascending, Input::few_values})
    for (auto [rows, n, k] :
         {std::tuple(2, 3001, 100), std::tuple(8, 20'000, 32), std::tuple(13, 9001, 100),
          std::tuple(17, 70, 5), std::tuple(300, 600, 64), std::tuple(4100, 700, 16)})
      expect_algorithm<TestType>(Algorithm::queue, input, rows, n, k, validation,
                                 testing::Keys::of_neighbors);
  validation.close();
}

}  // namespace ktopk::detail
