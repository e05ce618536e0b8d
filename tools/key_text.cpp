// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "key_text.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ktopk/float16.hpp>
#include <type_traits>

namespace ktopk::tools {
namespace {

template <class T>
T load(std::byte const* key) {
  T value;
  std::memcpy(&value, key, sizeof value);
  return value;
}

template <class T>
std::string text(T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(value)) return "nan";
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return {digits, end};
}

}  // namespace

std::string key_text(KeyType type, std::byte const* key) {
  switch (type) {
    case KeyType::f16:
      return text(static_cast<float>(float16::from_bits(load<std::uint16_t>(key))));
    case KeyType::bf16:
      return text(static_cast<float>(bfloat16::from_bits(load<std::uint16_t>(key))));
    case KeyType::f32: return text(load<float>(key));
    case KeyType::f64: return text(load<double>(key));
    case KeyType::i8: return text(load<std::int8_t>(key));
    case KeyType::i16: return text(load<std::int16_t>(key));
    case KeyType::i32: return text(load<std::int32_t>(key));
    case KeyType::i64: return text(load<std::int64_t>(key));
    case KeyType::u8: return text(load<std::uint8_t>(key));
    case KeyType::u16: return text(load<std::uint16_t>(key));
    case KeyType::u32: return text(load<std::uint32_t>(key));
    case KeyType::u64: return text(load<std::uint64_t>(key));
  }
  return {};
}

}  // namespace ktopk::tools
