// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/backend.hpp>

// Bisection between a row's minimum and maximum until exactly k keys reach the threshold; positions decide
// ties. Options::max_iterations and epsilon stop it early. Rows up to 2^16, any k.
// Reads a row of up to 8192 keys, or 4096 of 64 bits, once and counts in registers, some log2(n) times; a longer one of up
// to 32 KB in shared memory, and one longer still by reading it at every count.
// Ragged rows, exactly, where they are short on average: lanes hold those of up to twice the mean, and one_pass has the rest.
// After RTop-K (Xie et al., ICLR '25, section 3.1, Algorithms 1 and 2, and section 3.2).
// Prefer it for very many rows of some hundred keys, and where a stated recall is enough.

namespace ktopk::detail {

/// A ragged row that lanes hold.
constexpr std::int64_t bisection_longest_ragged(int key_bytes) {
  return key_bytes == 8 ? 2048 : 4096;
}

/// Whether lanes hold most of some ragged rows.
inline bool bisection_serves_ragged(Shape const& shape) {
  return shape.rows > 0 && shape.n < std::int64_t{1} << 31 &&
         2 * (shape.n / shape.rows) <= bisection_longest_ragged(shape.key_bytes);
}

template <>
struct Bisection<Generic> {
  static constexpr Algorithm algorithm = Algorithm::bisection;
  static constexpr char const* label = "ktopk::bisection";
  static constexpr std::int64_t longest_row = 1 << 16;
  static Reason declines(Asked const& a) {
    if (!a.shape.ragged) return a.shape.n <= longest_row ? nullptr : "rows of more than 65536 keys";
    if (!is_exact(a.options)) return "ragged rows with an early stop";
    return bisection_serves_ragged(a.shape) ? nullptr : "ragged rows that are long on average";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
