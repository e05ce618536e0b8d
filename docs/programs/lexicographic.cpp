// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/lexicographic.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const score = row<float>({5, 9, 9, 5, 9});
  auto const price = row<int>({3, 8, 2, 1, 2});

  // The highest scores; of equal scores the lower price; of equal prices the earlier one.
  Kokkos::View<int*> const indices("indices", 4);
  ktopk::top_k(exec, ktopk::lexicographic(score, ktopk::ascending(price)), ktopk::nothing, indices);
  show("indices", indices);
}
