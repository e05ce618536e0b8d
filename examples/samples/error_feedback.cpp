// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 1000, k = 4;
  Kokkos::View<float*> const residual("residual", n), sent("sent", k);
  Kokkos::View<int*> const where("where", k);
  ktopk::Plan plan(exec, ktopk::make_shape<float, int>(1, n, k), {.by = ktopk::By::magnitude});

  for (int step = 0; step < 3; ++step) {
    // What was not sent yet is added to the gradient of this step.
    Kokkos::parallel_for(
        n, KOKKOS_LAMBDA(int i) {
          residual(i) += static_cast<float>((i * 37 + step * 101) % 201 - 100) / 64;
        });

    // The largest by magnitude, with their signs, are sent; the rest stays.
    plan(residual, sent, where);
    Kokkos::parallel_for(k, KOKKOS_LAMBDA(int j) { residual(where(j)) = 0; });

    std::printf("step %d\n", step);
    show("positions", where);
    show("values", sent);
  }
}
