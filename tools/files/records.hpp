// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/byte_source.hpp"

namespace ktopk::tools {

/// The lines of a text file, split into fields. A field in double quotes may hold separators, line ends and doubled quotes.
/// Empty lines are skipped, and so is a byte order mark. The separator ' ' stands for any run of spaces and tabs.
class Records {
 public:
  Records(std::unique_ptr<ByteSource> bytes, char separator);

  /// Reads the next line; false at the end. Throws Fault if a quoted field has no end.
  bool next();

  /// Its fields without their quotes; quotes in them stay double. Valid until the next call of next().
  std::vector<std::string_view> const& fields() const { return m_fields; }

  /// Its number in the file, from 1.
  std::int64_t line() const { return m_line; }

 private:
  std::optional<std::string_view> take_record();
  std::optional<std::size_t> split(std::string_view text);
  std::optional<std::size_t> take_field(std::string_view text, std::size_t begin);
  std::optional<std::size_t> field_end(std::string_view text, std::size_t begin) const;
  bool is_end(char c) const;
  void read_further();

  std::unique_ptr<ByteSource> m_bytes;
  char m_separator;
  std::string m_text;       // what was read
  std::size_t m_begin = 0;  // of the next record in it
  bool m_is_all = false;    // whether nothing follows it
  std::int64_t m_line = 0;
  std::int64_t m_next_line = 1;
  std::vector<std::string_view> m_fields;
};

/// A field with its doubled quotes made single.
std::string unquoted(std::string_view field);

}  // namespace ktopk::tools
