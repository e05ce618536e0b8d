// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace ktopk::tools {

/// A file that is open for reading; "-" is standard input. Throws Fault if it cannot be opened.
class Descriptor {
 public:
  explicit Descriptor(std::string const& path);
  ~Descriptor();
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;
  int get() const { return m_fd; }

 private:
  int m_fd;
};

/// Whether a path names a regular file. Throws Fault if nothing has the name, or a directory.
bool can_be_mapped(std::string const& path);

}  // namespace ktopk::tools
