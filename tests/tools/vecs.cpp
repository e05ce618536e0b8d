// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/vecs.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <cstring>

#include "files/fault.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

std::string row(std::int32_t dimension, std::size_t bytes) {
  return bytes_of(std::vector<std::int32_t>{dimension}) + std::string(bytes, 'x');
}

Matrix parse(std::string const& file, KeyType type) {
  return parse_vecs(as_file(file), type, [](std::int64_t) {});
}

void refuses(std::string const& file, std::string const& why) {
  CHECK_THROWS_MATCHES(parse(file, KeyType::f32), Fault, MessageMatches(ContainsSubstring(why)));
}

TEST_CASE("vecs: rows step over their dimensions") {
  auto const file = row(3, 12) + row(3, 12);
  auto const keys = parse(file, KeyType::f32);
  CHECK(keys.rows == 2);
  CHECK(keys.n == 3);
  CHECK(keys.row_stride == 4);
  CHECK(keys.key_stride == 1);
  CHECK(keys.data == as_file(file).data() + 4);
}

TEST_CASE("vecs: bytes step over four of them") {
  auto const file = row(5, 5) + row(5, 5) + row(5, 5);
  auto const keys = parse(file, KeyType::u8);
  CHECK(keys.rows == 3);
  CHECK(keys.row_stride == 9);
}

TEST_CASE("vecs: the reader hears of every byte") {
  auto const file = row(2, 8) + row(2, 8);
  std::int64_t read = 0;
  parse_vecs(as_file(file), KeyType::i32, [&](std::int64_t bytes) { read += bytes; });
  CHECK(read == 24);
}

TEST_CASE("vecs: every row's dimension is checked") {
  refuses(row(2, 8) + row(3, 8) + row(2, 8), "row 1 has dimension 3, but row 0 has 2");
  refuses(row(2, 8) + row(2, 8) + row(1, 4), "row 2 has dimension 1, but row 0 has 2");
}

TEST_CASE("vecs: files that are cut or lie are refused") {
  refuses("", "is empty");
  refuses("abc", "is cut off within the dimension of row 0");
  refuses(row(0, 0), "impossible dimension 0");
  refuses(row(-1, 4), "impossible dimension -1");
  refuses(row(2, 7), "is cut off within row 0: 11 of 12 bytes are there");
  refuses(row(2, 8) + "xy", "is cut off within row 1: 2 of 12 bytes are there");
  refuses(row(2147483647, 8), "is cut off within row 0");
}

}  // namespace
}  // namespace ktopk::testing
