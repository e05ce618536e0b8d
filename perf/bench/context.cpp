// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "context.hpp"

#include <ktopk/info.hpp>

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace ktopk::perf {

namespace {

std::string trimmed(std::string const& text) {
  auto const begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin);
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return trimmed(line.substr(line.find(':') + 1));
  return "unknown";
}

/// Version, commit, compiler, Kokkos and implementations, each a "name: value" of ktopk::configuration().
void add_configuration() {
  std::istringstream lines(ktopk::configuration());
  for (std::string line; std::getline(lines, line);) {
    auto const colon = line.find(':');
    if (colon != std::string::npos)
      benchmark::AddCustomContext("ktopk " + line.substr(0, colon),
                                  trimmed(line.substr(colon + 1)));
  }
}

void add_environment(char const* variable) {
  if (char const* const value = std::getenv(variable)) benchmark::AddCustomContext(variable, value);
}

#ifdef KOKKOS_ENABLE_CUDA
void add_gpu() {
  cudaDeviceProp const device = Kokkos::Cuda().cuda_device_prop();
  int driver = 0;
  cudaDriverGetVersion(&driver);
  benchmark::AddCustomContext("gpu", device.name);
  benchmark::AddCustomContext("gpu multiprocessors", std::to_string(device.multiProcessorCount));
  benchmark::AddCustomContext(
      "gpu driver", std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10));
}
#endif

}  // namespace

void add_context() {
  benchmark::AddCustomContext("cpu", cpu_model());
  benchmark::AddCustomContext("host backend", Kokkos::DefaultHostExecutionSpace::name());
  benchmark::AddCustomContext("host threads",
                              std::to_string(Kokkos::DefaultHostExecutionSpace().concurrency()));
  add_configuration();
  add_environment("OMP_PROC_BIND");
  add_environment("OMP_PLACES");
#ifdef KOKKOS_ENABLE_CUDA
  add_gpu();
#endif
}

}  // namespace ktopk::perf
