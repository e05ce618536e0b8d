// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <limits>

#include "show.hpp"

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  float const nan = std::numeric_limits<float>::quiet_NaN();
  auto const keys = row<float>({2, nan, 7, -7, 7, nan, 1});
  Kokkos::View<int*> const indices("indices", 4);

  auto const two_runs = [&](char const* rule, ktopk::Options options) {
    std::printf("%s\n", rule);
    for (ktopk::Order const order : {ktopk::Order::largest, ktopk::Order::smallest}) {
      options.order = order;
      ktopk::top_k(exec, keys, ktopk::nothing, indices, options);
      show(order == ktopk::Order::largest ? "  largest" : "  smallest", indices);
    }
  };
  using namespace ktopk;
  two_runs("the default", {});
  two_runs("Ties::highest_index", {.ties = Ties::highest_index});
  two_runs("NaN::least", {.nan = NaN::least});
  two_runs("NaN::skip", {.nan = NaN::skip});
  two_runs("NaN::skip, By::magnitude", {.nan = NaN::skip, .by = By::magnitude});
}
