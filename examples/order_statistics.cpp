// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/gather.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <cstdint>
#include <cstdio>

#include <Kokkos_Core.hpp>

// Questions other than top_k, none of which sorts or copies the keys: quantiles, the threshold of a sparse factor
// (ParILUT), what reaches it, and the payload of what was selected.

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Array = Kokkos::View<T*, Exec::memory_space>;

struct Fill {
  Array<double> entries;
  Array<int> columns;
  KOKKOS_FUNCTION void operator()(int i) const {
    entries(i) = static_cast<double>(i * 7919LL % 10'007 - 5000) / 5000;
    columns(i) = i % 1000;
  }
};

template <class View>
auto on_host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const n = 1 << 20, kept = n / 100;
  Array<double> entries("entries", n);
  Array<int> columns("columns", n);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Exec>(exec, 0, n), Fill{entries, columns});

  // Three quartiles at once.
  Array<double> quartiles("quartiles", 3);
  ktopk::quantiles(exec, entries, {0.25, 0.5, 0.75}, quartiles);

  // The entries of the largest magnitudes: their threshold, then all that reach it in order of position, and where they are.
  ktopk::Options const magnitudes{.by = ktopk::By::magnitude};
  Kokkos::View<double, Exec::memory_space> threshold("threshold");
  Kokkos::View<std::int64_t, Exec::memory_space> count("count");
  Array<std::int64_t> positions("positions", 2 * kept);
  Array<int> kept_columns("kept columns", 2 * kept);
  Kokkos::deep_copy(exec, positions, -1);
  ktopk::kth(exec, entries, kept, threshold, magnitudes);
  ktopk::reaching(exec, entries, threshold, ktopk::nothing, positions, count, magnitudes);
  ktopk::gather(exec, positions, ktopk::payload(columns, kept_columns));
  exec.fence();

  auto const q = on_host(quartiles);
  std::printf("quartiles %g %g %g\n", q(0), q(1), q(2));
  std::printf("%lld entries reach the threshold %g; the first is in column %d\n",
              static_cast<long long>(on_host(count)()), on_host(threshold)(),
              on_host(kept_columns)(0));
  return on_host(count)() >= kept && q(0) < q(1) && q(1) < q(2) ? 0 : 1;
}
