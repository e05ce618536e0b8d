// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <functional>

#include "support.hpp"

// Summaries of lists of ranks that exist on one process alone.

namespace ktopk::testing {
namespace {

namespace parts = ktopk::detail::mpi;
using Number = ktopk::detail::CompositeKey128;

/// Numbers of all keys of some ranks, best first, and what they have merged.
struct Group {
  std::vector<Number> keys;
  parts::Summaries summaries;
};

/// Numbers of all keys of each rank and of all, best first.
struct Ranks {
  std::vector<std::vector<Number>> keys;
  std::vector<Number> all;
};
/// Some may have no key. `skew`: the first has far better keys.
Ranks random_ranks(std::uint64_t seed, int ranks, std::int64_t most, bool skew, int shift) {
  Ranks made;
  std::uint64_t next = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Number> keys;
    auto const count = static_cast<std::int64_t>(random_bits(seed, next++) % (most + 1));
    for (std::int64_t i = 0; i < count; ++i) {
      Number const bits = random_bits(seed, next) >> 34;
      Number const bonus = skew && rank == 0 ? Number{1} << 31 : Number{0};
      keys.push_back((((bits + bonus) << 32) + next++) << shift);
    }
    std::sort(keys.begin(), keys.end(), std::greater<>());
    made.all.insert(made.all.end(), keys.begin(), keys.end());
    made.keys.push_back(std::move(keys));
  }
  std::sort(made.all.begin(), made.all.end(), std::greater<>());
  return made;
}

std::int64_t reaching(std::vector<Number> const& keys, Number bound) {
  return std::upper_bound(keys.begin(), keys.end(), bound, std::greater<>()) - keys.begin();
}

void expect_bounds(parts::Summary const& summary, std::vector<Number> const& keys,
                   std::int64_t wanted) {
  std::size_t wrong = 0;
  Number before = 0;
  for (std::size_t i = 0; i < summary.entries.size(); ++i) {
    auto const& [number, least, most] = summary.entries[i];
    std::int64_t const truth = reaching(keys, number);
    if (least > truth || (number >= summary.floor && most < truth)) ++wrong;
    if (i > 0 && number >= before) ++wrong;
    before = number;
  }
  CHECK(wrong == 0);
  CHECK(static_cast<std::int64_t>(summary.entries.size()) <= 2 * parts::summary_size(wanted) + 3);
}

void expect_bracket(parts::Bracket const& bracket, std::vector<Number> const& keys,
                    std::int64_t wanted) {
  auto const count = static_cast<std::int64_t>(keys.size());
  Number const threshold = count <= wanted ? Number{0} : keys[static_cast<std::size_t>(wanted - 1)];
  CHECK(bracket.low <= threshold);
  if (bracket.is_settled) CHECK((bracket.low == threshold || count == wanted));
  if (!bracket.high) return;
  CHECK(*bracket.high >= threshold);
  CHECK(wanted - reaching(keys, *bracket.high) <= bracket.needed);
}

/// Of a rank that lists its best.
parts::Summary summary_of(std::vector<Number> const& keys, std::int64_t listed) {
  auto const count = static_cast<std::int64_t>(keys.size());
  parts::Summary own{{}, 0, count};
  for (std::int64_t i = 0; i < std::min(listed, count); ++i)
    own.entries.push_back({keys[static_cast<std::size_t>(i)], i + 1, i + 1});
  if (listed < count && listed > 0) own.floor = own.entries.back().number;
  return own;
}

/// Merges in an order at random. Each rank lists `listed` keys.
void expect_merged(Ranks const& ranks, std::int64_t wanted, std::int64_t listed, double widening,
                   std::uint64_t seed, int bits) {
  std::vector<parts::RowCut> const cuts{{wanted, static_cast<std::int64_t>(ranks.all.size())}};
  std::vector<Group> groups;
  for (auto const& keys : ranks.keys) {
    groups.push_back({keys, parts::Summaries(cuts, bits, widening)});
    groups.back().summaries.set(0, summary_of(keys, listed));
  }
  while (groups.size() > 1) {
    Group other = std::move(groups.back());
    groups.pop_back();
    Group& group = groups[random_bits(seed, groups.size()) % groups.size()];
    group.summaries.merge(other.summaries.message());
    std::vector<Number> both(group.keys.size() + other.keys.size());
    std::merge(group.keys.begin(), group.keys.end(), other.keys.begin(), other.keys.end(),
               both.begin(), std::greater<>());
    group.keys = std::move(both);
    expect_bounds(group.summaries[0], group.keys, wanted);
  }
  auto const bracket = parts::bracket_of(groups[0].summaries[0], wanted);
  expect_bracket(bracket, ranks.all, wanted);
  // Where all that may be wanted is listed and kept, the threshold is found.
  if (listed >= wanted && widening > 1e6) CHECK(bracket.is_found);
}

}  // namespace

TEST_CASE("a summary bounds how many keys are as good", "[mpi][few]") {
  std::uint64_t seed = 0;
  for (int const count : {1, 2, 7, 40})
    for (std::int64_t const most : {3, 300})
      for (bool const skew : {false, true})
        for (int const shift : {0, 60}) {
          Ranks const ranks = random_ranks(++seed, count, most, skew, shift);
          for (std::int64_t const wanted : {1, 10, 150, 2000, 100000})
            for (std::int64_t const listed : {std::int64_t{1}, std::int64_t{20}, wanted})
              for (double const widening : {1.0, 4.0, 1e9}) {
                INFO(count << " ranks of up to " << most << ", seed " << seed << ", wanted "
                           << wanted << ", listed " << listed << ", widening " << widening);
                expect_merged(ranks, wanted, listed, widening, seed, 64 + shift);
              }
        }
}

TEST_CASE("random keys are found with what ranks list first", "[mpi][few]") {
  int missed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (std::int64_t const wanted : {50, 1000, 5000}) {
      Ranks const ranks = random_ranks(seed, 32, 2000, false, 0);
      std::vector<parts::RowCut> const cuts{{wanted, static_cast<std::int64_t>(ranks.all.size())}};
      parts::Summaries all(cuts, 64, 1);
      for (auto const& keys : ranks.keys) {
        auto const count = static_cast<std::int64_t>(keys.size());
        std::int64_t const listed =
            std::min(count, parts::listed_share(wanted, count, cuts[0].all_keys, 1));
        parts::Summaries one(cuts, 64, 1);
        one.set(0, summary_of(keys, listed));
        all.merge(one.message());
      }
      if (!parts::bracket_of(all[0], wanted).is_found) ++missed;
    }
  CHECK(missed == 0);
}

}  // namespace ktopk::testing
