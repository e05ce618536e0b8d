// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/order_statistics.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = row<double>({30, 10, 50, 20, 40, 60});

  Kokkos::View<double> const second("second");
  ktopk::kth(exec, keys, 2, second);
  show("second largest", second);
  ktopk::kth(exec, keys, 2, second, {.order = ktopk::Order::smallest});
  show("second smallest", second);

  // Rank 0 is the best key.
  Kokkos::View<double*> const some("some", 3);
  ktopk::ranks(exec, keys, {0, 5, 2}, some);
  show("ranks 0, 5 and 2", some);

  ktopk::quantiles(exec, keys, {0.25, 0.5, 0.75}, some);
  show("quartiles", some);
  Kokkos::View<double*> const median("median", 1);
  ktopk::quantiles(exec, keys, {0.5}, median, ktopk::Interpolation::lower);
  show("lower median", median);
}
