// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team.hpp>
#include <ktopk/team_accumulator.hpp>

#include "show.hpp"

using Exec = Kokkos::DefaultExecutionSpace;
using Team = Kokkos::TeamPolicy<Exec>;

struct Distance {  // of a point to a query, on a line
  Kokkos::View<float*> points;
  float query;
  KOKKOS_FUNCTION float operator()(std::int64_t p) const { return Kokkos::fabs(points(p) - query); }
};

int main() {
  Kokkos::ScopeGuard const kokkos;
  Exec const exec;
  int const k = 2;
  auto const keys = matrix<float>({{4, 1, 3, 2}, {10, 40, 20, 30}});
  Kokkos::View<float**> const values("values", 2, k);
  Kokkos::View<int**> const indices("indices", 2, k);

  // A team selects from each row.
  int const bytes = static_cast<int>(ktopk::team_scratch_bytes<float>(k));
  Kokkos::parallel_for(
      Team(exec, 2, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(bytes)),
      KOKKOS_LAMBDA(Team::member_type const& member) {
        int const r = member.league_rank();
        ktopk::team_top_k(member, member.team_scratch(0), Kokkos::subview(keys, r, Kokkos::ALL), k,
                          Kokkos::subview(values, r, Kokkos::ALL),
                          Kokkos::subview(indices, r, Kokkos::ALL));
      });
  show("by teams", values);

  // The threads of a team offer keys, in any order.
  using Best = ktopk::TeamAccumulator<float, int>;
  int const of_best = static_cast<int>(Best::scratch_bytes(k));
  Kokkos::parallel_for(
      Team(exec, 2, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(of_best)),
      KOKKOS_LAMBDA(Team::member_type const& member) {
        int const r = member.league_rank();
        Best const best(member, member.team_scratch(0), k);
        Kokkos::parallel_for(Kokkos::TeamThreadRange(member, 4),
                             [&](int i) { best.offer(keys(r, i), i); });
        best.finish(member, Kokkos::subview(values, r, Kokkos::ALL),
                    Kokkos::subview(indices, r, Kokkos::ALL));
      });
  show("offered", values);

  // A thread selects from each row.
  Kokkos::parallel_for(
      Kokkos::RangePolicy(exec, 0, 2), KOKKOS_LAMBDA(int r) {
        ktopk::thread_top_k(Kokkos::subview(keys, r, Kokkos::ALL), k, ktopk::Nothing{},
                            Kokkos::subview(indices, r, Kokkos::ALL));
      });
  show("by threads", indices);

  // A team finds the points that are nearest to a query.
  auto const points = row<float>({1, 8, 3, 6, 9});
  auto const queries = row<float>({5, 9});
  Kokkos::parallel_for(
      Team(exec, 2, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(bytes)),
      KOKKOS_LAMBDA(Team::member_type const& member) {
        int const q = member.league_rank();
        ktopk::team_top_k(member, member.team_scratch(0),
                          ktopk::in_kernel(5, Distance{points, queries(q)}), k, ktopk::Nothing{},
                          Kokkos::subview(indices, q, Kokkos::ALL),
                          {.order = ktopk::Order::smallest});
      });
  show("nearest", indices);

  // The same by a reduction in each team, which computes each distance once.
  using Nearest = ktopk::TopK<float, int, 2>;
  Kokkos::parallel_for(
      Team(exec, 2, Kokkos::AUTO), KOKKOS_LAMBDA(Team::member_type const& member) {
        int const q = member.league_rank();
        Nearest::value_type best;
        Kokkos::parallel_reduce(
            Kokkos::TeamThreadRange(member, 5),
            [&](int p, Nearest::value_type& of_thread) {
              of_thread.offer(Kokkos::fabs(points(p) - queries(q)), p);
            },
            Nearest(best, {.order = ktopk::Order::smallest}));
        Kokkos::single(Kokkos::PerTeam(member), [&] {
          for (int j = 0; j < k; ++j) indices(q, j) = best.indices[j];
        });
      });
  show("by a reduction", indices);
}
