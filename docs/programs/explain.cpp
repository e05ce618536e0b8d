// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultHostExecutionSpace const exec;
  auto const shape = ktopk::make_shape<float>(3, 100'000, 5'000);  // rows, n, k

  auto const choice = ktopk::explain(exec, shape);
  std::printf("%s\n", choice.kernel.c_str());

  auto const asked = ktopk::explain(exec, shape, {.algorithm = ktopk::Algorithm::queue});
  std::printf("%s\n", asked.kernel.c_str());
  for (auto const& declined : asked.declined)
    std::printf("not %s: %s\n", declined.kernel.c_str(), declined.reason.c_str());
}
