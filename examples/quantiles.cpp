// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>
#include <ktopk/order_statistics.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <cstdint>
#include <cstdlib>

#include "beside.hpp"

// Seven quantiles, as a plot of a distribution needs them. Beside it what is usual: a copy is sorted. quantiles [keys]

using Exec = Kokkos::DefaultExecutionSpace;
using Keys = Kokkos::View<double*, Exec::memory_space>;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const n = argc > 1 ? std::atoi(argv[1]) : 10'000'000;
  Keys const keys("keys", n), copy("copy", n), values("values", 7);
  double const q[] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};
  Kokkos::parallel_for(
      "fill", Kokkos::RangePolicy<Exec>(exec, 0, n), KOKKOS_LAMBDA(int i) {
        auto const bits = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15ull;
        keys(i) = static_cast<double>(bits >> 11) * 0x1p-53;
      });

  auto const call = [&] { ktopk::quantiles(exec, keys, q, values, ktopk::Interpolation::lower); };
  auto const copying = [&] {
    Kokkos::deep_copy(exec, copy, keys);
    Kokkos::sort(exec, copy);
  };
  return time_beside("seven quantiles", exec, call, copying, copying, [&] {
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
    auto const sorted = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy);
    bool are_same = true;
    for (int i = 0; i < 7; ++i)
      are_same = are_same && found(i) == sorted(static_cast<int>(q[i] * (n - 1)));
    return are_same;
  });
}
