// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = matrix<float>({{4, 1, 3, 2}, {10, 40, 20, 30}});

  Kokkos::View<float**> const values("values", 2, 2);  // rows, k
  Kokkos::View<int**> const indices("indices", 2, 2);
  ktopk::top_k(exec, keys, values, indices);
  show("values", values);
  show("indices", indices);

  // A k for each row: one of the first row, two of the second. The rest is filled.
  auto const wanted = row<int>({1, 2});
  Kokkos::View<int*> const counts("counts", 2);
  ktopk::top_k(exec, keys, values, indices, ktopk::per_row(wanted, counts));
  show("values", values);
  show("indices", indices);
  show("counts", counts);
}
