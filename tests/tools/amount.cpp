// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "amount.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace ktopk::testing {
namespace {

using tools::Amount;

std::int64_t amount(std::string const& text, std::int64_t n) { return Amount::parse(text)->of(n); }

TEST_CASE("amount: a number is itself, a percentage a part that is rounded up") {
  CHECK(amount("7", 100) == 7);
  CHECK(amount("1%", 1000) == 10);
  CHECK(amount("1%", 1001) == 11);
  CHECK(amount("1%", 5) == 1);
  CHECK(amount("1%", 0) == 0);
  CHECK(amount("0%", 1000) == 0);
  CHECK(amount("100%", 1000) == 1000);
  CHECK(amount("100.00%", 7) == 7);
  CHECK(amount("1.1%", 1000) == 11);
  CHECK(amount("0.000000000001%", std::int64_t{1} << 40) == 1);
  CHECK(amount("99.999999999999%", std::int64_t{1} << 62) == 4611686018427341788);
}

TEST_CASE("amount: what is neither is refused") {
  auto const text = GENERATE(as<std::string>(), "", "%", "x", "-1", "-1%", "1.5", "1 %", ".5%",
                             "1.-5%", "1%%", "100.1%", "101%", "1e1%", "0.1234567890123%");
  CHECK_FALSE(Amount::parse(text));
}

}  // namespace
}  // namespace ktopk::testing
