// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <Kokkos_Core.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <ktopk/core/backend.hpp>

#include "case.hpp"
#include "evictor.hpp"
#include "streaming_bound.hpp"
#include "timing.hpp"
#include "workloads.hpp"

namespace ktopk::perf {

/// One of the library's algorithms, or what it chooses. \throws std::runtime_error for a wrong answer
void measure_algorithm(benchmark::State& state, Case const& c);

/// Another library's selection from the same keys.
void measure_baseline(benchmark::State& state, Case const& c);

/// A case for which is_question() holds, by any method. \throws std::runtime_error for a wrong answer
void measure_question(benchmark::State& state, Case const& c);

inline void report(benchmark::State& state, Summary const& time, Summary const& bound,
                   std::size_t bytes) {
  state.counters["median_us"] = 1e6 * time.median;
  state.counters["best_us"] = 1e6 * time.best;
  state.counters["lower_quartile_us"] = 1e6 * time.lower_quartile;
  state.counters["upper_quartile_us"] = 1e6 * time.upper_quartile;
  // The counters keep the names that stored measurements have.
  state.counters["floor_us"] = 1e6 * bound.median;
  state.counters["floor_best_us"] = 1e6 * bound.best;
  state.counters["over_floor"] = time.median / bound.median;
  state.counters["GB_per_s"] = 1e-9 * static_cast<double>(bytes) / time.median;
}

/// How long a call takes in a row of calls without a fence between them: the host's part, until all are enqueued, and the
/// whole. Of hosts nothing is reported: there a call has ended when it returns.
template <class Exec>
void report_calls_in_a_row([[maybe_unused]] benchmark::State& state,
                           [[maybe_unused]] Exec const& exec,
                           [[maybe_unused]] std::string const& what,
                           [[maybe_unused]] std::function<void()> const& call) {
  if constexpr (!ktopk::detail::is_host_space<Exec>) {
    using Clock = std::chrono::steady_clock;
    constexpr int calls = 50, turns = 7;
    std::vector<double> enqueued, done;
    for (int turn = 0; turn < turns; ++turn) {
      exec.fence();
      auto const begin = Clock::now();
      for (int i = 0; i < calls; ++i) call();
      enqueued.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
      exec.fence();
      done.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / calls);
    }
    state.counters[what + "enqueue_us"] = 1e6 * summarize(enqueued).median;
    state.counters[what + "back_to_back_us"] = 1e6 * summarize(done).median;
  }
}

/// What has to be read once, for the streaming bound.
struct MustRead {
  std::string workload;
  void const* data;
  std::size_t bytes;
};

/// Finds the streaming bound of what has to be read, then measures `call` again and again; `prepare` runs before every call and is
/// not timed; `check` runs once, after the first call and before any is timed. A bound long enough is measured anew
/// after each call, because the speed of memory varies over time. The functions' types are not told apart, for it compiles
/// once a backend then; a call through std::function takes a nanosecond or two.
template <class Exec>
void measure(benchmark::State& state, Exec const& exec, Case const& c, MustRead const& must_read,
             std::function<void()> const& prepare, std::function<void()> const& call,
             std::function<void()> const& check) {
  Timer<Exec> const timer(exec);
  Reader<Exec> const reader(exec, must_read.data, must_read.bytes);
  Evictor<Exec> const evictor(exec, c.cache);
  prepare();
  call();
  check();
  StreamingBound const bound =
      find_streaming_bound(must_read.workload + (c.cache == Cache::cold ? "/cold" : ""), timer,
                           reader, [&] { evictor.evict(); });
  constexpr double worth_turns = 1e-4;
  bool const by_turns = bound.time.median > worth_turns;
  std::vector<double> seconds, bounds;
  for (auto _ : state) {
    prepare();
    evictor.evict();
    exec.fence();
    seconds.push_back(timer.seconds(call));
    state.SetIterationTime(seconds.back());
    if (!by_turns) continue;
    evictor.evict();
    bounds.push_back(timer.seconds([&] { reader.read(bound.way); }));
  }
  report(state, summarize(seconds), by_turns ? summarize(bounds) : bound.time, must_read.bytes);
  report_calls_in_a_row(state, exec, "", call);
}
template <class Exec, class T>
void measure(benchmark::State& state, Exec const& exec, Case const& c, KeyView<Exec, T> const& keys,
             std::function<void()> const& prepare, std::function<void()> const& call,
             std::function<void()> const& check) {
  measure<Exec>(state, exec, c, MustRead{workload_name(c), keys.data(), keys.size() * sizeof(T)},
                prepare, call, check);
}

/// Calls visit(instance) for the backend of that name; false where this build does not measure it.
template <class Visit>
bool with_backend(std::string const& name, Visit const& visit) {
  auto const try_backend = [&](auto const& exec) {
    if (name != exec.name()) return false;
    visit(exec);
    return true;
  };
#ifdef KOKKOS_ENABLE_SERIAL
  if (try_backend(Kokkos::Serial())) return true;
#endif
#ifdef KOKKOS_ENABLE_OPENMP
  if (try_backend(Kokkos::OpenMP())) return true;
#endif
#ifdef KOKKOS_ENABLE_THREADS
  if (try_backend(Kokkos::Threads())) return true;
#endif
#ifdef KOKKOS_ENABLE_CUDA
  if (try_backend(Kokkos::Cuda())) return true;
#endif
#ifdef KOKKOS_ENABLE_HIP
  if (try_backend(Kokkos::HIP())) return true;
#endif
  return false;
}

/// Calls visit(instance, KeyType<T>) for the case's backend and key type.
template <class Visit>
void with_backend_and_type(benchmark::State& state, Case const& c, Visit const& visit) {
  bool const known = with_backend(c.backend, [&](auto const& exec) {
    with_key_type(c.type, [&](auto type) { visit(exec, type); });
  });
  if (!known) state.SkipWithError("this backend is not measured");
}

}  // namespace ktopk::perf
