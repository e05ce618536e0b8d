// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_template_test_macros.hpp>

#include <cmath>

#include "support/contract.hpp"

namespace ktopk::testing {
namespace {

/// Draws from [1, most], each order of magnitude equally likely.
std::int64_t draw_size(std::int64_t most, std::uint64_t r) {
  double const exponent =
      static_cast<double>(r >> 11) * 0x1p-53 * std::log2(static_cast<double>(most) + 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::exp2(exponent)), 1, most);
}

/// The seed determines the whole case.
template <class T>
UniformCase<T> draw_case(std::uint64_t seed) {
  std::int64_t const n = draw_size(400'000, random_bits(seed, 0));
  std::int64_t const rows = draw_size(
      std::max<std::int64_t>(1, std::min<std::int64_t>(200, 400'000 / n)), random_bits(seed, 1));
  auto const inputs = inputs_for<T>();
  auto const options = every_option<T>();
  Input const input = inputs[random_bits(seed, 2) % inputs.size()];
  return {std::string(name(input)) + ", seed " + std::to_string(seed),
          make_keys<T>(input, rows * n, seed),
          rows,
          n,
          {draw_size(n, random_bits(seed, 3))},
          {options[random_bits(seed, 4) % options.size()]}};
}

}  // namespace

/// `--rng-seed N` repeats a run; the seed of a wrong answer is in its message.
TEMPLATE_LIST_TEST_CASE("random cases", "[contract][random]", KeyTypes) {
  Validation validation;
  std::uint64_t const first = std::uint64_t{Catch::getSeed()} << 16;
  CAPTURE(Catch::getSeed());
  for (std::uint64_t i = 0; i < 60; ++i)
    hold_to_contract<TestType>(draw_case<TestType>(first + i), validation);
  validation.close();
}

}  // namespace ktopk::testing
