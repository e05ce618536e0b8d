// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

#include "cost_model.hpp"

namespace ktopk::detail {

/// Which tuned implementations of the device's backend support a shape.
struct TunedAlgorithms {
  bool one_pass = false;
  bool bisection = false;
  bool radix = false;
  bool heap = false;
  bool queue = false;
};

/// The algorithm that runs if the caller asks for `automatic`. A pure function.
Algorithm choose(Device const& device, Shape const& shape, TunedAlgorithms const& tuned);

/// The same by figures that were measured on the machine: of the algorithms that the other may choose, the one of least
/// predicted time. The figures are those of the tuned implementations if their radix, which serves all shapes, is there.
Algorithm choose(Device const& device, Shape const& shape, TunedAlgorithms const& tuned,
                 Figures const& figures);

}  // namespace ktopk::detail
