// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdio>

// Sparse attention: of each query the k best scores. Scores lie in a padded matrix, and how many of them a query has is
// known on the device alone. Queries with fewer than k tokens are filled with -1, also where the matrix is narrower than k.

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using Array = Kokkos::View<T*, Exec::memory_space>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec::memory_space>;

struct Score {
  Matrix<float> scores;
  Array<int> lengths;
  KOKKOS_FUNCTION void operator()(int query) const {
    lengths(query) = 3 + 97 * query;
    // What lies behind a query's tokens is of no meaning.
    for (int t = 0; t < static_cast<int>(scores.extent(1)); ++t)
      scores(query, t) = t < lengths(query) ? static_cast<float>(t * 37 % 101) : 1e30f;
  }
};

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  Exec const exec;
  int const queries = 4, longest = 500, k = 8;
  Matrix<float> const scores("scores", queries, longest);
  Array<int> const lengths("lengths", queries), counts("counts", queries);
  Matrix<int> const tokens("tokens", queries, k), few("few", queries, k);
  Kokkos::parallel_for("score", Kokkos::RangePolicy<Exec>(exec, 0, queries),
                       Score{scores, lengths});

  ktopk::top_k(exec, ktopk::rows(scores, lengths), ktopk::nothing, tokens,
               ktopk::per_row(ktopk::nothing, counts));

  // A rank of which the whole matrix is narrower than k.
  auto const narrow = Kokkos::subview(scores, Kokkos::ALL, Kokkos::pair<int, int>(0, 5));
  ktopk::top_k(exec, narrow, ktopk::nothing, few, {.short_rows = ktopk::ShortRows::fill});

  auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), tokens);
  auto const many = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), counts);
  auto const filled = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), few);
  for (int q = 0; q < queries; ++q)
    std::printf("query %d: %d tokens, the best %d and %d\n", q, many(q), found(q, 0), found(q, 1));
  bool const right = many(0) == 3 && found(0, 3) == -1 && many(3) == k && found(3, 0) == 30 &&
                     filled(2, 4) >= 0 && filled(2, 5) == -1;
  return right ? 0 : 1;
}
