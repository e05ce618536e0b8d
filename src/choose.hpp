// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

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

}  // namespace ktopk::detail
