// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

namespace ktopk::tools {

/// A file that appears under its name complete or not at all: written beside it under a temporary name, renamed by commit().
/// Without commit() the destructor removes what was written. Faults begin with the path.
/// Standard output (-, /dev/stdout), other streams of this process (/dev/fd/3), devices and pipes are not replaced: they
/// are written to at once.
class OutputFile {
 public:
  explicit OutputFile(std::string const& path);
  ~OutputFile();
  OutputFile(OutputFile const&) = delete;
  OutputFile& operator=(OutputFile const&) = delete;

  void write(std::span<std::byte const> bytes);
  void commit();
  bool is_terminal() const;

 private:
  int open_temporary(std::string const& path);

  std::string m_path;
  std::string m_temporary;  ///< empty where the file is written in place
  std::FILE* m_file = nullptr;
};

}  // namespace ktopk::tools
