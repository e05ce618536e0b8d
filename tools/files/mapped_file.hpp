// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ktopk::tools {

/// A regular file mapped read-only. Nothing is read until it is touched.
class MappedFile {
 public:
  /// Throws Fault if the file is missing, unreadable or not a regular file.
  explicit MappedFile(std::string const& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  std::span<std::byte const> bytes() const { return m_bytes; }

 private:
  std::span<std::byte const> m_bytes;
};

}  // namespace ktopk::tools
