// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

#include "dispatch/calibration.hpp"

namespace ktopk::tools {

/// What was measured of the implementations of a backend, and how well the model fits the times it was made from.
struct MeasuredFigures {
  detail::CalibratedSpace space;
  std::vector<double> predicted_over_measured;
};

/// Measures the tuned implementations of a backend, if it has some, and the portable ones. Needs a session.
std::vector<MeasuredFigures> measure_figures(std::string const& backend);

}  // namespace ktopk::tools
