// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "scratch_folder.hpp"

namespace ktopk::testing {

struct Outcome {
  int status = -1;  ///< exit status, or -1 if a signal ended the command
  std::string out;
  std::string err;
};

/// Runs the command ktopk in a folder; it may write files of at most so many bytes. The input comes from a pipe.
Outcome run_command(ScratchFolder const& folder, std::vector<std::string> arguments,
                    long largest_file = -1, std::string const& input = "");

/// Skips the test where the command needs a device, or its driver, that is not there.
void require_device();

/// What the build was configured with, in lower case.
std::vector<std::string> backends();
std::vector<std::string> algorithms();

}  // namespace ktopk::testing
