// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace ktopk::tools {

/// From now on a signal that ends the program (SIGINT, SIGTERM, SIGHUP, SIGBUS) removes the doomed files first. SIGBUS,
/// which a mapped file raises when it has shrunk or its disk fails, ends the program with one line on stderr and status 2.
void handle_signals(std::string const& input_path);

/// Adds a file to remove. Paths that are too long, and a fifth one, are not removed.
void doom(std::string const& path);

/// A file that was doomed, and is not any more.
void spare(std::string const& path);

}  // namespace ktopk::tools
