// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

namespace ktopk::tools {

/// A file that appears under its name complete or not at all: written beside it under a temporary name, renamed by commit().
/// Without commit() the destructor removes what was written. Faults begin with the path.
class OutputFile {
 public:
  explicit OutputFile(std::string const& path);
  ~OutputFile();
  OutputFile(OutputFile const&) = delete;
  OutputFile& operator=(OutputFile const&) = delete;

  void write(std::span<std::byte const> bytes);
  void commit();

 private:
  std::string m_path;
  std::string m_temporary;
  std::FILE* m_file = nullptr;
};

}  // namespace ktopk::tools
