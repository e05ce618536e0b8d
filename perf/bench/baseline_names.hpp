// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Macros.hpp>
#include <string>
#include <vector>

#if defined(KOKKOS_ENABLE_OPENMP) && defined(_OPENMP) && defined(__GLIBCXX__)
#define KTOPK_PERF_GNU_PARALLEL
#endif

namespace ktopk::perf {

/// The baselines that this build measures on a backend.
inline std::vector<std::string> baselines_on([[maybe_unused]] std::string const& backend,
                                             bool host) {
  std::vector<std::string> baselines{"Kokkos::sort"};
  if (host)
    baselines.insert(baselines.end(), {"std::nth_element", "std::partial_sort", "priority_queue"});
#ifdef KTOPK_PERF_GNU_PARALLEL
  if (backend == "OpenMP") baselines.push_back("__gnu_parallel::nth_element");
#endif
#ifdef KTOPK_PERF_CUB
  if (backend == "Cuda")
    baselines.insert(baselines.end(), {"cub::DeviceTopK", "cub::DeviceBatchedTopK"});
#endif
  return baselines;
}

inline bool is_baseline(std::string const& method) {
  return method.find("::") != std::string::npos || method == "priority_queue";
}

}  // namespace ktopk::perf
