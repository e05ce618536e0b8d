// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/gather.hpp>
#include <ktopk/ktopk.hpp>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const n = 10000, k = 3;
  Kokkos::View<float*> const energy("energy", n), highest("highest", k);
  Kokkos::View<double* [3]> const position("position", n), its_position("its position", k);
  Kokkos::View<std::int64_t*> const id("id", n), its_id("its id", k);
  Kokkos::View<int*> const indices("indices", k);
  Kokkos::parallel_for(
      n, KOKKOS_LAMBDA(int i) {
        energy(i) = static_cast<float>(i * 7919 % 10007);
        id(i) = 5000 + i;
        for (int d = 0; d < 3; ++d) position(i, d) = (i * (d + 3)) % 64 / 64.0;
      });

  // Particles are not moved: the selected ones are copied, with all that belongs to them.
  ktopk::top_k(exec, energy, highest, indices);
  ktopk::gather(exec, indices, ktopk::payload(id, its_id), ktopk::payload(position, its_position));

  show("energies", highest);
  show("ids", its_id);
  show("position", its_position);
}
