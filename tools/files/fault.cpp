// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/fault.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace ktopk::tools {

Fault system_fault(std::string const& what) {
  return Fault(what + ": " + std::generic_category().message(errno));
}

std::string on_one_line(std::string_view text) {
  std::string line(text);
  auto const is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(line.begin(), line.end(), is_control, '?');
  return line;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t most = 40;
  auto const cut = text.size() > most;
  std::string result = on_one_line(text.substr(0, most));
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c >= 0x80; }, '?');
  return "'" + result + (cut ? "…'" : "'");
}

}  // namespace ktopk::tools
