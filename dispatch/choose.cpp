// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "choose.hpp"

#include <limits>
#include <optional>

#include <ktopk/core/one_pass_plan.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../backends/cuda/choose.hpp"
#include "../backends/host/choose.hpp"
#include "../portable/bisection/bisection.hpp"

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

/// Bisection holds rows of up to so many keys in registers.
inline constexpr std::int64_t longest_held = 8192;

/// Whether a device has a single packed row, of which one_pass reads few keys but would sort many.
/// \see perf/results/h200-portable-one-row.csv
inline bool is_for_portable_radix(Device const& device, Shape const& shape) {
  return !device.host && shape.rows == 1 && shape.packed && shape.n <= std::int64_t{1} << 22 &&
         shape.k > 16384;
}

/// How many keys of a row there must be for each selected one, for one_pass to be faster than radix.
/// \see perf/results/h200-cliffs-tried.csv
inline std::int64_t keys_of_selected(Device const& device, Shape const& shape) {
  std::int64_t const longest = std::int64_t{1} << (shape.packed ? 18 : 15);
  return !device.host && shape.n <= longest ? 8 : 16;
}

/// Of the portable implementations one_pass reads a row once; for more selected keys radix does; bisection holds short
/// rows in registers.
/// \see perf/results/h200-portable.csv, h100-ragged.csv
inline Algorithm choose_portable(Device const& device, Shape const& shape) {
  if (shape.ragged)
    return bisection_serves_ragged(shape) && !shape.computed ? Algorithm::bisection
           : one_pass_serves_ragged(shape)                   ? Algorithm::one_pass
                                                             : Algorithm::radix;
  if (shape.n <= longest_held && !shape.computed) return Algorithm::bisection;
  bool const is_for_one_pass =
      one_pass_serves(shape) && shape.k <= shape.n / keys_of_selected(device, shape);
  return is_for_one_pass && !is_for_portable_radix(device, shape) ? Algorithm::one_pass
                                                                  : Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape,
                              TunedAlgorithms const& tuned) {
  return choose_tuned(device, shape, tuned).value_or(choose_portable(device, shape));
}

/// Whether the portable choice may take the algorithm.
inline bool portable_serves(Algorithm algorithm, Shape const& shape) {
  if (algorithm == Algorithm::one_pass)
    return one_pass_serves(shape) || one_pass_serves_ragged(shape);
  if (algorithm == Algorithm::bisection)
    return shape.ragged ? bisection_serves_ragged(shape) : shape.n <= longest_held;
  return algorithm == Algorithm::radix;
}

KTOPK_INLINE Algorithm choose(Device const& device, Shape const& shape,
                              TunedAlgorithms const& tuned, Figures const& figures) {
  bool const is_tuned = tuned.radix;
  auto fastest = Algorithm::radix;
  double least_us = std::numeric_limits<double>::infinity();
  for (Algorithm const algorithm : calibrated_algorithms(is_tuned && device.host)) {
    bool const serves = is_tuned ? is_served(tuned, algorithm) : portable_serves(algorithm, shape);
    if (!serves) continue;
    double const us = predicted_us(algorithm, device, shape, figures);
    if (us >= least_us) continue;
    fastest = algorithm;
    least_us = us;
  }
  return fastest;
}

}  // namespace ktopk::detail
