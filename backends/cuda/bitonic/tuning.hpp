// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace ktopk::detail::cuda {

/// The places of a tile's keys in shared memory, such that the threads of a warp access different banks.
enum class BitonicPlacement {
  plain,
  padded,   ///< a word is left out behind each 16
  permuted  ///< chunks of 16 bytes change places, and are read and written whole
};

/// What may be tuned in the CUDA bitonic. It is a type, so that kernels can be compiled for several of them side by
/// side. Section 4.3 of the paper explains each.
struct BitonicTuning {
  static constexpr int combined_steps = 4;  ///< of the network in registers, of 2^steps keys
  static constexpr BitonicPlacement placement = BitonicPlacement::padded;
  /// After a merge fewer threads have work, each with as many keys as before.
  static constexpr bool reassigned_partitions = true;
  /// Threads of a multiprocessor, which limits their registers; half as many if composite keys have 128 bits.
  static constexpr int resident_threads = 1024;
  /// Threads of a block. A row that fewer threads hold gets fewer.
  static constexpr int threads(int log_run, int key_bytes) {
    if (key_bytes == 8) return 256;
    return log_run < 6 ? 128 : log_run < 8 ? 256 : 512;
  }
  /// How many rows a block has that reads neighboring rows, with so many threads each.
  static constexpr int neighbor_rows(int threads) {
    return threads <= 128 ? 256 / threads : 1024 / threads;
  }
};

inline constexpr int bitonic_words_of_thread = 16;
/// How many ranks a word of a thread holds; narrow ones go in pairs.
constexpr int bitonic_ranks_of_word(int key_bytes) { return key_bytes < 4 ? 2 : 1; }
inline constexpr int bitonic_most_rows = 8;  ///< of a block that reads neighboring rows
/// Runs have 2^5 keys or more, the least of these powers that is not less than k. Runs of 2^6 would gain a tenth, of 2^9
/// a third.
inline constexpr int bitonic_log_runs[] = {5, 7, 8, 10};
inline constexpr int bitonic_longest_run = 10;
inline constexpr std::int64_t bitonic_largest_k = std::int64_t{1} << bitonic_longest_run;

}  // namespace ktopk::detail::cuda
