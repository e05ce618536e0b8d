// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  using Exec = Kokkos::DefaultExecutionSpace;
  int const rows = 2, n = 1000, k = 3;
  // On a GPU two streams; on a host half of the threads each.
  auto const instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  using Rows = Kokkos::View<int**, Kokkos::LayoutRight>;
  Rows const temperature("temperature", rows, n), rainfall("rainfall", rows, n);
  Rows const warmest("warmest", rows, k), driest("driest", rows, k);
  Kokkos::parallel_for(
      n, KOKKOS_LAMBDA(int i) {
        for (int r = 0; r < rows; ++r) {
          temperature(r, i) = (r * 389 + i * 617) % 1009;
          rainfall(r, i) = (r * 211 + i * 83) % 1013;
        }
      });
  Kokkos::fence();

  // Each instance has a plan of its own. Neither call waits for the other.
  auto const shape = ktopk::make_shape<int, int>(rows, n, k);
  ktopk::Plan warm(instances[0], shape);
  ktopk::Plan dry(instances[1], shape, {.order = ktopk::Order::smallest});
  warm(temperature, ktopk::nothing, warmest);
  dry(rainfall, ktopk::nothing, driest);
  instances[0].fence();
  instances[1].fence();

  show("warmest", warmest);
  show("driest", driest);
}
