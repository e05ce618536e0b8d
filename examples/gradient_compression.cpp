// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdlib>

#include "beside.hpp"

// Gradient compression sends the 1 % of a gradient that is largest by magnitude, with its sign. Beside it what is usual:
// magnitudes are written, the largest are selected, and their values gathered. gradient_compression [keys]

using Exec = Kokkos::DefaultExecutionSpace;
using Gradient = Kokkos::View<float*, Exec::memory_space>;
using Positions = Kokkos::View<int*, Exec::memory_space>;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const n = argc > 1 ? std::atoi(argv[1]) : 1 << 24, k = n / 100;
  Gradient const gradient("gradient", n), values("values", k), same("same", k);
  Gradient const magnitudes("magnitudes", n);
  Positions const positions("positions", k), others("others", k);
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
        auto const bits = static_cast<std::uint32_t>(i + 1) * 2654435769u;
        gradient(i) = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
      });

  auto const call = [&] {
    ktopk::top_k(exec, gradient, values, positions,
                 {.sorted = ktopk::Sorted::no, .by = ktopk::By::magnitude});
  };
  auto const selecting = [&] {
    ktopk::top_k(exec, magnitudes, ktopk::nothing, others, {.sorted = ktopk::Sorted::no});
  };
  auto const copying = [&] {
    Kokkos::parallel_for(
        "magnitudes", Kokkos::RangePolicy<Exec>(exec, 0, n),
        KOKKOS_LAMBDA(int i) { magnitudes(i) = gradient(i) < 0 ? -gradient(i) : gradient(i); });
    selecting();
    Kokkos::parallel_for(
        "gather", Kokkos::RangePolicy<Exec>(exec, 0, k),
        KOKKOS_LAMBDA(int i) { same(i) = gradient(others(i)); });
  };
  // Neither is sorted: positions are compared by their sum and that of their squares.
  return time_beside("gradient compression", exec, call, copying, selecting, [&] {
    std::int64_t differing = 0;
    Kokkos::parallel_reduce(
        "compare", Kokkos::RangePolicy<Exec>(exec, 0, k),
        KOKKOS_LAMBDA(int i, std::int64_t& sum) {
          std::int64_t const one = positions(i), other = others(i);
          sum += one * (one + 1) - other * (other + 1);
          sum += values(i) != gradient(positions(i)) || same(i) != gradient(others(i)) ? 1 : 0;
        },
        differing);
    return differing == 0;
  });
}
