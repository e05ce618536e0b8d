// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/text_keys.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "files/fault.hpp"
#include "files/number.hpp"
#include "files/records.hpp"
#include "scratch_folder.hpp"

namespace ktopk::testing {
namespace {

using namespace tools;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

std::unique_ptr<ByteSource> source(ScratchFolder const& folder, std::string const& text) {
  return bytes_of_file(MappedFile(folder.write("text", text)));
}

template <class T>
std::vector<T> keys_of(std::string const& text, KeyType type, TextLayout const& layout = {}) {
  ScratchFolder const folder;
  auto const read = read_text(source(folder, text), type, layout);
  std::vector<T> keys(100);
  auto const count = read.keys->read(reinterpret_cast<std::byte*>(keys.data()), 100);
  keys.resize(static_cast<std::size_t>(count));
  return keys;
}

std::vector<double> doubles(std::string const& text, TextLayout const& layout = {}) {
  return keys_of<double>(text, KeyType::f64, layout);
}

void refuses(std::string const& text, std::string const& why, TextLayout const& layout = {},
             KeyType type = KeyType::f64) {
  CAPTURE(text);
  CHECK_THROWS_MATCHES(keys_of<std::int64_t>(text, type, layout), Fault,
                       MessageMatches(ContainsSubstring(why)));
}

using Doubles = std::vector<double>;

TEST_CASE("text: one number a line, whatever ends the lines") {
  auto const text =
      GENERATE(as<std::string>(), "1\n-2.5\n3e2\n", "1\n-2.5\n3e2", "1\r\n-2.5\r\n3e2\r\n",
               "\n1\n\n-2.5\n\n3e2\n\n", "\xef\xbb\xbf 1\n-2.5 \n+3e2", "\"1\"\n\"-2.5\"\n\"3e2\"");
  CHECK(doubles(text) == Doubles{1, -2.5, 300});
}

TEST_CASE("text: the first line may have names") {
  CHECK(doubles("x\n1\n2\n") == Doubles{1, 2});
  CHECK(doubles("a,b\n1,2\n3,4\n") == Doubles{1, 2, 3, 4});
  CHECK(doubles("5\n1\n2\n", {.header = Header::yes}) == Doubles{1, 2});
  CHECK(doubles("x\n").empty());
  refuses("x\n1\n", "line 1, column 1: 'x' is no number", {.header = Header::no});
  refuses("a,2\n3,4\n", "line 1, column 1: 'a' is no number");
}

TEST_CASE("text: a column by name and by number, beside columns that are no numbers") {
  std::string const text = "who,what,n\n\"a, b\",x,1\n\"say \"\"so\"\"\",y,2\n\"two\nlines\",z,3\n";
  CHECK(doubles(text, {.column = "n"}) == Doubles{1, 2, 3});
  CHECK(doubles(text, {.column = "3"}) == Doubles{1, 2, 3});
  CHECK(doubles("a,1\nb,2\n", {.column = "2"}) == Doubles{1, 2});
  CHECK(doubles("\"x\"\"y\",z\n1,2\n", {.column = "x\"y"}) == Doubles{1});
  refuses(text, "has no column 'm'; its first line has 'who', 'what', 'n'", {.column = "m"});
  refuses(text, "has no column 4: its first line has 3 fields, separated by ','", {.column = "4"});
  refuses(text, "has no column 0", {.column = "0"});
  refuses(text, "line 2, column 1: 'a, b' is no number of type f64", {.column = "who"});
  refuses("a,a\n1,2\n", "has several columns 'a'", {.column = "a"});
  refuses("1,2\n", "--no-header", {.header = Header::no, .column = "a"});
}

TEST_CASE("text: other separators") {
  CHECK(doubles("1\t2\n3\t4\n", {.separator = '\t'}) == Doubles{1, 2, 3, 4});
  CHECK(doubles("1;2\n3;4\n", {.separator = ';'}) == Doubles{1, 2, 3, 4});
  CHECK(doubles("  1  2\t3 \n   \n4 5 6\r\n", {.separator = ' '}) == Doubles{1, 2, 3, 4, 5, 6});
  refuses("1 2\n", "line 1, column 1: '1 2' is no number of type f64; fields are separated by ','",
          {.header = Header::no});
}

TEST_CASE("text: lines that do not fit are refused with their number") {
  refuses("", "is empty");
  refuses("\n\n", "is empty");
  refuses("1,2\n3\n", "line 2 has 1 field, but the first line has 2");
  refuses("1,2\n\n3,4,5\n", "line 3 has 3 fields, but the first line has 2");
  refuses("1\n\"2\n3", "line 2: a quoted field has no end");
  refuses("a,b\n1,2\n1,x\n", "line 3, column 2: 'x' is no number of type f64; --column names");
  refuses("h\n\"a\nb\"\n", "line 2, column 1");
}

TEST_CASE("text: records longer than what is read at once") {
  std::string text;
  Doubles expected;
  for (int i = 0; i < 60; ++i) {
    text += std::string(20000, ' ') + std::to_string(i) + "\n";
    expected.push_back(i);
  }
  CHECK(doubles(text) == expected);
  ScratchFolder const folder;
  Records records(source(folder, "\"" + std::string(1 << 20, '\n') + "\",7\n8,9"), ',');
  REQUIRE(records.next());
  CHECK(records.fields().back() == "7");
  CHECK(records.line() == 1);
  REQUIRE(records.next());
  CHECK(records.line() == (1 << 20) + 2);
  CHECK_FALSE(records.next());
}

TEST_CASE("text: numbers of every type, exact") {
  using Integers = std::vector<std::int64_t>;
  CHECK(keys_of<std::int64_t>("9223372036854775807\n-9223372036854775808\n", KeyType::i64) ==
        Integers{INT64_MAX, INT64_MIN});
  CHECK(keys_of<std::uint64_t>("18446744073709551615\n", KeyType::u64) ==
        std::vector<std::uint64_t>{UINT64_MAX});
  CHECK(keys_of<std::int8_t>("-128\n+127\n", KeyType::i8) == std::vector<std::int8_t>{-128, 127});
  CHECK(keys_of<float>("0.1\n1e39\n-1e-60\n", KeyType::f32) ==
        std::vector<float>{0.1f, std::numeric_limits<float>::infinity(), -0.0f});
  CHECK(keys_of<std::uint16_t>("1\n-2\n", KeyType::f16) ==
        std::vector<std::uint16_t>{0x3c00, 0xc000});
  refuses("128\n", "line 1, column 1: '128' is out of the range of i8", {}, KeyType::i8);
  refuses("1\n2.5\n", "line 2, column 1: '2.5' is no number of type i32", {}, KeyType::i32);
  refuses("1\n-1\n", "'-1' is no number of type u8", {}, KeyType::u8);
}

TEST_CASE("text: an empty field of a float is NaN, and no integer") {
  auto const keys = doubles("1,\n,nan\n-inf,infinity\n");
  REQUIRE(keys.size() == 6);
  CHECK(std::isnan(keys[1]));
  CHECK(std::isnan(keys[2]));
  CHECK(std::isnan(keys[3]));
  CHECK(std::isinf(keys[4]));
  refuses("1,2\n,3\n", "line 2, column 1: '' is no number of type i64", {}, KeyType::i64);
}

}  // namespace
}  // namespace ktopk::testing
