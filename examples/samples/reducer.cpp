// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team.hpp>

#include "show.hpp"

using Largest = ktopk::TopK<double, int, 3>;

int main() {
  Kokkos::ScopeGuard const kokkos;
  int const n = 1000;
  Kokkos::View<double*> const u("u", n), next("next", n);
  Kokkos::parallel_for(n, KOKKOS_LAMBDA(int i) { u(i) = i * 7919 % 1009 / 16.0; });

  // One sweep, which finds the cells that change most.
  Largest::value_type largest;
  Kokkos::parallel_reduce(
      Kokkos::RangePolicy(1, n - 1),
      KOKKOS_LAMBDA(int i, Largest::value_type& of_thread) {
        next(i) = (u(i - 1) + u(i + 1)) / 2;
        of_thread.offer(Kokkos::fabs(next(i) - u(i)), i);
      },
      Largest(largest));

  for (int j = 0; j < largest.count; ++j)
    std::printf("cell %d changes by %g\n", largest.indices[j], largest.values[j]);
}
