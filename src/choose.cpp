// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include <optional>

#include <ktopk/detail/instantiate.hpp>

#include "../backends/cuda/choose.hpp"
#include "../backends/host/choose.hpp"
#include "group.hpp"

namespace ktopk::detail {

constexpr bool is_served(TunedAlgorithms const& tuned, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_pass: return tuned.one_pass;
    case Algorithm::bisection: return tuned.bisection;
    case Algorithm::radix: return tuned.radix;
    case Algorithm::heap: return tuned.heap;
    case Algorithm::queue: return tuned.queue;
    default: return false;
  }
}

inline std::optional<Algorithm> choose_tuned(Device const& device, Shape const& shape,
                                             TunedAlgorithms const& tuned) {
  auto const serves = [&](Algorithm algorithm) { return is_served(tuned, algorithm); };
  return device.host ? host::choose(device, shape, serves) : cuda::choose(shape, serves);
}

/// Of the portable implementations sort is the fastest for a row that few teams share, where launches are what counts,
/// and radix beyond; bitonic for small k in rows that a team has to itself, and bisection for larger.
/// \see perf/results/h200-generic-one-row.json, h200-rows.json
inline Algorithm choose_portable(Device const& device, Shape const& shape) {
  if (shape.ragged) return Algorithm::radix;
  if (parts_of_row(device, shape.rows, shape.n) > 1)
    return shape.n <= (1 << 17) ? Algorithm::sort : Algorithm::radix;
  if (shape.n > 8192) return Algorithm::radix;
  return shape.k <= 64 ? Algorithm::bitonic : Algorithm::bisection;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape,
                              TunedAlgorithms const& tuned) {
  return choose_tuned(device, shape, tuned).value_or(choose_portable(device, shape));
}

}  // namespace ktopk::detail
