// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace ktopk::tools {

/// Something the user gave that cannot be served. what() is one line that ends up on stderr behind "ktopk: ".
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// "what: reason", where reason is the system's word for errno.
Fault system_fault(std::string const& what);

/// Foreign bytes made fit for a terminal: control characters become '?', long text is cut, quotes around it.
std::string in_quotes(std::string_view text);

/// Control characters become '?', so that a message stays on one line.
std::string on_one_line(std::string_view text);

}  // namespace ktopk::tools
