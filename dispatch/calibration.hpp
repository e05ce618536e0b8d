// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
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

/// Reads a regular file of at most 64 KB; one that is written takes about 2 KB for each space.
/// \throws std::invalid_argument with the path, the line and its text, if the file cannot be read, is larger, is
///         malformed, is of another version, or lacks a figure of a space that it names
Calibration read_calibration(std::string const& path);

/// What KTOPK_CALIBRATION names.
struct NamedCalibration {
  std::shared_ptr<Calibration const>
      calibration;    ///< nothing where the variable is not set, or names a bad file
  std::string fault;  ///< what is bad about the file
};

/// The first call reads the file; threads may call at once.
NamedCalibration named_calibration();

/// \throws std::invalid_argument if the calibration has no figures of these implementations
Figures const& figures_of_space(Calibration const& calibration, std::string const& space,
                                bool tuned);

/// The figures of the named calibration; nothing where there are none. Where the file is of no use for the space, a line
/// on stderr says so, once a process and reason.
std::optional<Figures> calibrated_figures(std::string const& space, bool tuned);

}  // namespace ktopk::detail
