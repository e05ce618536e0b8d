// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace ktopk::tools {

/// A script that completes the parser's subcommands, options and their words in "bash" or "zsh".
std::string completion_for(CLI::App const& app, std::string const& shell);

/// The parser's help as a manual page, in the language of man.
std::string manual_page(CLI::App const& app);

}  // namespace ktopk::tools
