// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ktopk::tools {

/// Reads the few Python literals that a .npy header is made of. Every mismatch throws Fault.
class PythonLiteral {
 public:
  explicit PythonLiteral(std::string_view text) : m_rest(text) {}

  bool next_is(char c);
  bool accept(char c);
  void expect(char c);
  void expect_end();

  std::string_view string();
  bool boolean();
  std::vector<std::int64_t> tuple();

 private:
  void skip_blanks();
  bool accept_word(std::string_view word);
  std::int64_t integer();

  std::string_view m_rest;
};

}  // namespace ktopk::tools
