// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "calibration.hpp"
#include "choose.hpp"
#include "kernel_table.hpp"

// Which line of the table serves a call: decided here and nowhere else.

namespace ktopk::detail {

/// Of no rows any k is valid; implementations expect one of at most n.
template <class Exec>
Asked asked_of(Exec const& exec, Shape const& shape, Options const& options, KeyLayout layout) {
  Asked asked{device_of(exec), shape, options, layout};
  asked.shape.packed = layout == KeyLayout::packed;
  if (shape.rows == 0) asked.shape.k = std::min(shape.k, shape.n);
  return asked;
}

template <class Exec>
bool is_served_by_tuned(Algorithm algorithm, Asked const& asked) {
  Kernel<Exec> const* const kernel = first_of<Exec>(algorithm, asked);
  return kernel != nullptr && kernel->tuned;
}

/// The algorithm that is asked for, or else the one that is chosen.
template <class Exec>
Algorithm wanted_algorithm(Exec const& exec, Asked const& asked) {
  if (asked.options.algorithm != Algorithm::automatic) return asked.options.algorithm;
  auto const is_tuned = [&](Algorithm algorithm) {
    return is_served_by_tuned<Exec>(algorithm, asked);
  };
  TunedAlgorithms const tuned{.one_pass = is_tuned(Algorithm::one_pass),
                              .bisection = is_tuned(Algorithm::bisection),
                              .radix = is_tuned(Algorithm::radix),
                              .heap = is_tuned(Algorithm::heap),
                              .queue = is_tuned(Algorithm::queue)};
  if (!is_exact(asked.options) || asked.shape.computed)
    return choose(asked.device, asked.shape, tuned);
  auto const calibrated = calibrated_figures(exec.name(), tuned.radix);
  return calibrated ? choose(asked.device, asked.shape, tuned, *calibrated)
                    : choose(asked.device, asked.shape, tuned);
}

/// The line that serves a call: the first of the algorithm, or of radix, which serves all.
template <class Exec>
Kernel<Exec> const& kernel_for(Exec const& exec, Asked const& asked) {
  if (auto const* const kernel = first_of<Exec>(wanted_algorithm(exec, asked), asked))
    return *kernel;
  return *first_of<Exec>(Algorithm::radix, asked);
}

}  // namespace ktopk::detail
