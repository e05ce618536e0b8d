// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

using Best = ktopk::TopK<float, int, 3>;

int main() {
  Kokkos::ScopeGuard const kokkos;
  Best::value_type best;
  Kokkos::parallel_reduce(
      1000,
      KOKKOS_LAMBDA(int i, Best::value_type& of_thread) {
        of_thread.offer(static_cast<float>(i * 7 % 1000), i);  // key, index
      },
      Best(best));
  for (int j = 0; j < best.count; ++j) std::printf("%g at %d\n", best.values[j], best.indices[j]);
}
