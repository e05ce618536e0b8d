// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/text_keys.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "files/fault.hpp"
#include "files/number.hpp"
#include "files/records.hpp"

namespace ktopk::tools {
namespace {

using Fields = std::vector<std::string_view>;

std::string separator_name(char separator) {
  if (separator == '\t') return "tabs";
  if (separator == ' ') return "blanks";
  return in_quotes(std::string(1, separator));
}

/// The column that a number from 1 states; nothing if the text is a name.
std::optional<std::size_t> column_number(std::string const& text) {
  std::size_t number = 0;
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

class LineKeys : public KeyStream {
 public:
  LineKeys(std::unique_ptr<ByteSource> bytes, KeyType type, TextLayout const& layout)
      : m_records(std::move(bytes), layout.separator), m_type(type), m_layout(layout) {
    m_has_line = m_records.next();
    if (!m_has_line) throw Fault("is empty");
    m_fields = m_records.fields().size();
    choose_columns();
    if (begins_with_names()) step();
  }

  std::int64_t columns() const { return static_cast<std::int64_t>(m_end - m_first); }

  std::int64_t read(std::byte* target, std::int64_t count) override {
    std::int64_t done = 0;
    for (; done < count && m_has_line; ++done) {
      store(m_column, target + done * width(m_type));
      if (++m_column == m_end) step();
    }
    return done;
  }

 private:
  void choose_columns() {
    m_end = m_fields;
    if (!m_layout.column.empty()) {
      m_first = wanted_column();
      m_end = m_first + 1;
    }
    m_column = m_first;
  }

  std::size_t wanted_column() {
    if (auto const number = column_number(m_layout.column)) return checked(*number) - 1;
    if (m_layout.header == Header::no)
      throw Fault("--column " + in_quotes(m_layout.column) +
                  " is a name, but --no-header says that no line has names");
    m_layout.header = Header::yes;
    auto const& names = m_records.fields();
    auto const is_wanted = [this](std::string_view field) {
      return unquoted(field) == m_layout.column;
    };
    auto const found = std::find_if(names.begin(), names.end(), is_wanted);
    if (found == names.end()) throw Fault("has no column " + in_quotes(m_layout.column) + listed());
    if (std::find_if(found + 1, names.end(), is_wanted) != names.end())
      throw Fault("has several columns " + in_quotes(m_layout.column) +
                  "; give a number from 1 to " + std::to_string(m_fields));
    return static_cast<std::size_t>(found - names.begin());
  }

  std::size_t checked(std::size_t number) const {
    if (number < 1 || number > m_fields)
      throw Fault("has no column " + std::to_string(number) + ": its first line has " +
                  std::to_string(m_fields) + " fields, separated by " +
                  separator_name(m_layout.separator));
    return number;
  }

  /// "; its first line has 'a', 'b', …"
  std::string listed() const {
    constexpr std::size_t most = 8;
    std::string names;
    auto const& fields = m_records.fields();
    for (std::size_t i = 0; i < std::min(most, fields.size()); ++i)
      names += (i == 0 ? "; its first line has " : ", ") + in_quotes(unquoted(fields[i]));
    return names + (fields.size() > most ? ", …" : "");
  }

  bool begins_with_names() const {
    if (m_layout.header != Header::detect) return m_layout.header == Header::yes;
    auto const& fields = m_records.fields();
    return std::none_of(fields.begin() + static_cast<std::ptrdiff_t>(m_first),
                        fields.begin() + static_cast<std::ptrdiff_t>(m_end),
                        [this](std::string_view field) { return is_number(field); });
  }

  bool is_number(std::string_view field) const {
    std::byte key[8];
    if (field.empty()) return false;
    return read_key(field, m_type, key) != Misread::not_a_number ||
           read_key(field, KeyType::f64, key) != Misread::not_a_number;
  }

  void step() {
    m_has_line = m_records.next();
    m_column = m_first;
    auto const found = m_records.fields().size();
    if (m_has_line && found != m_fields)
      throw Fault(line() + " has " + std::to_string(found) + (found == 1 ? " field" : " fields") +
                  ", but the first line has " + std::to_string(m_fields));
  }

  void store(std::size_t column, std::byte* key) const {
    auto const field = m_records.fields()[column];
    auto const misread = read_key(field, m_type, key);
    if (misread == Misread::no) return;
    auto const where = line() + ", column " + std::to_string(column + 1) + ": ";
    if (misread == Misread::out_of_range)
      throw Fault(where + in_quotes(field) + " is out of the range of " + name(m_type));
    throw Fault(where + in_quotes(field) + " is no number of type " + name(m_type) + advice());
  }

  /// A line that was not split at all was probably meant to be; of several columns perhaps one has keys.
  std::string advice() const {
    if (m_fields == 1)
      return "; fields are separated by " + separator_name(m_layout.separator) + " (--sep)";
    return m_layout.column.empty() ? "; --column names the one that has the keys" : "";
  }

  std::string line() const { return "line " + std::to_string(m_records.line()); }

  Records m_records;
  KeyType m_type;
  TextLayout m_layout;
  std::size_t m_fields = 0;  // of a line
  std::size_t m_first = 0, m_end = 0;
  std::size_t m_column = 0;
  bool m_has_line = false;
};

}  // namespace

TextKeys read_text(std::unique_ptr<ByteSource> bytes, KeyType type, TextLayout const& layout) {
  auto keys = std::make_unique<LineKeys>(std::move(bytes), type, layout);
  auto const columns = keys->columns();
  return {std::move(keys), columns};
}

}  // namespace ktopk::tools
