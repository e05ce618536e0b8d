// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ktopk::tools {

/// A number of keys: "10", or "2.5%" of those of a row.
class Amount {
 public:
  static Amount number(std::int64_t keys) { return {keys, 0}; }

  /// Nothing if the text is neither.
  static std::optional<Amount> parse(std::string_view text);

  bool is_part() const { return m_whole != 0; }

  /// How many of n; a part is rounded up.
  std::int64_t of(std::int64_t n) const;

 private:
  Amount(std::int64_t keys, std::int64_t whole) : m_keys(keys), m_whole(whole) {}

  std::int64_t m_keys;   // or how many of m_whole
  std::int64_t m_whole;  // 0: a number
};

}  // namespace ktopk::tools
