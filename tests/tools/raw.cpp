// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/raw.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "files/fault.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("raw: a shape of one or two extents") {
  std::string const file(24, 'x');
  auto const vector = parse_raw(as_file(file), KeyType::bf16, "12");
  CHECK(vector.rank == 1);
  CHECK(vector.rows == 1);
  CHECK(vector.n == 12);
  auto const matrix = parse_raw(as_file(file), KeyType::f32, "2x3");
  CHECK(matrix.rank == 2);
  CHECK(matrix.rows == 2);
  CHECK(matrix.n == 3);
  CHECK(matrix.row_stride == 3);
}

TEST_CASE("raw: no keys are valid") { CHECK(parse_raw({}, KeyType::f32, "0x7").rows == 0); }

TEST_CASE("raw: what is no shape is refused") {
  auto const shape = GENERATE(as<std::string>(), "x", "2x", "x3", "2x3x4", "2 x 3", "-6", "six",
                              "0x1.8p1", "6.0", "99999999999999999999");
  CHECK_THROWS_MATCHES(parse_raw(as_file("..."), KeyType::f32, shape), Fault,
                       MessageMatches(ContainsSubstring("is neither n nor rowsxn")));
}

TEST_CASE("raw: a file of another size is refused with both numbers") {
  std::string const file(24, 'x');
  CHECK_THROWS_MATCHES(
      parse_raw(as_file(file), KeyType::f32, "7"), Fault,
      MessageMatches(ContainsSubstring("holds 24 bytes, but the shape '7' of f32 needs 28")));
  CHECK_THROWS_MATCHES(parse_raw(as_file(file), KeyType::u8, "4294967296x4294967296"), Fault,
                       MessageMatches(ContainsSubstring("more keys than can be addressed")));
}

TEST_CASE("raw: key types have the names that --type takes") {
  for (auto const* text :
       {"f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"}) {
    auto const type = key_type_from_name(text);
    REQUIRE(type);
    CHECK(name(*type) == std::string(text));
  }
  CHECK_FALSE(key_type_from_name("float"));
}

}  // namespace
}  // namespace ktopk::testing
