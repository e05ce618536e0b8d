// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdlib>

#include "beside.hpp"

// An indexer of sparse attention scores all tokens for a query, which attends to the best 3 %. Scores lie in a padded matrix;
// how many tokens a query may see, the device alone knows. Beside it what is usual: a copy of the scores whose padding is
// minus infinity is selected from, and tokens of the padding are taken out. attention_indexer [scores]

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec::memory_space>;
using Lengths = Kokkos::View<int*, Exec::memory_space>;

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const queries = 64, longest = (argc > 1 ? std::atoi(argv[1]) : 1 << 22) / queries;
  int const k = longest / 32;
  Matrix<float> const scores("scores", queries, longest), copy("copy", queries, longest);
  Matrix<int> const tokens("tokens", queries, k), others("others", queries, k);
  Lengths const lengths("lengths", queries);
  using Pairs = Kokkos::MDRangePolicy<Exec, Kokkos::Rank<2>>;
  Kokkos::parallel_for(
      "fill", Pairs(exec, {0, 0}, {queries, longest}), KOKKOS_LAMBDA(int query, int token) {
        auto const bits = static_cast<std::uint32_t>(query * longest + token + 1) * 2654435769u;
        scores(query, token) = static_cast<float>(bits >> 8);
        lengths(query) = query * (longest / queries) + 1;
      });

  ktopk::Options const any_order{.sorted = ktopk::Sorted::no};
  auto const call = [&] {
    ktopk::top_k(exec, ktopk::rows(scores, lengths), ktopk::nothing, tokens, any_order);
  };
  auto const selecting = [&] { ktopk::top_k(exec, copy, ktopk::nothing, others, any_order); };
  auto const copying = [&] {
    Kokkos::parallel_for(
        "mask", Pairs(exec, {0, 0}, {queries, longest}), KOKKOS_LAMBDA(int query, int token) {
          bool const is_seen = token < lengths(query);
          copy(query, token) =
              is_seen ? scores(query, token) : -Kokkos::Experimental::infinity_v<float>;
        });
    selecting();
    Kokkos::parallel_for(
        "take out", Pairs(exec, {0, 0}, {queries, k}), KOKKOS_LAMBDA(int query, int i) {
          if (others(query, i) >= lengths(query)) others(query, i) = -1;
        });
  };
  // Neither is sorted: tokens are compared by their sum and that of their squares.
  return time_beside("indexer of attention", exec, call, copying, selecting, [&] {
    std::int64_t sum = 0, squares = 0;
    Kokkos::parallel_reduce(
        "compare", Pairs(exec, {0, 0}, {queries, k}),
        KOKKOS_LAMBDA(int query, int i, std::int64_t& s, std::int64_t& t) {
          std::int64_t const one = tokens(query, i) + 1, other = others(query, i) + 1;
          s += (one - other) * (query + 1);
          t += (one * one - other * other) * (query + 1);
        },
        sum, squares);
    return sum == 0 && squares == 0;
  });
}
