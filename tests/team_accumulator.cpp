// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/team_accumulator.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include <Kokkos_Core.hpp>

#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"
#include "support/results.hpp"
#include "support/run.hpp"
#include "support/spaces.hpp"

// What the threads of a team offer, in any order: the answers of the oracle, as for top_k.

namespace ktopk::testing {
namespace {

using Types = std::tuple<std::uint8_t, bfloat16, float, std::int64_t>;

template <class Exec, class T>
struct OfferInTeam {
  using Memory = MemoryOf<Exec>;
  using Best = TeamAccumulator<T, std::int32_t>;
  Kokkos::View<T**, Kokkos::LayoutLeft, Memory> keys;
  Results<T, std::int64_t, Memory> out;
  Options options;
  int level;

  KOKKOS_FUNCTION void operator()(
      typename Kokkos::TeamPolicy<Exec>::member_type const& member) const {
    std::int64_t const row = member.league_rank();
    auto const values = Kokkos::subview(out.values, row, Kokkos::ALL);
    auto const indices = Kokkos::subview(out.indices, row, Kokkos::ALL);
    auto const n = static_cast<std::int32_t>(keys.extent(1));
    Best const best(member, member.team_scratch(level), static_cast<std::int64_t>(values.extent(0)),
                    options);
    // Threads offer different numbers of keys, in no order, and neighbors never together.
    for (int turn = 0; turn < 3; ++turn)
      for (std::int32_t i = n - 1 - member.team_rank(); i >= 0; i -= member.team_size())
        if ((i + i / 7) % 3 == turn) best.offer(keys(row, i), i);
    std::int64_t const count = best.finish(member, values, indices);
    Kokkos::single(Kokkos::PerTeam(member), [&] { out.counts(row) = count; });
  }
};

struct Size {
  std::int64_t n, k;
};

template <class T, class Exec>
void expect_best(Exec const& exec, Input input, Size size, Options const& options, int level,
                 int team, Validation& validation) {
  std::int64_t const rows = 5;
  auto const question = uniform_question(filled<T>(input, rows, size.n), rows, size.n, size.k);
  Results<T, std::int64_t, MemoryOf<Exec>> const out(rows, size.k);
  OfferInTeam<Exec, T> const body{
      copied_to<MemoryOf<Exec>, Kokkos::LayoutLeft>(question.keys, rows, size.n), out, options,
      level};
  auto const scratch = Kokkos::PerTeam(OfferInTeam<Exec, T>::Best::scratch_bytes(size.k));
  auto const policy_of = [&](int threads) {
    Kokkos::TeamPolicy<Exec> policy(exec, static_cast<int>(rows), threads);
    policy.set_scratch_size(level, scratch);
    return policy;
  };
  int const most = policy_of(1).team_size_max(body, Kokkos::ParallelForTag());
  Kokkos::parallel_for("test::offer_in_team", policy_of(std::min(team, most)), body);
  exec.fence();
  validation.expect(question, solve(question, options), out.fetch(), options, [&] {
    return std::string(exec.name()) + ", " + name(input) + ", n = " + std::to_string(size.n) +
           ", k = " + std::to_string(size.k) + ", teams of " + std::to_string(std::min(team, most));
  });
}

template <class T>
Options next_options(std::uint64_t turn) {
  std::vector<Options> some;
  for (Options const& options : every_option<T>())
    if (options.sorted == Sorted::yes) some.push_back(options);
  return some[random_bits(1, turn) % some.size()];
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("threads of a team offer keys in any order", "[team]", Types) {
  Validation validation;
  for_each_exec([&]<class Exec>(Exec const& exec) {
    bool const is_host = ktopk::detail::is_host_space<Exec>;
    std::uint64_t turn = 0;
    for (Input input : inputs_for<TestType>())
      for (Size const size :
           {Size{1, 1}, Size{5, 9}, Size{300, 17}, Size{4000, 64}, Size{700, 700}})
        for (int const team : is_host ? std::vector{1, 2} : std::vector{1, 3, 32, 67, 256, 1000}) {
          ++turn;
          expect_best<TestType>(exec, input, size, next_options<TestType>(turn),
                                static_cast<int>(turn % 2), team, validation);
        }
  });
  validation.close();
}

}  // namespace ktopk::testing
