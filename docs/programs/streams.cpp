// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/host_stream.hpp>
#include <ktopk/merge.hpp>

#include <cstdint>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;

  // A stream of which a chunk is there at a time: 4 7 1, then 9 3, then 7 8.
  ktopk::Accumulator<float> best(exec, 1, 3);  // one row, k = 3
  best.add(row<float>({4, 7, 1}), 0);          // positions 0, 1, 2
  best.add(row<float>({9, 3}), 3);
  best.add(row<float>({7, 8}), 5);
  show("values", best.values());
  show("positions", best.positions());

  // Two streams: of the second a part is there before the first has any.
  ktopk::Accumulator<float> both(exec, 2, 3);
  both.add_rows(row<int>({1}), matrix<float>({{5, 6}}), 0);
  both.add_rows(row<int>({1, 0}), matrix<float>({{8, 2}, {3, 1}}), 2);
  Kokkos::View<float**> const of_both("of both", 2, 3);
  both.result(of_both, ktopk::nothing);
  show("values of two streams", of_both);

  // A row in the memory of the host, and a row that is read from somewhere. Both may be longer than a device's memory.
  Kokkos::View<float*, Kokkos::HostSpace> const far("far", 1000);
  far(600) = 5;
  ktopk::Accumulator<float> longest(exec, 1, 3);
  ktopk::HostStream stream(longest);
  stream.add(far);  // positions 0 to 999
  stream.add(500, 1000, [](float* to, std::int64_t begin, std::int64_t count) {  // 1000 to 1499
    for (std::int64_t i = 0; i < count; ++i) to[i] = begin + i == 42 ? 8 : 1;
  });
  show("values of the host's keys", longest.values());
  show("positions of the host's keys", longest.positions());

  // Two lists that were selected elsewhere, with the positions of their keys. -1: no entry.
  auto const lists = matrix<float>({{9, 7, 4}, {8, 7, 0}});
  auto const places = matrix<int>({{3, 1, 0}, {6, 5, -1}});
  Kokkos::View<float*> const values("values", 3);
  Kokkos::View<int*> const positions("positions", 3);
  ktopk::merge(exec, lists, places, values, positions);
  show("merged values", values);
  show("merged positions", positions);
}
