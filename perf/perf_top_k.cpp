// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times top_k and its peers over rows, n, k, type, input, method and backend.

#include "context.hpp"
#include "measure.hpp"
#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <cstring>
#include <exception>

namespace {

using namespace ktopk::perf;

void run_on_backend(benchmark::State& state, Case const& c) {
#ifdef KOKKOS_ENABLE_SERIAL
  if (c.backend == Kokkos::Serial::name()) return run_case<Kokkos::Serial>(state, c);
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  if (c.backend == Kokkos::OpenMP::name()) return run_case<Kokkos::OpenMP>(state, c);
#endif
#ifdef KOKKOS_ENABLE_THREADS
  if (c.backend == Kokkos::Threads::name()) return run_case<Kokkos::Threads>(state, c);
#endif
#ifdef KOKKOS_ENABLE_CUDA
  if (c.backend == Kokkos::Cuda::name()) return run_case<Kokkos::Cuda>(state, c);
#endif
#ifdef KOKKOS_ENABLE_HIP
  if (c.backend == Kokkos::HIP::name()) return run_case<Kokkos::HIP>(state, c);
#endif
  state.SkipWithError("this backend is not measured");
}

void register_case(Case const& c) {
  benchmark::RegisterBenchmark(name(c).c_str(),
                               [c](benchmark::State& state) { run_on_backend(state, c); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

int run(int argc, char** argv) {
  auto const suite = parse_suite(argc, argv);
  benchmark::Initialize(&argc, argv, print_usage);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (auto const& c : cases(suite)) register_case(c);
  add_context();
  std::size_t const measured = benchmark::RunSpecifiedBenchmarks();
  key_cache.clear();
  benchmark::Shutdown();
  return measured > 0 && !any_failed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  try {
    return run(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "perf_top_k: %s\n", error.what());
    return 2;
  }
}
