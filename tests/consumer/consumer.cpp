// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <cstdio>

#include <Kokkos_Core.hpp>
#include <ktopk/ktopk.hpp>

// A user's program: the three largest of 1000 keys, the largest of which stand in the middle.
int main() {
  Kokkos::ScopeGuard const guard;
  Kokkos::DefaultExecutionSpace const exec;
  Kokkos::View<float*> const keys("keys", 1000), values("values", 3);
  Kokkos::View<std::int64_t*> const indices("indices", 3);
  auto const host_keys = Kokkos::create_mirror_view(keys);
  for (int i = 0; i < 1000; ++i) host_keys(i) = static_cast<float>(i < 500 ? i : 1000 - i);
  Kokkos::deep_copy(keys, host_keys);

  ktopk::top_k(exec, keys, values, indices);

  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  auto const where = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), indices);
  for (int i = 0; i < 3; ++i) std::printf("%g at %d\n", found(i), static_cast<int>(where(i)));
  bool const right = found(0) == 500 && where(0) == 500 && found(1) == 499 && where(1) == 499 &&
                     found(2) == 499 && where(2) == 501;
  return right && ktopk::version() == KTOPK_VERSION_STRING ? 0 : 1;
}
