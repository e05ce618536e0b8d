// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// What may be tuned in the one_pass of rows whose keys lie side by side.
struct OnePassColumnsTuning {
  int threads = 512;               ///< in a block whose warps finish rows
  int blocks = 2;                  ///< of these that a processor holds
  int most_rows = 32;              ///< of a group; a line of memory holds as many keys of 32 bits
  int few_rows = 8;                ///< of a group at least; a sector of memory holds as many
  unsigned few_kept = 2;           ///< of a thread's keys, which it reads again
  int most_parts = 16;             ///< blocks that share a group: sm_90's largest cluster
  int least_part = 1024;           ///< positions that are worth a block
  int kept_by_warp = 640;          ///< keys of a row, of which a warp can select in registers
  int most_k_of_warp = 128;        ///< a warp ranks them by comparing each with all others
  int longest_of_warp = 8192;      ///< keys of a row that a warp finishes
  int rows_for_warps = 128;        ///< from so many rows on warps finish them
  int most_slot_samples = 16;      ///< of which a slot holds the best
  double slot_share = 0.22;        ///< of the slots that k keys should reach, about
  double unproven_share = 1e-5;    ///< of the rows, for which too few or too many keys are kept
  double row_cycles = 13000;       ///< to sample and finish a row by a block, on an H200
  double bytes_a_cycle = 18;       ///< that a block reads of whole lines
  double line = 256;               ///< bytes at once, with which it reads most
  double share_of_sectors = 0.45;  ///< of that, which it reads of single sectors
  double processors_in_clusters = 0.9;  ///< a share: some do not fit a cluster
  int kept_deviations = 5;              ///< of the mean, for which a block has memory of a row

  friend constexpr bool operator==(OnePassColumnsTuning const&,
                                   OnePassColumnsTuning const&) = default;
};

inline constexpr OnePassColumnsTuning one_pass_columns_tuning{};

}  // namespace ktopk::detail::cuda
