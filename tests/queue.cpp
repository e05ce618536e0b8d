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

}  // namespace ktopk::detail
