// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A selection that is made in every step of a loop: chosen and allocated once, by a Plan.

#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

using Exec = Kokkos::DefaultExecutionSpace;
using Signal = Kokkos::View<double**, Kokkos::LayoutRight>;

constexpr int channels = 16;
constexpr int samples = 10'000;
constexpr int peaks = 4;

// In step s the largest sample of channel c is at 100 s + c, and the next largest follow it.
void measure(Exec const& exec, Signal const& signal, int step) {
  Kokkos::parallel_for(
      "measure", Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>(exec, {0, 0}, {channels, samples}),
      KOKKOS_LAMBDA(int c, int i) {
        signal(c, i) = -double((i - 100 * step - c + samples) % samples);
      });
}

int main() {
  Kokkos::ScopeGuard const kokkos;
  Exec const exec;
  Signal const signal("signal", channels, samples);
  Kokkos::View<int**, Kokkos::LayoutRight> const where("where", channels, peaks);

  ktopk::Plan<Exec> plan(exec, ktopk::make_shape<double, int>(channels, samples, peaks));
  std::printf("%s, with a workspace of %zu bytes\n", ktopk::name(plan.algorithm()),
              plan.workspace_bytes());

  bool right = true;
  for (int step = 0; step < 5; ++step) {
    measure(exec, signal, step);
    plan(signal, ktopk::nothing, where);  // no allocation, no fence
    auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), where);
    std::printf("step %d: peaks of channel 7 at %d %d %d %d\n", step, indices(7, 0), indices(7, 1),
                indices(7, 2), indices(7, 3));
    for (int c = 0; c < channels; ++c)
      for (int j = 0; j < peaks; ++j) right &= indices(c, j) == 100 * step + c + j;
  }
  return right ? 0 : 1;
}
