// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "calibrate.hpp"
#include "info.hpp"
#include "select.hpp"

namespace ktopk::tools {

/// What the command line asks for. The subcommand that was parsed is true.
struct CommandLine {
  CLI::App app;
  SelectRequest select;
  CalibrateRequest calibrate;
  ExplainRequest explain;
  std::string shell;

  CommandLine();
  CommandLine(CommandLine const&) = delete;
  CommandLine& operator=(CommandLine const&) = delete;

  /// Throws CLI::Error.
  void parse(int argc, char** argv);

  bool has(char const* subcommand) const { return app.got_subcommand(subcommand); }
};

/// The words that an option's value is one of, or none.
std::vector<std::string> words_of(CLI::Option const& option);

/// Whether an option's value, or an argument, names a file.
bool names_file(CLI::Option const& option);

}  // namespace ktopk::tools
