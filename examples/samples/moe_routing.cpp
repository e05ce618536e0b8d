// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/gather.hpp>

#include "show.hpp"

struct Biased {
  Kokkos::View<float**> scores;
  Kokkos::View<float*> bias;
  KOKKOS_FUNCTION float operator()(std::int64_t token, std::int64_t expert) const {
    return scores(token, expert) + bias(expert);
  }
};

int main() {
  Kokkos::ScopeGuard const kokkos;
  Kokkos::DefaultExecutionSpace const exec;
  int const tokens = 4, experts = 64, k = 3;
  Kokkos::View<float**> const scores("scores", tokens, experts), weights("weights", tokens, k);
  Kokkos::View<float*> const bias("bias", experts);
  Kokkos::View<int**> const chosen("chosen", tokens, k);
  Kokkos::parallel_for(
      experts, KOKKOS_LAMBDA(int e) {
        bias(e) = static_cast<float>(e * 5 % 16) / 64;
        for (int t = 0; t < tokens; ++t)
          scores(t, e) = static_cast<float>((t * 37 + e * 101) % 256) / 256;
      });

  // Experts are chosen by score and bias, and weighted by the score alone.
  ktopk::top_k(exec, ktopk::generate<float>(tokens, experts, Biased{scores, bias}), ktopk::nothing,
               chosen);
  ktopk::gather(exec, chosen, ktopk::payload(scores, weights));

  show("experts", chosen);
  show("weights", weights);
}
