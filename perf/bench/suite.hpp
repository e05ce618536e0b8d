// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ktopk::perf {

/// The lists whose combinations are measured, as the command line names them.
struct Suite {
  std::vector<std::string> backends{"all"};
  std::vector<std::string> methods{"automatic", "baselines"};
  std::vector<std::string> types{"f32"};
  std::vector<std::string> inputs{"uniform", "normal", "leading_bits"};
  std::vector<std::string> rows{"1"};
  std::vector<std::string> ns{"2^20", "2^23", "2^26"};
  std::vector<std::string> ks{"10", "1000", "100000"};
  std::vector<std::string> sorted{"no"};
  std::vector<std::string> ties{"lowest_index"};
  std::vector<std::string> implementations{"tuned"};
  std::vector<std::string> layouts{"right"};
  std::vector<std::string> lengths{"even"};
  std::vector<std::string> caches{"warm"};
  std::vector<std::string> recalls{"1"};
  std::vector<std::string> keys{"plain"};
  std::vector<std::string> masks{"1"};
  std::vector<std::string> asks{"top_k"};
};

void print_usage();

/// Takes the suite's flags out of the arguments; what is left is Google Benchmark's.
/// \throws std::invalid_argument for an empty list
Suite parse_suite(int& argc, char** argv);

/// All combinations with k <= n, those that share their keys side by side.
/// \throws std::invalid_argument for an unknown name or number
std::vector<Case> cases(Suite const& suite);

}  // namespace ktopk::perf
