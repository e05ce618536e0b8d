// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_Sort.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include "show.hpp"

// What is replaced, and what replaces it: each [part] is shown by a page.

using Host = Kokkos::DefaultHostExecutionSpace;

void from_partial_sort() {
  std::vector<float> const keys{3, 8, 5, 1, 9, 7, 5};
  int const n = static_cast<int>(keys.size()), k = 3;
  // [partial_sort]
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int a, int b) { return keys[a] > keys[b]; });
  // [for partial_sort]
  Kokkos::View<float const*, Kokkos::HostSpace> const in_place(keys.data(), n);
  Kokkos::View<int*, Kokkos::HostSpace> const indices("indices", k);
  ktopk::top_k(Host(), in_place, ktopk::nothing, indices);
  // [end]
  show("std::partial_sort", Kokkos::View<int*, Kokkos::HostSpace>(order.data(), k));
  show("ktopk::top_k", indices);
}

void from_sort() {
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = row<float>({3, 8, 5, 1, 9, 7, 5});
  int const n = static_cast<int>(keys.extent(0)), k = 3;
  // [sort]
  Kokkos::View<float*> const copy("copy", n);
  Kokkos::deep_copy(exec, copy, keys);
  Kokkos::sort(exec, copy);
  auto const largest = Kokkos::subview(copy, Kokkos::pair(n - k, n));
  // [for sort]
  Kokkos::View<float*> const values("values", k);
  Kokkos::View<int*> const indices("indices", k);
  ktopk::top_k(exec, keys, values, indices);
  // [end]
  exec.fence();
  show("Kokkos::sort", largest);
  show("ktopk::top_k", values);
}

int main() {
  Kokkos::ScopeGuard const kokkos;
  from_partial_sort();
  from_sort();
}
