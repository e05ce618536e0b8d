// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ktopk/options.hpp>

/// \file
/// What this build of ktopk contains.

namespace ktopk {

/// The library's version, "major.minor.patch".
std::string version();

/// Version, commit, Kokkos and its devices, compiler and tuned implementations: a line each, "name: value".
std::string configuration();

/// An algorithm that this build contains.
struct AlgorithmInfo {
  Algorithm algorithm;
  char const* name;
  char const* summary;     ///< what it is good for
  std::int64_t largest_k;  ///< radix takes a larger k
  /// There is a hand-written CUDA implementation, for the shapes that it supports.
  bool tuned_cuda;
  /// There is a SIMD implementation for hosts, for the shapes that it supports.
  bool tuned_host;
};

std::vector<AlgorithmInfo> algorithms();

/// The enabled execution spaces by Kokkos's names: "Serial", "OpenMP", "Cuda" ...
std::vector<std::string> backends();

}  // namespace ktopk
