// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/gather.hpp>
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const energy = row<float>({4, 9, 1, 7});
  auto const charge = row<int>({40, 90, 10, 70});
  auto const position = matrix<double>({{0, 4}, {0, 9}, {0, 1}, {0, 7}});

  Kokkos::View<int*> const indices("indices", 2);
  ktopk::top_k(exec, energy, ktopk::nothing, indices);

  Kokkos::View<int*> const best_charge("best charge", 2);
  Kokkos::View<double**> const best_position("best position", 2, 2);
  ktopk::gather(exec, indices, ktopk::payload(charge, best_charge),
                ktopk::payload(position, best_position));
  show("charges", best_charge);
  show("positions", best_position);
}
