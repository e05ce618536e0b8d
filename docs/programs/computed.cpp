// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>

#include "show.hpp"

struct Distance {  // of each key to 10
  KOKKOS_FUNCTION float operator()(float key) const { return Kokkos::fabs(key - 10); }
};
struct Square {  // of each position modulo 7
  KOKKOS_FUNCTION int operator()(std::int64_t i) const { return static_cast<int>(i % 7 * (i % 7)); }
};

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  auto const keys = row<float>({3, 12, 9, 30, 11});
  Kokkos::View<float*> const values("values", 2);
  Kokkos::View<int*> const squares("squares", 2), indices("indices", 2);

  ktopk::top_k(exec, ktopk::transform(keys, Distance{}), values, indices,
               {.order = ktopk::Order::smallest});
  show("transform, values", values);
  show("transform, indices", indices);

  ktopk::top_k(exec, ktopk::generate<int>(100, Square{}), squares, indices);
  show("generate, values", squares);
  show("generate, indices", indices);

  auto const mask = row<bool>({true, true, true, false, false});
  ktopk::top_k(exec, ktopk::where(keys, mask), values, indices);
  show("where, values", values);
  show("where, indices", indices);

  auto const bias = row<float>({5, 0, 10, 40, 40});
  auto const biased = KOKKOS_LAMBDA(std::int64_t i) { return keys(i) + bias(i); };
  ktopk::top_k(exec, ktopk::where(ktopk::generate<float>(5, biased), mask), values, indices);
  show("where of generate, values", values);
  show("where of generate, indices", indices);
}
