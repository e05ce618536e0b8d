// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const k = 2;
  Kokkos::View<float**> const values("values", 3, k);
  Kokkos::View<int**> const indices("indices", 3, k);
  Kokkos::View<int*> const counts("counts", 3);
  auto const how_many = ktopk::per_row(ktopk::nothing, counts);

  // Three rows, one after the other: {5, 6, 7}, {} and {8}.
  auto const keys = row<float>({5, 6, 7, 8});
  auto const offsets = row<int>({0, 3, 3, 4});
  ktopk::top_k(exec, ktopk::ragged(keys, offsets), values, indices, how_many);
  show("ragged values", values);
  show("ragged indices", indices);
  show("ragged counts", counts);

  // A padded matrix with the length of each row.
  auto const padded = matrix<float>({{1, 2, 3}, {4, 99, 99}, {5, 6, 99}});
  auto const lengths = row<int>({3, 1, 2});
  ktopk::top_k(exec, ktopk::rows(padded, lengths), values, indices, how_many);
  show("padded values", values);
  show("padded counts", counts);
}
