// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "src/host_filter.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <tuple>
#include <vector>

#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using ktopk::detail::bits_of;
using ktopk::detail::filter_block;
using ktopk::detail::make_rank_map;
using ktopk::detail::RankMap;
using ktopk::detail::RankRange;
using ktopk::detail::Sieve;

#define KTOPK_TUPLE_ITEM(T) std::tuple<T>{},
using Keys =
    decltype(std::tuple_cat(KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TUPLE_ITEM) std::tuple<>{}));
#undef KTOPK_TUPLE_ITEM

template <class Bits>
using Filter = int (*)(Bits const*, int, RankMap<Bits> const&, RankRange<Bits>, std::uint16_t*);

/// The filters that this processor runs.
template <class Bits>
std::vector<Filter<Bits>> filters() {
  std::vector<Filter<Bits>> all{ktopk::detail::filter_portable<Bits>};
#if defined(KTOPK_HOST_TARGETS)
  if (ktopk::detail::runs_avx2()) all.push_back(ktopk::detail::filter_avx2<Bits>);
  if (ktopk::detail::runs_avx512()) all.push_back(ktopk::detail::filter_avx512<Bits>);
#endif
  all.push_back(ktopk::detail::pick_host_loops<Bits>().filter);
  return all;
}

/// All patterns of narrow keys; the hostile inputs of wide ones.
template <class T>
std::vector<bits_of<T>> patterns() {
  using Bits = bits_of<T>;
  std::vector<Bits> keys;
  if constexpr (sizeof(T) <= 2) {
    for (std::uint32_t bits = 0; bits < (1u << (8 * sizeof(T))); ++bits)
      keys.push_back(static_cast<Bits>(bits));
  } else {
    for (Input input : inputs_for<T>())
      for (T key : make_keys<T>(input, 2000, 1)) keys.push_back(std::bit_cast<Bits>(key));
  }
  return keys;
}

/// Where the bits of a key change their meaning, and some between, as ranks with their neighbors.
template <class T>
std::vector<bits_of<T>> landmarks(RankMap<bits_of<T>> const& map) {
  using Bits = bits_of<T>;
  constexpr Bits all = static_cast<Bits>(~Bits{0}), sign = static_cast<Bits>(all - (all >> 1));
  std::vector<Bits> const borders{0, map.infinity, sign / 2, sign - 1};
  std::vector<Bits> ranks;
  for (Bits bits : borders)
    for (Bits key : std::vector<Bits>{bits, static_cast<Bits>(bits ^ sign)})
      for (int step : {-1, 0, 1}) {
        ranks.push_back(map(static_cast<Bits>(key + step)));
        ranks.push_back(static_cast<Bits>(map.ordered(key) + static_cast<Bits>(step)));
      }
  ranks.insert(ranks.end(), {Bits{0}, Bits{1}, static_cast<Bits>(all - 1), all});
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// Calls body(map, range) for every range between two landmarks in every order.
template <class T, class Body>
void for_ranges(Body const& body) {
  using Bits = bits_of<T>;
  for (Options const& options : orders()) {
    auto const map = make_rank_map<T>(options);
    auto const ranks = landmarks<T>(map);
    for (auto least = ranks.begin(); least != ranks.end(); ++least)
      for (auto most = least; most != ranks.end(); ++most)
        body(map, RankRange<Bits>{*least, static_cast<Bits>(*most - *least)});
  }
}

template <class Bits>
std::vector<std::uint16_t> places_in_range(Bits const* keys, int count, RankMap<Bits> const& map,
                                           RankRange<Bits> range) {
  std::vector<std::uint16_t> places;
  for (int i = 0; i < count; ++i)
    if (map(keys[i]) >= range.least && map(keys[i]) - range.least <= range.span)
      places.push_back(static_cast<std::uint16_t>(i));
  return places;
}

/// Whether a filter finds exactly the keys in the range, and leaves what lies behind its room alone.
template <class Bits>
bool finds(Filter<Bits> filter, Bits const* keys, int count, RankMap<Bits> const& map,
           RankRange<Bits> range) {
  constexpr std::uint16_t untouched = 0xffff;
  std::vector<std::uint16_t> hits(static_cast<std::size_t>(count) + 2, untouched);
  int const found = filter(keys, count, map, range, hits.data());
  if (hits.back() != untouched) return false;
  hits.resize(static_cast<std::size_t>(found));
  return hits == places_in_range(keys, count, map, range);
}

template <class Bits>
bool passes(Sieve<Bits> const& sieve, Bits key) {
  return sieve.template passes_any<1>(&key);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every filter finds the keys in a range", "[host_filter]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int wrong = 0;
  for_ranges<TestType>([&](RankMap<Bits> const& map, RankRange<Bits> range) {
    for (Filter<Bits> filter : filters<Bits>())
      for (std::size_t first = 0; first < keys.size(); first += filter_block) {
        auto const count =
            static_cast<int>(std::min<std::size_t>(filter_block, keys.size() - first));
        wrong += !finds(filter, keys.data() + first, count, map, range);
      }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every filter takes blocks of any length", "[host_filter]", Keys) {
  using Bits = bits_of<TestType>;
  auto const map = make_rank_map<TestType>({});
  auto keys = patterns<TestType>();
  keys.resize(ktopk::detail::long_block, keys[0]);
  std::reverse(keys.begin(), keys.end());
  int wrong = 0;
  for (int count :
       {0, 1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 255, 256, 257, 2047, 2048, 8191, 8192})
    for (Filter<Bits> filter : filters<Bits>())
      for (std::size_t i : {0, 70, 2000})
        wrong += !finds(filter, keys.data(), count, map, ktopk::detail::ranks_from(map(keys[i])));
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a sieve lets every key of its range pass", "[host_filter]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int missed = 0;
  for_ranges<TestType>([&](RankMap<Bits> const& map, RankRange<Bits> range) {
    Sieve<Bits> const sieve(map, range);
    for (Bits key : keys) missed += range.has(map(key)) && !passes(sieve, key);
  });
  CHECK(missed == 0);
}

TEMPLATE_LIST_TEST_CASE("a sieve up to the best rank lets only NaN and zero pass besides",
                        "[host_filter]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int idle = 0;
  for (Options const& options : orders()) {
    auto const map = make_rank_map<TestType>(options);
    auto const is_plain = [&](Bits key) { return map.has_one_key(map(key)); };
    for (Bits least : landmarks<TestType>(map)) {
      auto const range = ktopk::detail::ranks_from(least);
      Sieve<Bits> const sieve(map, range);
      for (Bits key : keys) idle += is_plain(key) && !range.has(map(key)) && passes(sieve, key);
    }
  }
  CHECK(idle == 0);
}

}  // namespace ktopk::testing
