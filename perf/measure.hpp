// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "case.hpp"
#include "floor.hpp"
#include "peers.hpp"
#include "timing.hpp"
#include "verify.hpp"
#include "workloads.hpp"
#ifdef KTOPK_PERF_CUB
#include "peers_cub.hpp"
#endif

#include <ktopk/ktopk.hpp>

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <exception>
#include <limits>
#include <vector>

namespace ktopk::perf {

inline bool any_failed = false;

inline void report(benchmark::State& state, Summary const& time, Summary const& floor,
                   std::size_t bytes) {
  state.counters["median_us"] = 1e6 * time.median;
  state.counters["best_us"] = 1e6 * time.best;
  state.counters["floor_us"] = 1e6 * floor.median;
  state.counters["floor_best_us"] = 1e6 * floor.best;
  state.counters["over_floor"] = time.median / floor.median;
  state.counters["GB_per_s"] = 1e-9 * static_cast<double>(bytes) / time.median;
}

/// Measures the floor of `keys`, then `call` again and again; `prepare` comes before every call and is not timed.
template <class Exec, class T, class Prepare, class Call>
void measure(benchmark::State& state, Exec const& exec, KeyView<Exec, T> const& keys,
             Prepare const& prepare, Call const& call) {
  Summary const floor = read_floor<Exec, T>(exec, keys);
  Timer<Exec> const timer(exec);
  prepare();
  call();
  std::vector<double> seconds;
  for (auto _ : state) {
    prepare();
    exec.fence();
    seconds.push_back(timer.seconds(call));
    state.SetIterationTime(seconds.back());
  }
  report(state, summarize(seconds), floor, keys.size() * sizeof(T));
}

template <class Exec, class T, class Index>
void measure_algorithm(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const keys = key_cache.get<Exec, T>(c);
  KeyView<Exec, T> const values("ktopk::perf::values", c.rows, c.k);
  KeyView<Exec, Index> const indices("ktopk::perf::indices", c.rows, c.k);
  Options const options{
      .sorted = c.sorted, .ties = c.ties, .algorithm = algorithm_from_name(c.method).value()};
  Plan<Exec> const plan(exec, make_shape<T, Index>(c.rows, c.n, c.k), options);
  measure<Exec, T>(
      state, exec, keys, [] {}, [&] { plan(keys, values, indices); });
  state.SetLabel(name(plan.algorithm()));
  verify(exec, c, keys, values, indices);
}

/// The copy of the keys that a peer may destroy.
template <class Exec, class T>
KeyView<Exec, T> make_scratch(KeyView<Exec, T> const& keys) {
  return KeyView<Exec, T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "ktopk::perf::scratch"),
                          keys.extent(0), keys.extent(1));
}

template <class Exec, class T>
void measure_sort(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const keys = key_cache.get<Exec, T>(c);
  auto const scratch = make_scratch<Exec, T>(keys);
  KeyView<Exec, T> const chosen("ktopk::perf::chosen", c.rows, c.k);
  measure<Exec, T>(
      state, exec, keys, [&] { Kokkos::deep_copy(exec, scratch, keys); },
      [&] { sort_and_choose<Exec, T>(exec, scratch, c, chosen); });
}

template <class Exec, class T>
void measure_host_peer(benchmark::State& state, Exec const& exec, Case const& c) {
  auto const keys = key_cache.get<Exec, T>(c);
  auto const scratch = make_scratch<Exec, T>(keys);
  measure<Exec, T>(
      state, exec, keys, [&] { Kokkos::deep_copy(exec, scratch, keys); },
      [&] { run_host_peer<Exec, T>(exec, c, scratch); });
}

#ifdef KTOPK_PERF_CUB
template <class T>
void measure_cub(benchmark::State& state, Kokkos::Cuda const& exec, Case const& c) {
  auto const keys = key_cache.get<Kokkos::Cuda, T>(c);
  KeyView<Kokkos::Cuda, T> const values("ktopk::perf::values", 1, c.k);
  KeyView<Kokkos::Cuda, std::int32_t> const indices("ktopk::perf::indices", 1, c.k);
  CubTopK const cub{c.type, keys.data(), c.n, c.k, values.data(), indices.data()};
  if (c.rows != 1 || c.sorted == Sorted::yes || !cub.supported())
    return state.SkipWithError(
        "one row of f16, bf16, f32, f64 or i32, and no sorted output, is what it serves");
  auto const bytes = cub.workspace_bytes();
  Kokkos::View<std::byte*, Kokkos::CudaSpace> const workspace("ktopk::perf::workspace", bytes);
  measure<Kokkos::Cuda, T>(
      state, exec, keys, [] {}, [&] { cub.run(workspace.data(), bytes, exec.cuda_stream()); });
  verify(exec, c, keys, values, indices);
}
#endif

template <class Exec, class T>
void measure_peer(benchmark::State& state, Exec const& exec, Case const& c) {
#ifdef KTOPK_PERF_CUB
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>)
    if (c.method == "cub::DeviceTopK") return measure_cub<T>(state, exec, c);
#endif
  if constexpr (!peers_take<T>) {
    state.SkipWithError("peers are measured with f32, f64 and i32");
  } else {
    if (has_nans(c)) return state.SkipWithError("peers do not order NaNs");
    if (c.method == "Kokkos::sort") return measure_sort<Exec, T>(state, exec, c);
    if constexpr (on_host<Exec>) measure_host_peer<Exec, T>(state, exec, c);
  }
}

template <class Exec, class T>
void measure_case(benchmark::State& state, Exec const& exec, Case const& c) {
  if (is_peer(c.method)) return measure_peer<Exec, T>(state, exec, c);
  if (c.n <= std::numeric_limits<std::int32_t>::max())
    measure_algorithm<Exec, T, std::int32_t>(state, exec, c);
  else
    measure_algorithm<Exec, T, std::int64_t>(state, exec, c);
}

template <class Exec>
void run_case(benchmark::State& state, Case const& c) try {
  with_key_type(c.type, [&](auto type) {
    measure_case<Exec, typename decltype(type)::type>(state, Exec(), c);
  });
} catch (std::exception const& error) {
  any_failed = true;
  state.SkipWithError(error.what());
}

}  // namespace ktopk::perf
