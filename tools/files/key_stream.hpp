// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "files/byte_source.hpp"
#include "files/key_type.hpp"

namespace ktopk::tools {

/// Keys that come one after another and can be read once.
class KeyStream {
 public:
  virtual ~KeyStream() = default;

  /// Stores up to so many keys, fewer only at the end, and returns how many.
  virtual std::int64_t read(std::byte* target, std::int64_t count) = 0;
};

/// Keys in binary, little-endian. If their number is known, the stream has to end behind the last: else read() throws
/// Fault.
/// \param expected  how many there are, or -1: all that come
std::unique_ptr<KeyStream> binary_keys(std::unique_ptr<ByteSource> bytes, KeyType type,
                                       std::int64_t expected);

}  // namespace ktopk::tools
