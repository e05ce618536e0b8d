// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/records.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "files/fault.hpp"

namespace ktopk::tools {
namespace {

constexpr std::size_t piece = std::size_t{1} << 18;
constexpr std::size_t longest_line = std::size_t{1} << 28;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr auto nowhere = std::string_view::npos;

std::size_t closing_quote(std::string_view text, std::size_t opening) {
  auto at = text.find('"', opening + 1);
  while (at != nowhere && text.substr(at + 1).starts_with('"')) at = text.find('"', at + 2);
  return at;
}

/// What is between two separators, or the last of them and the line end, without the quotes around all of it.
std::string_view field_in(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  bool const is_quoted = text.starts_with('"') && closing_quote(text, 0) == text.size() - 1;
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

Records::Records(std::unique_ptr<ByteSource> bytes, char separator)
    : m_bytes(std::move(bytes)), m_separator(separator) {
  read_further();
  if (m_text.starts_with(byte_order_mark)) m_begin = byte_order_mark.size();
}

bool Records::next() {
  while (auto const record = take_record()) {
    m_line = m_next_line;
    m_next_line += std::count(record->begin(), record->end(), '\n');
    bool const is_empty = m_fields.empty() || record->find_first_not_of("\r\n") == nowhere;
    if (!is_empty) return true;
  }
  return false;
}

/// Fills the fields. Returns the text of the record with its line end, or nothing at the end.
std::optional<std::string_view> Records::take_record() {
  for (;;) {
    auto const rest = std::string_view(m_text).substr(m_begin);
    if (rest.empty() && m_is_all) return std::nullopt;
    if (auto const size = split(rest)) {
      m_begin += *size;
      return rest.substr(0, *size);
    }
    read_further();
  }
}

void Records::read_further() {
  m_text.erase(0, m_begin);
  m_begin = 0;
  auto const size = m_text.size();
  if (size > longest_line)
    throw Fault("line " + std::to_string(m_next_line) + " is longer than 256 MiB");
  m_text.resize(size + std::max(piece, size));
  auto const target = std::as_writable_bytes(std::span(m_text)).subspan(size);
  auto const count = m_bytes->read(target);
  m_is_all = count < target.size();
  m_text.resize(size + count);
}

/// Fills the fields with those of the record that the text begins with. Returns its size with the line end, or nothing if
/// its end is not there yet.
std::optional<std::size_t> Records::split(std::string_view text) {
  m_fields.clear();
  std::size_t begin = 0;
  for (;;) {
    auto const end = take_field(text, begin);
    if (!end) return std::nullopt;
    if (*end == text.size()) return text.size();
    if (text[*end] == '\n') return *end + 1;
    begin = *end + 1;
  }
}

/// Adds the field that begins there. Returns the place of the separator or line end behind it.
std::optional<std::size_t> Records::take_field(std::string_view text, std::size_t begin) {
  bool const in_blanks = m_separator == ' ';
  if (in_blanks) begin = std::min(text.find_first_not_of(" \t", begin), text.size());
  auto const end = field_end(text, begin);
  if (!end) return std::nullopt;
  auto const field = text.substr(begin, *end - begin);
  if (!in_blanks || field.find_first_not_of('\r') != nowhere) m_fields.push_back(field_in(field));
  return end;
}

std::optional<std::size_t> Records::field_end(std::string_view text, std::size_t begin) const {
  auto search = begin;
  if (text.substr(begin).starts_with('"')) {
    search = closing_quote(text, begin);
    if (search == nowhere && m_is_all)
      throw Fault("line " + std::to_string(m_next_line) + ": a quoted field has no end");
    if (search == nowhere) return std::nullopt;
  }
  auto const from = text.begin() + static_cast<std::ptrdiff_t>(search);
  auto const end = std::find_if(from, text.end(), [this](char c) { return is_end(c); });
  if (end == text.end() && !m_is_all) return std::nullopt;
  return static_cast<std::size_t>(end - text.begin());
}

bool Records::is_end(char c) const {
  return c == m_separator || c == '\n' || (m_separator == ' ' && c == '\t');
}

std::string unquoted(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    text += field[i];
    if (field.substr(i).starts_with("\"\"")) ++i;
  }
  return text;
}

}  // namespace ktopk::tools
