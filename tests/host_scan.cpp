// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/host/scan.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "backends/host/pivot.hpp"
#include "backends/host/radix/scan.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using ktopk::detail::all_host_loops;
using ktopk::detail::bits_of;
using ktopk::detail::filter_block;
using ktopk::detail::HostLoops;
using ktopk::detail::KeyScan;
using ktopk::detail::long_block;
using ktopk::detail::make_ordered_bits_map;
using ktopk::detail::OrderedBitsDigits;
using ktopk::detail::OrderedBitsMap;
using ktopk::detail::Pivot;
using ktopk::detail::Samples;
using ktopk::detail::TieSplitter;

using Widths = std::tuple<std::uint8_t, bfloat16, float, double>;

template <class T>
std::vector<bits_of<T>> ranks_of(Input input, int count) {
  auto const map = make_ordered_bits_map<T>({});
  std::vector<bits_of<T>> ranks;
  for (T key : make_keys<T>(input, count, 4)) ranks.push_back(map(std::bit_cast<bits_of<T>>(key)));
  return ranks;
}

/// Whether exactly k ranks reach the pivot's, or it is the k-th best, with the right surplus and number of ties.
template <class Bits>
bool is_pivot(Pivot<Bits> const& pivot, std::vector<Bits> const& ranks, int k) {
  int reaching = 0, ties = 0;
  for (Bits rank : ranks) {
    reaching += rank >= pivot.rank;
    ties += rank == pivot.rank;
  }
  if (pivot.surplus != reaching - k) return false;
  return pivot.surplus == 0 || (pivot.ties == ties && pivot.surplus < ties);
}

template <class Bits>
int wrong_pivots(std::vector<Bits> const& ranks) {
  auto const count = static_cast<int>(ranks.size());
  int wrong = 0;
  for (auto const& loops : all_host_loops<Bits>())
    for (int k : {1, 2, 33, count / 64 + 1, count / 3, count / 2, count - 1, count}) {
      Pivot<Bits> pivot;
      if (count >= long_block && find_pivot(loops, {}, ranks.data(), count, k, pivot))
        wrong += !is_pivot(pivot, ranks, k);
      wrong += !is_pivot(pivot_of(loops, ranks.data(), count, k), ranks, k);
    }
  return wrong;
}

/// Searches a range between two of the ranks, for every kind of k: k-th best above, inside and below the range.
template <class Bits>
int wrong_pivots_in(HostLoops<Bits> const& loops, std::vector<Bits> const& ranks, Bits one,
                    Bits other) {
  Bits const least = std::min(one, other), most = std::max(one, other);
  auto const count_if = [&](auto const& is) {
    return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), is));
  };
  int const above = count_if([=](Bits rank) { return rank > most; });
  int const reaching = count_if([=](Bits rank) { return rank >= least; });
  int wrong = 0;
  for (int k : {above, above + 1, (above + reaching) / 2, reaching - 1, reaching, reaching + 1}) {
    Pivot<Bits> pivot;
    bool const found = find_pivot_in({least, static_cast<Bits>(most - least)}, loops, {},
                                     ranks.data(), static_cast<int>(ranks.size()), k, pivot);
    wrong += found != (k > above && k <= reaching);
    if (found) wrong += !is_pivot(pivot, ranks, k);
  }
  return wrong;
}

/// The positions of the selected ranks; those from `least` to `most` count as ties, of which `wanted` are selected.
std::vector<std::uint16_t> selected_positions(std::vector<std::uint32_t> const& ranks,
                                              std::uint32_t least, std::uint32_t most, int wanted,
                                              bool last_wins) {
  std::vector<std::uint16_t> ties, selected;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] > most)
      selected.push_back(static_cast<std::uint16_t>(i));
    else if (ranks[i] >= least)
      ties.push_back(static_cast<std::uint16_t>(i));
  auto const first = last_wins ? ties.end() - wanted : ties.begin();
  selected.insert(selected.end(), first, first + wanted);
  std::sort(selected.begin(), selected.end());
  return selected;
}

/// What a TieSplitter finds in two calls, the first of `cut` ranks.
std::vector<std::uint16_t> found_by(HostLoops<std::uint32_t> const& loops,
                                    TieSplitter<std::uint32_t> splitter,
                                    std::vector<std::uint32_t> const& ranks, int cut) {
  auto const count = static_cast<int>(ranks.size());
  constexpr std::uint16_t untouched = 0xffff;
  std::vector<std::uint16_t> places;
  for (auto [begin, end] : {std::pair{0, cut}, std::pair{cut, count}}) {
    std::vector<std::uint16_t> hits(static_cast<std::size_t>(end - begin) + 2, untouched);
    int const found = splitter.filter(loops, {}, ranks.data() + begin, end - begin, hits.data());
    REQUIRE(hits.back() == untouched);
    for (int h = 0; h < found; ++h)
      places.push_back(static_cast<std::uint16_t>(begin + hits[static_cast<std::size_t>(h)]));
  }
  return places;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the pivot of a row is right whatever its keys are", "[host_scan]",
                        Widths) {
  int wrong = 0;
  for (Input input : inputs_for<TestType>())
    for (int count : {511, 512, 513, 2049, long_block - 1, long_block, 4 * long_block})
      wrong += wrong_pivots(ranks_of<TestType>(input, count));
  CHECK(wrong == 0);
}

namespace {

/// How often a processor's loops return another position for the best of some keys.
template <class Bits>
int wrong_bests(OrderedBitsMap<Bits> const& map, std::vector<Bits> const& keys) {
  std::vector<Bits> ranks;
  for (Bits key : keys) ranks.push_back(map(key));
  auto const first = std::max_element(ranks.begin(), ranks.end()) - ranks.begin();
  auto const last = ranks.rend() - std::max_element(ranks.rbegin(), ranks.rend()) - 1;
  auto const count = static_cast<int>(keys.size());
  int wrong = 0;
  for (auto const& loops : all_host_loops<Bits>())
    for (bool from_memory : {false, true}) {
      wrong += loops.best(keys.data(), count, map, false, from_memory) != first;
      wrong += loops.best(keys.data(), count, map, true, from_memory) != last;
    }
  return wrong;
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("the best key is the first or the last of its rank", "[host_scan]",
                        Widths) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    for (Input input : inputs_for<TestType>())
      for (int count : {1, 2, 63, 64, 65, 127, 511, 512, 513, 1100}) {
        std::vector<Bits> keys;
        for (TestType key : make_keys<TestType>(input, count, 4))
          keys.push_back(std::bit_cast<Bits>(key));
        wrong += wrong_bests(map, keys);
      }
  }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("the best key is found where two differ from all others", "[host_scan]",
                        Widths) {
  using Bits = bits_of<TestType>;
  constexpr auto top = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
  int wrong = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    std::vector<Bits> special;  // zero, the least number, infinity and NaNs, of either sign
    for (int bits : {0, 1, 64}) special.push_back(static_cast<Bits>(bits));
    for (int beyond : {0, 1}) special.push_back(static_cast<Bits>(map.infinity + beyond));
    special.push_back(static_cast<Bits>(top - 1));
    for (std::size_t i = 0, positives = special.size(); i < positives; ++i)
      special.push_back(static_cast<Bits>(special[i] | top));
    for (Bits most : special)
      for (Bits one : special)
        for (Bits other : special)
          for (std::size_t at : {0u, 1u, 600u}) {
            std::vector<Bits> keys(1100, most);
            keys[at] = one;
            keys[keys.size() - 1 - at] = other;
            wrong += wrong_bests(map, keys);
          }
  }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("the pivot of a row is found in any range that holds it", "[host_scan]",
                        Widths) {
  int wrong = 0;
  for (Input input : inputs_for<TestType>())
    for (int count : {100, 2048, 5000}) {
      auto const ranks = ranks_of<TestType>(input, count);
      auto const at = [&](int i) { return ranks[static_cast<std::size_t>(i)]; };
      for (auto const& loops : all_host_loops<bits_of<TestType>>())
        for (int i : {0, count / 3, count / 50})
          for (int j : {0, count / 2, count - 1})
            wrong += wrong_pivots_in(loops, ranks, at(i), at(j));
    }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("the pivot of a row is right where a sample misleads", "[host_scan]",
                        Widths) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for (int apart : {16, 17, 64})
    for (Bits seen : {Bits{0}, std::numeric_limits<Bits>::max()}) {
      auto ranks = ranks_of<TestType>(Input::random_bits, Samples::most * apart);
      Samples const samples(Samples::most * apart, 1);
      for (int i = 0; i < samples.count; ++i)
        ranks[static_cast<std::size_t>(samples.place(i))] = seen;
      wrong += wrong_pivots(ranks);
    }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a sample leads to the pivot of a row where it does not mislead",
                        "[host_scan]", Widths) {
  auto const loops = ktopk::detail::pick_host_loops<bits_of<TestType>>();
  for (Input input : {Input::uniform, Input::ascending, Input::all_equal})
    for (int count : {long_block, 4 * long_block})
      for (int k : {1, count / 2, count - count / 8}) {
        CAPTURE(name(input), count, k);
        Pivot<bits_of<TestType>> pivot;
        CHECK(find_pivot(loops, {}, ranks_of<TestType>(input, count).data(), count, k, pivot));
      }
}

TEST_CASE("a tie splitter selects as many ties as are wanted, the first or the last",
          "[host_scan]") {
  constexpr std::uint32_t most_rank = 0xffffffff;
  for (int count : {1, 255, 256, 257, 1000, 2048, long_block})
    for (std::uint32_t values : {1u, 2u, 3u, 40u})
      for (std::uint32_t base : {5u, most_rank - values + 1}) {
        std::vector<std::uint32_t> ranks;
        for (int i = 0; i < count; ++i)
          ranks.push_back(base + static_cast<std::uint32_t>(random_bits(3, i) % values));
        std::uint32_t const least = base + values / 3, most = base + 2 * values / 3;
        auto const ties = static_cast<int>(std::count_if(
            ranks.begin(), ranks.end(), [&](std::uint32_t r) { return r >= least && r <= most; }));
        for (int wanted : {std::min(1, ties), ties / 2, std::max(0, ties - 1), ties})
          for (bool last_wins : {false, true})
            for (int cut : {0, 1, count / 2, count})
              for (auto const& loops : all_host_loops<std::uint32_t>()) {
                CAPTURE(count, values, base, wanted, last_wins, cut);
                TieSplitter<std::uint32_t> const splitter({least, most - least}, ties - wanted,
                                                          wanted, last_wins);
                bool const same = found_by(loops, splitter, ranks, cut) ==
                                  selected_positions(ranks, least, most, wanted, last_wins);
                REQUIRE(same);
              }
      }
}

TEMPLATE_LIST_TEST_CASE("digits are counted of the ranks in a range alone", "[host_scan]", Widths) {
  using Bits = bits_of<TestType>;
  using CompositeKey = ktopk::detail::CompositeKey128;
  constexpr int count = 3 * filter_block + 77;
  auto const map = ktopk::detail::make_composite_key_map<CompositeKey>(
      make_ordered_bits_map<TestType>({}), count, {});
  for (Input input : {Input::uniform, Input::all_equal, Input::bucket_killer, Input::few_values}) {
    auto const ranks = ranks_of<TestType>(input, count);
    std::vector<Bits> keys(ranks.size());
    std::transform(ranks.begin(), ranks.end(), keys.begin(),
                   [&](Bits rank) { return map.rank.key_of(rank); });
    auto ordered = ranks;
    std::sort(ordered.begin(), ordered.end());
    for (auto const& loops : all_host_loops<Bits>())
      for (int first : {0, 40, count / 2, count - 1})
        for (int last : {first, std::min(first + count / 20, count - 1), count - 1}) {
          CAPTURE(name(input), first, last);
          Bits const least = ordered[first], most = ordered[last];
          auto const bits = static_cast<int>(std::bit_width(static_cast<Bits>(most - least)));
          int const shift = std::max(0, bits - 5);
          OrderedBitsDigits<Bits> const digit{least, shift, 31};
          std::vector<unsigned> expected(32), counted(32);
          for (Bits rank : ranks)
            if (rank >= least && rank <= most) ++expected[digit(rank)];
          KeyScan<Bits, CompositeKey>{loops, keys.data(), 1, map}.count_digits_in(
              0, count, digit, {least, static_cast<Bits>(most - least)}, counted.data());
          REQUIRE(counted == expected);
        }
  }
}

TEST_CASE("on each side of a threshold's place all ties reach it, or none", "[host_scan]") {
  std::int64_t const n = 1000;
  for (Ties ties : {Ties::lowest_index, Ties::highest_index}) {
    auto const map = ktopk::detail::make_composite_key_map<ktopk::detail::CompositeKey64>(
        make_ordered_bits_map<float>({}), n, ties);
    for (std::uint64_t place : {0, 1, 499, 998, 999}) {
      auto const threshold = map.join(77, place);
      std::int64_t next = 100, intervals = 0;
      for_each_side_of_ties(map, threshold, 100, 900, [&](std::int64_t begin, std::int64_t end) {
        CHECK(begin == next);
        CHECK(begin < end);
        for (std::int64_t i = begin; i < end; ++i)
          REQUIRE((map.join(77, static_cast<std::uint64_t>(i)) >= threshold) ==
                  (map.join(77, static_cast<std::uint64_t>(begin)) >= threshold));
        next = end;
        ++intervals;
      });
      CHECK(next == 900);
      CHECK(intervals == (place == 499 ? 2 : 1));
    }
  }
}

}  // namespace ktopk::testing
