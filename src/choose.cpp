// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include <optional>

#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/one_pass_plan.hpp>

#include "../backends/cuda/choose.hpp"
#include "../backends/host/choose.hpp"
#include "algorithms/bisection.hpp"

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

/// Of the portable implementations one_pass reads a row once; for more selected keys radix does; bisection holds short
/// rows in registers.
/// \see perf/results/h100-portable.json
inline Algorithm choose_portable(Shape const& shape) {
  if (shape.ragged)
    return bisection_serves_ragged(shape)  ? Algorithm::bisection
           : one_pass_serves_ragged(shape) ? Algorithm::one_pass
                                           : Algorithm::radix;
  constexpr std::int64_t longest_held = 8192, few = 16;
  if (shape.n <= longest_held) return Algorithm::bisection;
  return one_pass_serves(shape) && shape.k <= shape.n / few ? Algorithm::one_pass
                                                            : Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape,
                              TunedAlgorithms const& tuned) {
  return choose_tuned(device, shape, tuned).value_or(choose_portable(shape));
}

}  // namespace ktopk::detail
