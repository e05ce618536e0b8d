// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "cost_model.hpp"

// The file of figures that `ktopk calibrate` writes and the choice reads when the environment variable
// KTOPK_CALIBRATION names it. docs/command.md describes its form.

namespace ktopk::detail {

/// The figures of the tuned or of the portable implementations of an execution space.
struct CalibratedSpace {
  std::string name;  ///< by Kokkos: "OpenMP"
  bool tuned = false;
  Figures figures;
};

struct Calibration {
  std::string path;
  std::vector<CalibratedSpace> spaces;
};

/// Whether the figures of a space are those of the tuned implementations for hosts.
bool is_tuned_for_hosts(std::string const& space, bool tuned);

/// \param about  lines "name: value" on the origin of the figures; what version() returns goes before them
void write_calibration(std::ostream& out, std::string const& about,
                       std::vector<CalibratedSpace> const& spaces);

/// \throws std::invalid_argument with the function, the path, the line and its text, if the file cannot be read, is
///         malformed, is of another version, or lacks a figure of a space that it names
Calibration read_calibration(char const* function, std::string const& path);

/// The file that KTOPK_CALIBRATION names, read by the first call that succeeds; nothing where the variable is not set.
/// \throws as read_calibration
std::shared_ptr<Calibration const> named_calibration(char const* function);

/// \throws std::invalid_argument if the calibration has no figures of these implementations
Figures const& figures_of_space(char const* function, Calibration const& calibration,
                                std::string const& space, bool tuned);

}  // namespace ktopk::detail
