// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "files/byte_source.hpp"
#include "files/key_stream.hpp"
#include "files/key_type.hpp"

namespace ktopk::tools {

/// Whether the first line of a text file names its columns. `detect`: it does if no field that is used is a number.
enum class Header { detect, yes, no };

/// How keys are written in a text file.
struct TextLayout {
  char separator = ',';
  Header header = Header::detect;
  std::string column = {};  ///< its name, or its number from 1; empty: all columns are keys
};

/// Keys of a text file, line after line.
struct TextKeys {
  std::unique_ptr<KeyStream> keys;
  std::int64_t columns = 0;  ///< keys of a line
};

/// Reads the first line. Throws Fault, as the stream does later: for a column that is not there, a line of another number of
/// fields, and a field that is no number.
TextKeys read_text(std::unique_ptr<ByteSource> bytes, KeyType type, TextLayout const& layout);

}  // namespace ktopk::tools
