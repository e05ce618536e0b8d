// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = row<float>({3, -8, 5, 1, 9, -7, 5});

  Kokkos::View<float*> const values("values", 3);  // k is the extent: 3
  Kokkos::View<int*> const indices("indices", 3);
  ktopk::top_k(exec, keys, values, indices);
  show("largest", values);
  show("their positions", indices);

  ktopk::top_k(exec, keys, values, indices, {.order = ktopk::Order::smallest});
  show("smallest", values);

  ktopk::top_k(exec, keys, values, indices, {.by = ktopk::By::magnitude});
  show("largest by |key|", values);

  ktopk::top_k(exec, keys, ktopk::nothing, indices);  // positions alone
}
