// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/reaching.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = row<float>({3, 8, 5, 1, 9, 5});

  // How many keys are better than 5 and than 8, and how many are equal to them?
  Kokkos::View<int*> const better("better", 2), equal("equal", 2);
  ktopk::count(exec, keys, row<float>({5, 8}), better, equal);
  show("better than 5, 8", better);
  show("equal to 5, 8", equal);

  // Which keys reach 5? There is room for ten; the slots behind them stay as they are.
  Kokkos::View<float> const threshold("threshold");
  Kokkos::deep_copy(threshold, 5);
  Kokkos::View<float*> const values("values", 10);
  Kokkos::View<int*> const indices("indices", 10);
  Kokkos::View<int> const found("found");
  ktopk::reaching(exec, keys, threshold, values, indices, found);
  show("found", found);
  show("values", values);
  show("indices", indices);

  // A threshold for each of two rows, and a capacity of two keys: three of the first row reach it.
  auto const batch = matrix<float>({{3, 8, 5}, {7, 1, 9}});
  Kokkos::View<float**> const some("some", 2, 2);
  Kokkos::View<int*> const counts("counts", 2);
  ktopk::reaching(exec, batch, row<float>({3, 7}), some, ktopk::nothing, counts);
  show("counts", counts);
  show("by rows", some);
}
