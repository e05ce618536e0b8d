// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  // [select]
  using Exec = Kokkos::DefaultExecutionSpace;
  Exec const exec;
  // Three rows in CSR, and how many entries of each to keep, which the host need not know.
  int const rows = 3, entries = 7;
  auto const offsets = row<int>({0, 3, 5, 7});
  auto const columns = row<int>({0, 4, 9, 2, 3, 1, 8});
  auto const values = row<float>({5, -7, 6, 1, -2, 4, 3});
  auto const wanted = row<int>({2, 0, 1});
  int most = 0;  // the largest k
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int r, int& of_thread) { of_thread = Kokkos::max(of_thread, wanted(r)); },
      Kokkos::Max<int>(most));
  most = Kokkos::max(most, 0);  // of no rows the reduction leaves the least int
  Kokkos::View<int**> const positions("positions", rows, most);
  Kokkos::View<int*> const counts("counts", rows);
  ktopk::top_k(exec, ktopk::ragged(values, offsets), ktopk::nothing, positions,
               ktopk::per_row(wanted, counts),
               {.sorted = ktopk::Sorted::no, .by = ktopk::By::magnitude});

  // Mark what stays, and find where each row begins then.
  Kokkos::View<int*> const stays("stays", entries), kept_offsets("kept offsets", rows + 1);
  Kokkos::parallel_for(
      Kokkos::RangePolicy<Exec>(exec, 0, rows), KOKKOS_LAMBDA(int r) {
        for (int j = 0; j < counts(r); ++j) stays(offsets(r) + positions(r, j)) = 1;
      });
  int kept = 0;
  Kokkos::parallel_scan(
      Kokkos::RangePolicy<Exec>(exec, 0, rows),
      KOKKOS_LAMBDA(int r, int& sum, bool is_last) {
        sum += counts(r);
        if (is_last) kept_offsets(r + 1) = sum;
      },
      kept);

  // Copy it, in the order of the entries.
  Kokkos::View<int*> const kept_columns("kept columns", kept);
  Kokkos::View<float*> const kept_values("kept values", kept);
  Kokkos::parallel_scan(
      Kokkos::RangePolicy<Exec>(exec, 0, entries), KOKKOS_LAMBDA(int i, int& place, bool is_last) {
        if (is_last && stays(i) != 0) {
          kept_columns(place) = columns(i);
          kept_values(place) = values(i);
        }
        place += stays(i);
      });
  // [end]
  show("offsets", kept_offsets);
  show("columns", kept_columns);
  show("values", kept_values);
}
