// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const rows = 2, n = 1000, k = 3;
  // make_shape is for LayoutRight.
  Kokkos::View<double**, Kokkos::LayoutRight> const keys("keys", rows, n);
  Kokkos::View<int**> const indices("indices", rows, k);

  // Chooses the kernels and allocates the workspace, once.
  ktopk::Plan plan(exec, ktopk::make_shape<double, int>(rows, n, k));

  for (int step = 0; step < 2; ++step) {
    Kokkos::parallel_for(
        Kokkos::RangePolicy(exec, 0, rows * n),
        KOKKOS_LAMBDA(int i) { keys(i / n, i % n) = (i % n * 7 + 100 * step + i / n) % n; });
    plan(keys, ktopk::nothing, indices);  // allocates nothing, fences nothing
    std::printf("step %d\n", step);
    show("indices", indices);
  }
}
