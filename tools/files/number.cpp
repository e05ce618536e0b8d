// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/number.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ktopk/float16.hpp>
#include <limits>
#include <string>
#include <type_traits>

namespace ktopk::tools {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr char const* blanks = " \t\r";
  auto const first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string_view without_plus(std::string_view text) {
  bool const has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return text.substr(has_plus ? 1 : 0);
}

/// What is too large or too small for the type becomes infinite or zero, which from_chars leaves open.
template <class T>
T rounded(std::string_view text) {
  std::string const terminated(text);
  if constexpr (std::is_same_v<T, float>)
    return std::strtof(terminated.c_str(), nullptr);
  else
    return std::strtod(terminated.c_str(), nullptr);
}

template <class T>
Misread parse(std::string_view text, T& value) {
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || stop != end) return Misread::not_a_number;
  if (error != std::errc::result_out_of_range) return Misread::no;
  if constexpr (std::is_integral_v<T>)
    return Misread::out_of_range;
  else
    value = rounded<T>(text);
  return Misread::no;
}

template <class T, class Key = T>
Misread store(std::string_view text, std::byte* key) {
  T value{};
  Misread result = Misread::no;
  if (!std::is_integral_v<T> && text.empty())
    value = std::numeric_limits<T>::quiet_NaN();
  else
    result = parse(text, value);
  auto const stored = Key(value);
  std::memcpy(key, &stored, sizeof stored);
  return result;
}

}  // namespace

Misread read_key(std::string_view text, KeyType type, std::byte* key) {
  text = without_plus(without_blanks(text));
  switch (type) {
    case KeyType::f16: return store<float, float16>(text, key);
    case KeyType::bf16: return store<float, bfloat16>(text, key);
    case KeyType::f32: return store<float>(text, key);
    case KeyType::f64: return store<double>(text, key);
    case KeyType::i8: return store<std::int8_t>(text, key);
    case KeyType::i16: return store<std::int16_t>(text, key);
    case KeyType::i32: return store<std::int32_t>(text, key);
    case KeyType::i64: return store<std::int64_t>(text, key);
    case KeyType::u8: return store<std::uint8_t>(text, key);
    case KeyType::u16: return store<std::uint16_t>(text, key);
    case KeyType::u32: return store<std::uint32_t>(text, key);
    case KeyType::u64: return store<std::uint64_t>(text, key);
  }
  return Misread::not_a_number;
}

}  // namespace ktopk::tools
