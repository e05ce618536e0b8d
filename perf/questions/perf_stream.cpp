// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/host_stream.hpp>
#include <ktopk/top_k.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include <Kokkos_Core.hpp>

#include "least_time.hpp"

// What an Accumulator takes for a row in chunks, as a multiple of one top_k of the whole row, in the same process; and what a
// row in the memory of the host takes, beside a copy of as many keys from pinned memory, which is what the bus can.
// perf_stream [keys] [k] [keys on the host]. Each time is the least of some.

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<float*>;

KOKKOS_INLINE_FUNCTION float random_key(std::int64_t i) {
  return static_cast<float>(mixed(i) >> 40) * 0x1p-24F;
}

/// Keys in no order, or such that every chunk beats the one before.
struct Fill {
  Keys keys;
  bool rises;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    keys(i) = rises ? static_cast<float>(i) : random_key(i);
  }
};

constexpr int calls = 6;

void measure(std::int64_t n, std::int64_t k, bool rises) {
  Exec const exec;
  Keys const keys(Kokkos::view_alloc(Kokkos::WithoutInitializing, "keys"), n);
  Kokkos::parallel_for("fill",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, n),
                       Fill{keys, rises});
  Keys const values("values", k);
  Kokkos::View<std::int64_t*> const positions("positions", k);
  double const whole =
      least_microseconds(exec, calls, [&] { ktopk::top_k(exec, keys, values, positions); });
  std::printf("%s keys, k = %lld, one top_k of %lld: %.1f us\n", rises ? "rising" : "random",
              static_cast<long long>(k), static_cast<long long>(n), whole);
  ktopk::Accumulator<float, std::int64_t, Exec> state(exec, 1, k);
  for (std::int64_t const chunk : {std::int64_t{1} << 20, std::int64_t{1} << 24}) {
    double const time = least_microseconds(exec, calls, [&] {
      state.clear();
      for (std::int64_t first = 0; first < n; first += chunk)
        state.add(Kokkos::subview(keys, Kokkos::pair<std::int64_t, std::int64_t>(
                                            first, std::min(n, first + chunk))),
                  first);
    });
    std::printf("  chunks of %9lld: %10.1f us, %.2f of one top_k\n", static_cast<long long>(chunk),
                time, time / whole);
  }
}

void measure_host(std::int64_t n, std::int64_t k) {
  Exec const exec;
  Kokkos::View<float*, Kokkos::HostSpace> const keys(
      Kokkos::view_alloc(Kokkos::WithoutInitializing, "keys"), n);
  constexpr std::int64_t part = 1 << 20;
  ktopk::detail::on_some_threads((n + part - 1) / part, [&](std::int64_t p) {
    for (std::int64_t i = p * part; i < std::min(n, (p + 1) * part); ++i) keys(i) = random_key(i);
  });
  std::int64_t const chunk = std::min<std::int64_t>(n, std::int64_t{1} << 26);
  Kokkos::View<float*, ktopk::detail::PinnedMemory<Exec>> const pinned("pinned", chunk);
  Kokkos::View<float*, Exec::memory_space> const there("there", chunk);
  double const bus = least_microseconds(exec, calls, [&] {
    for (std::int64_t first = 0; first < n; first += chunk) Kokkos::deep_copy(exec, there, pinned);
  });
  ktopk::Accumulator<float, std::int64_t, Exec> best(exec, 1, k);
  ktopk::HostStream stream(best);
  double const time = least_microseconds(exec, calls, [&] {
    best.clear();
    stream.add(keys);
  });
  double const bytes = static_cast<double>(n) * sizeof(float);
  std::printf("%lld keys on the host, k = %lld: %.1f ms, %.1f GB/s, %.3f of the bus (%.1f GB/s)\n",
              static_cast<long long>(n), static_cast<long long>(k), time / 1e3, bytes / time / 1e3,
              bus / time, bytes / bus / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  std::int64_t const n = argc > 1 ? std::stoll(argv[1]) : std::int64_t{1} << 28;
  std::int64_t const k = argc > 2 ? std::stoll(argv[2]) : 2048;
  for (bool const rises : {false, true}) measure(n, k, rises);
  if (argc > 3) measure_host(std::stoll(argv[3]), k);
}
