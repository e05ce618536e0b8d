// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/plan.hpp>
#include <ktopk/team.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

#include <Kokkos_Core.hpp>

#include "least_time.hpp"

// What selection inside a kernel takes beside a Plan's call on the same rows, in the same process: perf_team [rows].
// Floats in LayoutRight for teams and reducers, in the layout of the space for threads. Each time is the least of some;
// "same" says that values and positions are those of the Plan.

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
template <class Layout>
using Floats = Kokkos::View<float**, Layout>;
using Positions = Kokkos::View<int**, Kokkos::LayoutRight>;
using Values = Floats<Kokkos::LayoutRight>;
using Team = Kokkos::TeamPolicy<Exec>::member_type;

template <class Layout>
struct Fill {
  Floats<Layout> keys;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    auto const n = static_cast<std::int64_t>(keys.extent(1));
    keys(i / n, i % n) = static_cast<float>(mixed(i) >> 40) * 0x1p-24F;
  }
};

struct Out {
  Values values;
  Positions positions;
  Out(std::int64_t rows, std::int64_t k)
      : values("values", rows, k), positions("positions", rows, k) {}
};

struct ByTeams {
  Values keys;
  Out out;
  std::int64_t k;
  KOKKOS_FUNCTION void operator()(Team const& member) const {
    int const row = member.league_rank();
    ktopk::team_top_k(member, member.team_scratch(0), Kokkos::subview(keys, row, Kokkos::ALL), k,
                      Kokkos::subview(out.values, row, Kokkos::ALL),
                      Kokkos::subview(out.positions, row, Kokkos::ALL));
  }
};

template <class Layout>
struct ByThreads {
  Floats<Layout> keys;
  Out out;
  std::int64_t k;
  KOKKOS_FUNCTION void operator()(int row) const {
    ktopk::thread_top_k(Kokkos::subview(keys, row, Kokkos::ALL), k,
                        Kokkos::subview(out.values, row, Kokkos::ALL),
                        Kokkos::subview(out.positions, row, Kokkos::ALL));
  }
};

struct ByReducer {
  static constexpr int most = 8;
  using Best = ktopk::TopK<float, int, most>;
  Values keys;
  Out out;
  KOKKOS_FUNCTION void operator()(Team const& member) const {
    int const row = member.league_rank();
    Best::value_type best;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, static_cast<int>(keys.extent(1))),
        [&](int i, Best::value_type& of_thread) { of_thread.offer(keys(row, i), i); }, Best(best));
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      for (int slot = 0; slot < most; ++slot) {
        out.values(row, slot) = best.values[slot];
        out.positions(row, slot) = best.indices[slot];
      }
    });
  }
};

bool are_same(Out const& a, Out const& b) {
  auto const host = [](auto const& view) {
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  };
  auto const of_a = host(a.values), of_b = host(b.values);
  auto const at_a = host(a.positions), at_b = host(b.positions);
  return std::equal(of_a.data(), of_a.data() + of_a.size(), of_b.data()) &&
         std::equal(at_a.data(), at_a.data() + at_a.size(), at_b.data());
}

template <class Layout>
Floats<Layout> filled(std::int64_t rows, std::int64_t n) {
  Floats<Layout> const keys(Kokkos::view_alloc(Kokkos::WithoutInitializing, "keys"), rows, n);
  Kokkos::parallel_for("fill",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, rows * n),
                       Fill<Layout>{keys});
  return keys;
}

class Comparison {
 public:
  static constexpr int calls = 12;

  Comparison(std::int64_t rows, std::int64_t n, std::int64_t k)
      : m_rows(rows), m_n(n), m_k(k), m_truth(rows, k) {}

  template <class Layout, class Call>
  void compare(char const* way, Floats<Layout> const& keys, Call const& call) {
    ktopk::Plan<Exec> plan(m_exec, ktopk::make_shape<float, int>(m_rows, m_n, m_k));
    double const by_plan =
        least_microseconds(m_exec, calls, [&] { plan(keys, m_truth.values, m_truth.positions); });
    Out const out(m_rows, m_k);
    double const inside = least_microseconds(m_exec, calls, [&] { call(keys, out); });
    std::printf("%8lld x %5lld, k %3lld  %-14s %10.1f  top_k %10.1f  %6.2f  %s\n",
                static_cast<long long>(m_rows), static_cast<long long>(m_n),
                static_cast<long long>(m_k), way, inside, by_plan, inside / by_plan,
                are_same(out, m_truth) ? "same" : "WRONG");
  }
  void teams(Values const& keys) {
    for (int const size : {32, 128, 256}) {
      if (size > Exec().concurrency()) continue;
      compare(("team of " + std::to_string(size)).c_str(), keys,
              [&](Values const&, Out const& out) {
                run_teams(size, ktopk::team_scratch_bytes<float>(m_k), ByTeams{keys, out, m_k});
              });
    }
    if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, Exec::memory_space>::accessible)
      compare("team of 1", keys, [&](Values const&, Out const& out) {
        run_teams(1, ktopk::team_scratch_bytes<float>(m_k), ByTeams{keys, out, m_k});
      });
  }
  void reducer(Values const& keys) {
    using Policy = Kokkos::TeamPolicy<Exec>;
    int const rows = static_cast<int>(m_rows);
    auto const with = [&](std::string const& team, Policy const& policy) {
      compare(("reducer, " + team).c_str(), keys, [&](Values const&, Out const& out) {
        Kokkos::parallel_for("reducer", policy, ByReducer{keys, out});
      });
    };
    with("AUTO", Policy(m_exec, rows, Kokkos::AUTO));
    for (int const size : {32, 64})
      if (size <= Exec().concurrency()) with(std::to_string(size), Policy(m_exec, rows, size));
  }
  template <class Layout>
  void threads(Floats<Layout> const& keys) {
    compare("thread", keys, [&](Floats<Layout> const&, Out const& out) {
      Kokkos::parallel_for("threads",
                           Kokkos::RangePolicy<Exec>(m_exec, 0, static_cast<int>(m_rows)),
                           ByThreads<Layout>{keys, out, m_k});
    });
  }

 private:
  template <class Body>
  void run_teams(int size, std::size_t scratch, Body const& body) {
    Kokkos::TeamPolicy<Exec> policy(m_exec, static_cast<int>(m_rows), size);
    policy.set_scratch_size(0, Kokkos::PerTeam(scratch));
    Kokkos::parallel_for("teams", policy, body);
  }

  Exec m_exec;
  std::int64_t m_rows, m_n, m_k;
  Out m_truth;
};

}  // namespace

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const guard(argc, argv);
  std::int64_t const rows = argc > 1 ? std::stoll(argv[1]) : 16384;
  std::printf("%s, us, and over a Plan's call\n", Exec::name());
  for (std::int64_t const n : {256, 1024, 4096}) {
    auto const keys = filled<Kokkos::LayoutRight>(rows, n);
    auto const columns = filled<Exec::array_layout>(rows, n);
    for (std::int64_t const k : {8, 32, 64}) {
      Comparison comparison(rows, n, k);
      comparison.teams(keys);
      if (k == ByReducer::most) comparison.reducer(keys);
      comparison.threads(columns);
    }
  }
}
