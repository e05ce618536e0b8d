// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../backends/host/rows_in_cache.hpp"
#include "group.hpp"

namespace ktopk::detail {

inline bool are_short_rows(Device const& device, Shape const& shape) {
  return device.host && are_short_rows(shape);
}

}  // namespace ktopk::detail
