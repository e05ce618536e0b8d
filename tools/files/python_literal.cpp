// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/python_literal.hpp"

#include <charconv>

#include "files/fault.hpp"

namespace ktopk::tools {

void PythonLiteral::skip_blanks() {
  auto const first = m_rest.find_first_not_of(" \t\r\n");
  m_rest.remove_prefix(first == std::string_view::npos ? m_rest.size() : first);
}

bool PythonLiteral::next_is(char c) {
  skip_blanks();
  return m_rest.starts_with(c);
}

bool PythonLiteral::accept(char c) {
  if (!next_is(c)) return false;
  m_rest.remove_prefix(1);
  return true;
}

void PythonLiteral::expect(char c) {
  if (!accept(c))
    throw Fault("its header cannot be read: expected '" + std::string(1, c) + "' before " +
                in_quotes(m_rest));
}

void PythonLiteral::expect_end() {
  skip_blanks();
  if (!m_rest.empty()) throw Fault("its header cannot be read: unexpected " + in_quotes(m_rest));
}

std::string_view PythonLiteral::string() {
  skip_blanks();
  char const quote = m_rest.starts_with('"') ? '"' : '\'';
  expect(quote);
  auto const end = m_rest.find(quote);
  if (end == std::string_view::npos) throw Fault("its header cannot be read: a string has no end");
  auto const text = m_rest.substr(0, end);
  m_rest.remove_prefix(end + 1);
  return text;
}

bool PythonLiteral::accept_word(std::string_view word) {
  skip_blanks();
  if (!m_rest.starts_with(word)) return false;
  m_rest.remove_prefix(word.size());
  return true;
}

bool PythonLiteral::boolean() {
  if (accept_word("True")) return true;
  if (accept_word("False")) return false;
  throw Fault("its header cannot be read: expected True or False before " + in_quotes(m_rest));
}

std::int64_t PythonLiteral::integer() {
  skip_blanks();
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(m_rest.data(), m_rest.data() + m_rest.size(), value);
  if (error != std::errc() || value < 0)
    throw Fault("its header has an impossible extent in its shape: " + in_quotes(m_rest));
  m_rest.remove_prefix(static_cast<std::size_t>(end - m_rest.data()));
  accept_word("L");  // Python 2 wrote long integers so
  return value;
}

std::vector<std::int64_t> PythonLiteral::tuple() {
  std::vector<std::int64_t> values;
  expect('(');
  while (!accept(')')) {
    values.push_back(integer());
    if (!accept(',')) {
      expect(')');
      break;
    }
  }
  return values;
}

}  // namespace ktopk::tools
