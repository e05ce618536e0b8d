// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include <algorithm>

#include "../backends/cuda/choose.hpp"
#include "algorithms/one_pass.hpp"
#include "instantiate.hpp"
#include "short_rows.hpp"

namespace ktopk::detail {

constexpr bool is_served(TunedAlgorithms const& tuned, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_pass: return tuned.one_pass;
    case Algorithm::bisection: return tuned.bisection;
    case Algorithm::radix: return tuned.radix;
    default: return false;
  }
}

/// The backend's choice first. Of the portable implementations sort is the fastest for a row that few teams share, where
/// launches are what counts, and radix beyond; bitonic for small k in rows that a team has to itself, and bisection for
/// larger. \see perf/results/h200-generic-one-row.json, h200-rows.json
inline Algorithm choose_on_device(Device const& device, Shape const& shape,
                                  TunedAlgorithms const& tuned) {
  auto const chosen =
      cuda::choose(shape, [&](Algorithm algorithm) { return is_served(tuned, algorithm); });
  if (chosen) return *chosen;
  if (shape.ragged) return Algorithm::radix;
  if (parts_of_row(device, shape.rows, shape.n) > 1)
    return shape.n <= (1 << 17) ? Algorithm::sort : Algorithm::radix;
  if (shape.n > 8192) return Algorithm::radix;
  return shape.k <= 64 ? Algorithm::bitonic : Algorithm::bisection;
}

/// Up to how many winners a heap or a queue of the best so far, which few keys reach, costs a host less than
/// one_pass's or radix's sample. A heap's inserts are dear, but a list of what several threads found is shorter by
/// it. \see perf/results/host-few-winners*.json
inline std::int64_t most_in_heap(bool one_thread, std::int64_t n) {
  if (one_thread) return 32;
  return n < (1 << 17) || n >= (1 << 21) ? 128 : 64;
}
inline std::int64_t most_in_queue(bool one_thread, std::int64_t n) {
  return one_thread ? std::min<std::int64_t>(n / 512, 512) : 0;
}

/// Whether what one_pass keeps, which is more than k by a share that shrinks with k, is little beside the row.
/// \see perf/results/host-many-winners*.json
inline bool are_few_winners(Shape const& shape) { return shape.k * 32 <= shape.n; }

/// Whether radix has each row to one thread, which finds few winners by one read of it, and more by two.
inline bool are_rows_in_cache(Device const& device, Shape const& shape) {
  std::int64_t const longest = shape.packed ? longest_row_in_cache : longest_short_row;
  return shape.n <= longest && parts_of_row(device, shape.rows, shape.n) == 1;
}

/// What, with few exceptions, is least slower than the fastest on the worst input for it, of all measured:
/// nothing is known of the keys here. \see perf/results/host-choice*.json
inline Algorithm choose_on_host(Device const& device, Shape const& shape, Options const& options) {
  if (shape.ragged || are_rows_in_cache(device, shape)) return Algorithm::radix;
  bool const one_thread = parts_of_row(device, shape.rows, shape.n) == 1;
  if (shape.k <= most_in_heap(one_thread, shape.n)) return Algorithm::heap;
  if (shape.k <= most_in_queue(one_thread, shape.n)) return Algorithm::queue;
  bool const one_pass =
      are_few_winners(shape) && OnePass<Generic>::supports(device, shape, options);
  return one_pass ? Algorithm::one_pass : Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape, Options const& options,
                              TunedAlgorithms const& tuned) {
  return device.host ? choose_on_host(device, shape, options)
                     : choose_on_device(device, shape, tuned);
}

}  // namespace ktopk::detail
