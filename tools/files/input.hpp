// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "files/source.hpp"
#include "files/text_keys.hpp"

namespace ktopk::tools {

/// What a file holds. `by_name`: what its extension says; standard input and pipes, which have none, hold .npy if they begin
/// so, else raw keys if a type is given, else text with commas.
enum class Content { by_name, npy, fvecs, bvecs, ivecs, csv, tsv, text, raw };

/// What the user states about the files beyond their names.
struct InputDescription {
  Content content = Content::by_name;
  std::string type;       ///< of raw keys and of text; else empty
  std::string shape;      ///< of raw keys; else empty
  std::string separator;  ///< of text; empty: by the content
  std::string column;     ///< of text; see TextLayout
  Header header = Header::detect;
};

/// The file as messages name it.
std::string display_name(std::string const& path);

/// Opens files; several are one row, one after another. A regular file is mapped, what is none is read as a stream. Throws
/// Fault whose message begins with a path.
std::unique_ptr<Source> open_inputs(std::vector<std::string> const& paths,
                                    InputDescription const& description);

}  // namespace ktopk::tools
