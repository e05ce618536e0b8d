// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "key_text.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ktopk::testing {
namespace {

using namespace tools;

template <class T>
std::string text(KeyType type, T value) {
  return key_text(type, reinterpret_cast<std::byte const*>(&value));
}

TEST_CASE("key text: every type in decimal, shortest that reads back") {
  CHECK(text(KeyType::f16, std::uint16_t{0x3c00}) == "1");
  CHECK(text(KeyType::bf16, std::uint16_t{0xc040}) == "-3");
  CHECK(text(KeyType::f32, 0.1f) == "0.1");
  CHECK(text(KeyType::f64, 0.1) == "0.1");
  CHECK(text(KeyType::f64, 1e300) == "1e+300");
  CHECK(text(KeyType::i8, std::int8_t{-128}) == "-128");
  CHECK(text(KeyType::i16, std::int16_t{-32768}) == "-32768");
  CHECK(text(KeyType::i32, std::int32_t{-7}) == "-7");
  CHECK(text(KeyType::i64, std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(text(KeyType::u8, std::uint8_t{255}) == "255");
  CHECK(text(KeyType::u16, std::uint16_t{65535}) == "65535");
  CHECK(text(KeyType::u32, std::uint32_t{4294967295u}) == "4294967295");
  CHECK(text(KeyType::u64, std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("key text: the values that are no ordinary numbers") {
  CHECK(text(KeyType::f32, std::nanf("")) == "nan");
  CHECK(text(KeyType::f64, -std::nan("")) == "nan");
  CHECK(text(KeyType::f16, std::uint16_t{0xfc00}) == "-inf");
  CHECK(text(KeyType::f32, -0.0f) == "-0");
}

}  // namespace
}  // namespace ktopk::testing
