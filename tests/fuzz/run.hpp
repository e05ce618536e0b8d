// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

namespace ktopk::fuzz {

/// Runs cases on one execution space until there is no time left, and prints what failed.
/// \returns the exit status
template <class Exec>
int run_cases(Settings const& settings);

/// Spoils answers in every way; fails unless each is noticed.
template <class Exec>
int run_spoiled(Settings const& settings);

}  // namespace ktopk::fuzz
