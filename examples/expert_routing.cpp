// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/computed.hpp>
#include <ktopk/gather.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdlib>

#include "beside.hpp"

// A router of experts sends each token to the 8 that score best with a bias, which keeps their loads even, and weighs their
// answers by the scores alone. Beside it what is usual: biased scores are written, and selected from.
// expert_routing [scores]

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec::memory_space>;

struct Biased {
  Matrix<float> scores;
  Kokkos::View<float*, Exec::memory_space> bias;
  KOKKOS_FUNCTION float operator()(std::int64_t token, std::int64_t expert) const {
    return scores(token, expert) + bias(expert);
  }
};

struct Fill {
  Biased to;
  KOKKOS_FUNCTION void operator()(int token, int expert) const {
    auto const bits = static_cast<std::uint32_t>(token * 256 + expert + 1) * 2654435769u;
    to.scores(token, expert) = static_cast<float>(bits >> 8) * 0x1p-24f;
    to.bias(expert) = static_cast<float>(expert % 16) * 0x1p-8f;
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const experts = 256, k = 8, tokens = (argc > 1 ? std::atoi(argv[1]) : 1 << 22) / experts;
  Matrix<float> const scores("scores", tokens, experts), biased("biased", tokens, experts);
  Matrix<float> const weights("weights", tokens, k), same("same", tokens, k);
  Matrix<int> const chosen("chosen", tokens, k), others("others", tokens, k);
  Biased const score{scores, Kokkos::View<float*, Exec::memory_space>("bias", experts)};
  using Pairs = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>;
  Kokkos::parallel_for("fill", Pairs(exec, {0, 0}, {tokens, experts}), Fill{score});

  auto const call = [&] {
    ktopk::top_k(exec, ktopk::generate<float>(tokens, experts, score), ktopk::nothing, chosen);
    ktopk::gather(exec, chosen, ktopk::payload(scores, weights));
  };
  auto const selecting = [&] { ktopk::top_k(exec, biased, ktopk::nothing, others); };
  auto const copying = [&] {
    Kokkos::parallel_for(
        "bias", Pairs(exec, {0, 0}, {tokens, experts}),
        KOKKOS_LAMBDA(int token, int expert) { biased(token, expert) = score(token, expert); });
    selecting();
    Kokkos::parallel_for(
        "weigh", Pairs(exec, {0, 0}, {tokens, k}),
        KOKKOS_LAMBDA(int token, int i) { same(token, i) = scores(token, others(token, i)); });
  };
  return time_beside("routing of experts", exec, call, copying, selecting, [&] {
    int differing = 0;
    Kokkos::parallel_reduce(
        "compare", Pairs(exec, {0, 0}, {tokens, k}),
        KOKKOS_LAMBDA(int token, int i, int& sum) {
          bool const same_expert = chosen(token, i) == others(token, i);
          sum += same_expert && weights(token, i) == same(token, i) ? 0 : 1;
        },
        differing);
    return differing == 0;
  });
}
