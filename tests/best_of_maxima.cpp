// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "portable/group/team_selection.hpp"
#include "support/copies.hpp"
#include "support/inputs.hpp"
#include "support/sorted_options.hpp"
#include "support/team_of_threads.hpp"

// The best of a row by its strips' maxima, by teams of any size: here a team is threads of the host.

namespace ktopk::testing {
namespace {

using namespace ktopk::detail;

template <class T>
struct Row {
  using Key = T;
  std::vector<T> keys;
  std::int64_t size() const { return std::ssize(keys); }
  T operator[](std::int64_t i) const { return keys[static_cast<std::size_t>(i)]; }
};

/// What a team lists, and whether each of its threads says that it did.
template <class T>
struct Listed {
  std::vector<TeamCompositeKey<T>> list;
  std::vector<int> succeeds;
};

template <class T>
Listed<T> list_best_by(int team, Row<T> const& row, int k, KeyOrder<T> const& order) {
  auto const map = team_map<TeamCompositeKey<T>>(order, row.size());
  int const places = power_of_two_from(k);
  Listed<T> listed{std::vector<TeamCompositeKey<T>>(static_cast<std::size_t>(places), 1),
                   std::vector<int>(static_cast<std::size_t>(team), 2)};
  run_team(team, kth_largest_bytes, [&](GroupOfThreads const& group) {
    BestOfMaxima<T, GroupOfThreads, Row<T>, TeamCompositeKey<T>> const best(group, row, order, map,
                                                                            group.shared());
    listed.succeeds[static_cast<std::size_t>(group.rank())] =
        best(k, listed.list.data(), places) ? 1 : 0;
  });
  return listed;
}

template <class T>
std::vector<TeamCompositeKey<T>> expected(Row<T> const& row, int k, KeyOrder<T> const& order) {
  auto const map = team_map<TeamCompositeKey<T>>(order, row.size());
  std::vector<TeamCompositeKey<T>> all;
  for (std::int64_t i = 0; i < row.size(); ++i)
    all.push_back(map.join(order.rank(row[i]), static_cast<std::uint64_t>(i)));
  std::ranges::sort(all);
  std::vector<TeamCompositeKey<T>> list(static_cast<std::size_t>(power_of_two_from(k)) -
                                        static_cast<std::size_t>(k));
  list.insert(list.end(), all.end() - k, all.end());
  return list;
}

}  // namespace

TEMPLATE_TEST_CASE("the best of maxima by teams of any size", "[foundation]", std::uint8_t, float,
                   double) {
  std::uint64_t turn = 0;
  auto const options = sorted_options<TestType>();
  for (Input input : inputs_for<TestType>())
    for (int team : {1, 3, 31, 32, 65})
      for (int n : {1, 70, 129, 700, 3000})
        for (int k : {1, 5, 64}) {
          if (k > n) continue;
          INFO(name(input) << ", team of " << team << ", n = " << n << ", k = " << k);
          Row<TestType> const row{filled<TestType>(input, 1, n)};
          KeyOrder<TestType> const order(options[turn++ % options.size()]);
          auto const listed = list_best_by(team, row, k, order);
          bool const succeeds = listed.succeeds.front() == 1;
          REQUIRE(std::ranges::count(listed.succeeds, succeeds ? 1 : 0) == team);
          if (n <= 256) REQUIRE(succeeds);
          if (succeeds) REQUIRE((listed.list == expected(row, k, order)));
        }
}

// One strip's maximum is one key: the others of the strip then reach the threshold, more than are held.
TEST_CASE("the best keys of few strips are not listed by maxima", "[foundation]") {
  Row<float> row{std::vector<float>(40000, 0.0F)};
  for (std::size_t i = 0; i < row.keys.size(); i += 128) row.keys[i] = static_cast<float>(i);
  for (int team : {3, 32}) {
    auto const listed = list_best_by(team, row, 64, KeyOrder<float>(Options{}));
    REQUIRE(std::ranges::count(listed.succeeds, team == 32 ? 0 : 1) == team);
  }
}

}  // namespace ktopk::testing
