// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>
#include <ktopk/recall.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

int main() {
  Kokkos::ScopeGuard const kokkos;
  using Exec = Kokkos::DefaultExecutionSpace;
  int const n = 100'000, k = 100;
  Kokkos::View<float*> const keys("keys", n), values("values", k), found("found", k);
  Kokkos::parallel_for(
      "fill", n, KOKKOS_LAMBDA(int i) {
        auto x = static_cast<unsigned>(i);
        for (int round = 0; round < 2; ++round) x = (x ^ (x >> 16)) * 0x45d9f3bu;
        keys(i) = static_cast<float>(x >> 8);  // in no order
      });
  // [recall]
  Exec const exec;
  ktopk::Options const options{.algorithm = ktopk::Algorithm::delegate, .recall = 0.9};
  ktopk::top_k(exec, keys, found, ktopk::nothing, options);
  double const promised = ktopk::recall_of(ktopk::make_shape<float>(1, n, k), options);
  // [end]
  ktopk::top_k(exec, keys, values, ktopk::nothing);
  auto const host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  auto const exact = host(values), some = host(found);
  int both = 0;
  for (int i = 0, j = 0; i < k && j < k; ++i) {
    if (exact(i) != some(j)) continue;
    ++both;
    ++j;
  }
  std::printf("expected %.3f, found %d of %d\n", promised, both, k);
}
