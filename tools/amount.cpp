// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "amount.hpp"

#include <charconv>

namespace ktopk::tools {
namespace {

std::optional<std::int64_t> natural(std::string_view text) {
  std::int64_t value = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

/// 10 to the number of digits.
std::int64_t scale_of(std::string_view digits) {
  std::int64_t scale = 1;
  for ([[maybe_unused]] char const digit : digits) scale *= 10;
  return scale;
}

}  // namespace

std::optional<Amount> Amount::parse(std::string_view text) {
  constexpr std::size_t most_digits = 12;
  if (!text.ends_with('%')) {
    auto const keys = natural(text);
    return keys ? std::optional(number(*keys)) : std::nullopt;
  }
  text.remove_suffix(1);
  auto const point = std::min(text.find('.'), text.size());
  auto const fraction = text.substr(std::min(point + 1, text.size()));
  if (fraction.size() > most_digits || fraction.starts_with('-')) return std::nullopt;
  auto const percent = natural(text.substr(0, point));
  auto const rest = fraction.empty() ? std::optional<std::int64_t>(0) : natural(fraction);
  auto const scale = scale_of(fraction);
  if (!percent || !rest || *percent > 100 || (*percent == 100 && *rest > 0)) return std::nullopt;
  return Amount(*percent * scale + *rest, 100 * scale);
}

// In integers, because 1.1 % of 1000 in double is more than 11.
std::int64_t Amount::of(std::int64_t n) const {
  if (m_whole == 0) return m_keys;
  auto const product = static_cast<unsigned __int128>(m_keys) * static_cast<unsigned __int128>(n);
  auto const whole = static_cast<unsigned __int128>(m_whole);
  return static_cast<std::int64_t>((product + whole - 1) / whole);
}

}  // namespace ktopk::tools
