// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/ktopk.hpp>

#include <cstdio>
#include <stdexcept>

#include "show.hpp"

// Calls that are refused, and what they say.

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Row = Kokkos::View<T*>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight>;

template <class Call>
void refused(Call const& call) {
  try {
    call();
    std::printf("not refused\n");
  } catch (std::invalid_argument const& error) { std::printf("%s\n", error.what()); }
}

int main() {
  Kokkos::ScopeGuard const kokkos;
  Exec const exec;
  Row<float> const keys("keys", 100), values("values", 10), many("many", 200);
  Row<int> const indices("indices", 10), few("few", 9), too_many("too many", 200);
  Row<bool> const mask("mask", 99);
  Matrix<float> const batch("batch", 4, 100), best("best", 10, 4);
  Matrix<int> const positions("positions", 10, 4);
  ktopk::Shape const shape = ktopk::make_shape<float, int>(1, 100, 10);

  refused([&] { ktopk::top_k(exec, keys, many, too_many); });
  refused([&] { ktopk::top_k(exec, keys, values, few); });
  refused([&] { ktopk::top_k(exec, batch, best, positions); });
  refused([&] { ktopk::top_k(exec, keys, Kokkos::subview(keys, Kokkos::pair(0, 10)), indices); });
  refused([&] { ktopk::top_k(exec, ktopk::where(keys, mask), values, indices); });
  refused([&] { ktopk::Plan(exec, shape)(batch, ktopk::nothing, Matrix<int>("rows", 4, 10)); });
  refused([&] { ktopk::Plan(exec, ktopk::Shape{1, 100, 10}); });
  refused([&] {
    ktopk::Plan plan(exec, shape);
    ktopk::Plan const moved(std::move(plan));
    plan(keys, values, indices);
  });
}
