// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ten hottest cells of a field: what a Kokkos application needs to call ktopk.

#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

int main() {
  Kokkos::ScopeGuard const kokkos;
  int const cells = 1'000'003;
  Kokkos::View<float*> heat("heat", cells);
  Kokkos::parallel_for(cells, KOKKOS_LAMBDA(int i) { heat(i) = float(7919LL * i % cells); });

  Kokkos::View<float*> hottest("hottest", 10);
  Kokkos::View<int*> where("where", 10);
  ktopk::top_k(Kokkos::DefaultExecutionSpace(), heat, hottest, where);

  auto const values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), hottest);
  auto const indices = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), where);
  bool right = true;
  for (int j = 0; j < 10; ++j) {
    std::printf("%2d. cell %6d: %.0f\n", j + 1, indices(j), values(j));
    right &= values(j) == float(cells - 1 - j) && 7919LL * indices(j) % cells == cells - 1 - j;
  }
  return right ? 0 : 1;
}
