// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>
#include <ktopk/order_statistics.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdlib>

#include "beside.hpp"

// A threshold factorization (ParILUT) keeps the half of its candidates that is largest by magnitude, and needs the least of
// these magnitudes. Beside it what is usual: magnitudes are written, and the half is selected. ilu_threshold [keys]

using Exec = Kokkos::DefaultExecutionSpace;
using Candidates = Kokkos::View<double*, Exec::memory_space>;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const n = argc > 1 ? std::atoi(argv[1]) : 10'000'000, k = n / 2;
  Candidates const candidates("candidates", n), magnitudes("magnitudes", n), half("half", k);
  Kokkos::View<double, Exec::memory_space> const threshold("threshold");
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
        auto const bits = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
        candidates(i) = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63;
      });

  auto const call = [&] {
    ktopk::kth(exec, candidates, k, threshold, {.by = ktopk::By::magnitude});
  };
  auto const selecting = [&] {
    ktopk::top_k(exec, magnitudes, half, ktopk::nothing, {.sorted = ktopk::Sorted::no});
  };
  double least = 0;
  auto const copying = [&] {
    Kokkos::parallel_for(
        "magnitudes", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
          magnitudes(i) = candidates(i) < 0 ? -candidates(i) : candidates(i);
        });
    selecting();
    Kokkos::parallel_reduce(
        "least", Kokkos::RangePolicy<Exec>(exec, 0, k),
        KOKKOS_LAMBDA(int i, double& low) { low = half(i) < low ? half(i) : low; },
        Kokkos::Min<double>(least));
  };
  return time_beside("threshold of a factorization", exec, call, copying, selecting, [&] {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), threshold)() == least;
  });
}
