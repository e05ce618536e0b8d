// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times top_k, other questions and their baselines over rows, n, k, type, input, method and backend.

#include "baseline_names.hpp"
#include "context.hpp"
#include "measure.hpp"
#include "suite.hpp"

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <cstdio>
#include <exception>

namespace {

using namespace ktopk::perf;

bool any_failed = false;

void run_case(benchmark::State& state, Case const& c) try {
  if (is_question(c)) return measure_question(state, c);
  is_baseline(c.method) ? measure_baseline(state, c) : measure_algorithm(state, c);
} catch (std::exception const& error) {
  any_failed = true;
  state.SkipWithError(error.what());
}

void register_case(Case const& c) {
  auto* const registered = benchmark::RegisterBenchmark(
      name(c).c_str(), [c](benchmark::State& state) { run_case(state, c); });
  registered->UseManualTime()->Unit(benchmark::kMicrosecond);
  // Emptying a cache takes far longer than most calls.
  constexpr int cold_calls = 31;
  if (c.cache == Cache::cold) registered->Iterations(cold_calls);
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
