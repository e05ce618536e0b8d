// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threshold.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

// Whether the threshold that par_ilut is given is the one it selects itself, without Kokkos Kernels.

using Exec = Kokkos::DefaultExecutionSpace;
using Values = Kokkos::View<double*, Exec::memory_space>;

/// Values of both signs, of which many have one magnitude.
struct Fill {
  Values values;
  KOKKOS_FUNCTION void operator()(int i) const {
    values(i) = (i % 2 == 0 ? -1 : 1) * static_cast<double>(i * 7919 % 1009);
  }
};

double least_magnitude(Values const& values, std::int64_t rank) {
  auto const copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::vector<double> magnitudes(copy.data(), copy.data() + copy.size());
  for (double& value : magnitudes) value = std::abs(value);
  std::nth_element(magnitudes.begin(), magnitudes.begin() + rank, magnitudes.end());
  return magnitudes[static_cast<std::size_t>(rank)];
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  Values const values("values", 5000);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, 5000), Fill{values});
  exec.fence();
  selection.way = Selection::Way::both;
  for (std::int64_t const rank : {0, 1, 2500, 4999})
    selected_threshold(exec, values, rank, [&] { return least_magnitude(values, rank); });
  std::printf("%d thresholds, %d differ\n", selection.calls, selection.differing);
  return selection.calls == 4 && selection.differing == 0 && selection.undefined == 0 ? 0 : 1;
}
