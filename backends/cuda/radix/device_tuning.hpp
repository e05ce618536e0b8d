// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the radix of few rows, which all blocks of the device share.
struct RadixDeviceTuning {
  float most_order = 0.92f;              ///< of the warps, whose best samples are ordered
  int most_kept = 4000;                  ///< keys that a block keeps; letters count to 4095
  std::int64_t most_rows = 8;            ///< that share the device
  std::int64_t least_n = 1 << 17;        ///< keys of a row
  std::int64_t most_bytes = 24ll << 20;  ///< of all keys

  friend constexpr bool operator==(RadixDeviceTuning const&, RadixDeviceTuning const&) = default;
};

inline constexpr RadixDeviceTuning radix_device_tuning{};

}  // namespace ktopk::detail::cuda
