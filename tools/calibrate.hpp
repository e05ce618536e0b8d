// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace ktopk::tools {

struct CalibrateRequest {
  std::string output;   ///< empty: standard output
  std::string backend;  ///< empty: all of this build
};

/// Measures the figures that the choice reads where KTOPK_CALIBRATION names them, and writes them.
void calibrate(CalibrateRequest const& request);

/// The file that KTOPK_CALIBRATION names, with what it has figures of, or why it is not used; "none" without it.
std::string describe_calibration();

}  // namespace ktopk::tools
