// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "case.hpp"

namespace ktopk::fuzz {

/// What the command line asks for.
struct Settings {
  double seconds = 10;
  std::int64_t calls = 0;  ///< of a run; 0: as many as there is time for
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> one_case;
  Filter filter;
  Limits limits;
  bool busy = false, spoil = false, help = false;
  double limit = 10;  ///< seconds that a call may take
  std::int64_t most_failures = 10;
  std::string space;  ///< empty: the default one
};

extern char const* const usage;

/// \throws std::invalid_argument
Settings parse(int argc, char** argv);

/// The command line that repeats a case, without the case's seed.
std::string repeat_command(Settings const& settings, std::string const& space);

}  // namespace ktopk::fuzz
