// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/mapped_file.hpp"

namespace ktopk::tools {

/// Bytes that come one after another and can be read once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills the target; returns how many bytes it has, fewer only at the end. Throws Fault if they cannot be read.
  std::size_t read(std::span<std::byte> target);

  /// The next bytes, up to so many, without taking them.
  std::span<std::byte const> peek(std::size_t count);

  /// All that follows.
  std::vector<std::byte> read_all();

 private:
  /// Reads some bytes; 0 at the end.
  virtual std::size_t read_some(std::span<std::byte> target) = 0;

  std::size_t read_further(std::span<std::byte> target);

  std::vector<std::byte> m_peeked;
};

/// What a pipe, a terminal or a device gives; "-" is standard input.
std::unique_ptr<ByteSource> open_stream(std::string const& path);

/// The bytes of a mapped file, which it keeps.
std::unique_ptr<ByteSource> bytes_of_file(MappedFile file);

}  // namespace ktopk::tools
