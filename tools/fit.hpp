// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <vector>

namespace ktopk::tools {

/// A time that was measured, the part of it that is known, and how much of each sought figure it holds.
struct TimedEffort {
  double known;
  std::array<double, 3> amounts;
  double measured;
};

using Fitted = std::array<double, 3>;

double predicted(TimedEffort const& timed, Fitted const& figures);

/// The positive figures for which the predicted times are nearest to the measured ones, by their ratios: a prediction of
/// half the time is as wrong as one of twice the time.
Fitted fit(std::vector<TimedEffort> const& all);

}  // namespace ktopk::tools
