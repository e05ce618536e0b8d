// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "neighbors.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

inline constexpr int most_runs = 9;

/// Milliseconds of the median run: at most most_runs, and no new one after half a second (but at least 3).
template <class Run>
double median_ms(Run const& run) {
  using Clock = std::chrono::steady_clock;
  auto const elapsed = [](Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
  };
  run();
  std::vector<double> times;
  auto const begin = Clock::now();
  while (times.size() < 3 || (times.size() < most_runs && elapsed(begin) < 500)) {
    auto const start = Clock::now();
    run();
    times.push_back(elapsed(start));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

/// Time of one algorithm of ktopk, the plan being made beforehand; none if it cannot serve this k.
template <class Exec>
std::optional<double> time_algorithm(Exec const& exec, Matrix<Exec> const& distances, int k,
                                     ktopk::AlgorithmInfo const& info) {
  if (k > info.largest_k) return std::nullopt;
  auto const rows = static_cast<std::int64_t>(distances.extent(0));
  Matrix<Exec> const indices("neighbors", rows, k);
  ktopk::Plan<Exec> plan(exec, ktopk::make_shape<std::int32_t, std::int32_t>(rows, rows, k),
                         nearest(info.algorithm));
  return median_ms([&] {
    plan(distances, ktopk::nothing, indices);
    exec.fence();
  });
}

enum class Baseline { partial_sort, nth_element };

/// The standard library's way to the same answer: (distance, index) pairs packed into 64 bits, the k smallest sorted.
inline void select_with_standard_library(Baseline baseline, std::int32_t const* distances, int n,
                                         int k, std::int32_t* indices) {
  thread_local std::vector<std::uint64_t> packed;
  packed.resize(n);
  for (int i = 0; i < n; ++i) packed[i] = std::uint64_t(distances[i]) << 32 | std::uint64_t(i);
  auto const middle = packed.begin() + k;
  if (baseline == Baseline::partial_sort) {
    std::partial_sort(packed.begin(), middle, packed.end());
  } else {
    std::nth_element(packed.begin(), middle, packed.end());
    std::sort(packed.begin(), middle);
  }
  std::transform(packed.begin(), middle, indices,
                 [](std::uint64_t key) { return static_cast<std::int32_t>(key); });
}

/// Time of the standard library, the rows shared out over the cores of Exec; none on a GPU.
template <class Exec>
std::optional<double> time_baseline(Exec const& exec, Matrix<Exec> const& distances, int k,
                                    Baseline baseline) {
  if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace,
                                            typename Exec::memory_space>::accessible) {
    return std::nullopt;
  } else {
    int const n = static_cast<int>(distances.extent(0));
    Matrix<Exec> const indices("neighbors", n, k);
    return median_ms([&] {
      Kokkos::parallel_for("standard library", Kokkos::RangePolicy<Exec>(exec, 0, n), [=](int row) {
        select_with_standard_library(baseline, &distances(row, 0), n, k, &indices(row, 0));
      });
      exec.fence();
    });
  }
}

/// A column of the table: one backend.
struct Timings {
  std::string backend;
  double distances;
  std::vector<std::optional<double>> algorithms;  ///< as ktopk::algorithms() lists them
  std::optional<double> partial_sort, nth_element;
};

template <class Exec>
Timings time_backend(Exec const& exec, Digits const& digits, int k) {
  Timings timings;
  timings.backend = Exec::name();
  timings.distances = median_ms([&] { distances(exec, digits); });
  auto const matrix = distances(exec, digits);
  for (auto const& info : ktopk::algorithms())
    timings.algorithms.push_back(time_algorithm(exec, matrix, k, info));
  timings.partial_sort = time_baseline(exec, matrix, k, Baseline::partial_sort);
  timings.nth_element = time_baseline(exec, matrix, k, Baseline::nth_element);
  return timings;
}
