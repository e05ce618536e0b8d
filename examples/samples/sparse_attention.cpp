// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const queries = 4, longest = 1000, k = 5;
  Kokkos::View<float**> const scores("scores", queries, longest);
  Kokkos::View<int**> const tokens("tokens", queries, k);
  Kokkos::View<int*> const lengths("lengths", queries), counts("counts", queries);
  Kokkos::parallel_for(
      longest, KOKKOS_LAMBDA(int t) {
        for (int q = 0; q < queries; ++q)
          scores(q, t) = static_cast<float>((q * 389 + t * 617) % 1009);
        if (t < queries) lengths(t) = 1 + t * t * 100;
      });

  // Query q sees lengths(q) tokens, which the device alone knows.
  ktopk::top_k(exec, ktopk::rows(scores, lengths), ktopk::nothing, tokens,
               ktopk::per_row(ktopk::nothing, counts));

  show("tokens", tokens);
  show("how many", counts);
}
