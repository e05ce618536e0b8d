// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of few rows, which all blocks of the device share. Measured on an H100 (sm_90).
struct OnePassDeviceTuning {
  int threads = 512;          ///< of a block, of which a processor has one
  int bytes_in_flight = 128;  ///< that a thread loads before it looks at any, where a row is long
  int bytes_of_short = 64;    ///< likewise where it is short
  int rounds = 2;  ///< samples that a thread takes of a long row; of a short one it takes one
  int most_blocks = 128;  ///< of the device that share all rows: they send letters to each other
  int least_parts = 16;   ///< blocks that share a row
  int most_owners = 128;  ///< of them, which put composite keys in order
  int owned = 48;         ///< composite keys that are worth an owner
  int kept = 1024;        ///< composite keys that a block keeps, and as many that do not fit a
                          ///< letter
  int crowded_bin = 64;   ///< composite keys of it, above which they are sorted by a network
  float most_order =
      0.75f;         ///< of the warps, whose best samples are ordered; a threshold beyond is none
  int few_rows = 2;  ///< up to which shorter ones are worth all blocks of the device
  std::int64_t least_n = 1 << 18;          ///< keys of such a row
  std::int64_t least_n_of_more = 3 << 18;  ///< keys of a row where there are more
  std::int64_t most_bytes = 48ll << 20;    ///< of all keys: more are read faster by several kernels

  friend constexpr bool operator==(OnePassDeviceTuning const&,
                                   OnePassDeviceTuning const&) = default;
};

inline constexpr OnePassDeviceTuning one_pass_device_tuning{};

}  // namespace ktopk::detail::cuda
