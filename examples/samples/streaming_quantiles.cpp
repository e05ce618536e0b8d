// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/order_statistics.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const chunks = 4, chunk = 1000, k = chunks * chunk / 100 + 1;
  Kokkos::View<int*> const latency("latency", chunk), quantiles("quantiles", 2);
  // Of 4000 latencies the 99th percentile is the 41st largest: no more is kept of the stream.
  ktopk::Accumulator<int> slowest(exec, 1, k);

  for (int c = 0; c < chunks; ++c) {
    Kokkos::parallel_for(
        chunk, KOKKOS_LAMBDA(int i) { latency(i) = (c * chunk + i) * 7919 % 10007 / (c + 1); });

    ktopk::quantiles(exec, latency, {0.5, 0.99}, quantiles, ktopk::Interpolation::lower);
    slowest.add(latency, c * chunk);

    std::printf("chunk %d, ", c);
    show("median and 99 %", quantiles);
  }
  show("stream, 99 %", slowest.thresholds());
}
