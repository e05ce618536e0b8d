// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/select.hpp>
#include <ktopk/inputs.hpp>
#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

/// \file
/// What a call would run.

namespace ktopk {

/// What runs for a shape, and why nothing else does.
struct Explanation {
  /// A line of the table that does not serve.
  struct Declined {
    std::string kernel;
    std::string reason;
  };

  std::string kernel;  ///< its profiling label, or what begins the labels of its kernels
  Algorithm algorithm = Algorithm::automatic;  ///< automatic only where nothing runs
  bool tuned = false;  ///< whether it is of this backend, not of the portable ones
  /// What this kernel needs; ktopk::workspace_bytes is for all layouts.
  std::size_t workspace_bytes = 0;
  /// The earlier lines of the algorithm that is wanted, and of radix where that serves in its place.
  std::vector<Declined> declined;
};

/// Explains which kernel a call of this shape runs on this instance: the first line of the backend's table that can select
/// from it. The call and a Plan decide by the same table. A shape that is not `packed` is explained for rows whose keys lie
/// side by side, as in LayoutLeft.
/// Launches nothing, allocates the result alone. The result is empty where there is nothing to select.
/// \throws std::invalid_argument as workspace_bytes
template <detail::ExecutionSpace Exec>
Explanation explain(Exec const& exec, Shape const& shape, Options const& options = {}) {
  Shape const settled = detail::settled(shape, options);
  detail::check_sizes("ktopk::explain", settled);
  detail::check_options("ktopk::explain", options);
  return detail::explain(exec, settled, detail::settled(options));
}

/// Some lines for people: the kernel and its workspace, then each line that declined and why.
std::string to_string(Explanation const& explanation);

}  // namespace ktopk
