// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/host/loops.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <thread>
#include <tuple>
#include <vector>

#include "backends/host/heap/scan.hpp"
#include "backends/host/prefilter.hpp"
#include "runtime/host_shares.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using ktopk::detail::all_host_loops;
using ktopk::detail::bits_of;
using ktopk::detail::filter_block;
using ktopk::detail::HostLoops;
using ktopk::detail::make_ordered_bits_map;
using ktopk::detail::OrderedBitsDigits;
using ktopk::detail::OrderedBitsMap;
using ktopk::detail::OrderedBitsRange;
using ktopk::detail::Prefilter;
using ktopk::detail::streams;

#define KTOPK_TUPLE_COMPOSITE_KEY(T) std::tuple<T>{},
using Keys = decltype(std::tuple_cat(KTOPK_TESTS_FOR_EACH_KEY_TYPE(KTOPK_TUPLE_COMPOSITE_KEY)
                                         std::tuple<>{}));
#undef KTOPK_TUPLE_COMPOSITE_KEY

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

/// The ordered bits, with their neighbors, at which the bits of a key change their meaning, and some between.
template <class T>
std::vector<bits_of<T>> landmarks(OrderedBitsMap<bits_of<T>> const& map) {
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
  for (Options const& options : orders_of<T>()) {
    auto const map = make_ordered_bits_map<T>(options);
    auto const ranks = landmarks<T>(map);
    for (auto least = ranks.begin(); least != ranks.end(); ++least)
      for (auto most = least; most != ranks.end(); ++most)
        body(map, OrderedBitsRange<Bits>{*least, static_cast<Bits>(*most - *least)});
  }
}

template <class Bits>
std::vector<std::uint16_t> places_in_range(Bits const* keys, int count,
                                           OrderedBitsMap<Bits> const& map,
                                           OrderedBitsRange<Bits> range) {
  std::vector<std::uint16_t> places;
  for (int i = 0; i < count; ++i)
    if (map(keys[i]) >= range.least && map(keys[i]) - range.least <= range.span)
      places.push_back(static_cast<std::uint16_t>(i));
  return places;
}

/// Whether a filter finds exactly the keys in the range, and writes nothing behind its output.
template <class Bits>
bool finds(HostLoops<Bits> const& loops, Bits const* keys, int count,
           OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
  constexpr std::uint16_t untouched = 0xffff;
  std::vector<std::uint16_t> hits(static_cast<std::size_t>(count) + 2, untouched);
  int const found = loops.filter(keys, count, map, range, hits.data());
  if (hits.back() != untouched) return false;
  hits.resize(static_cast<std::size_t>(found));
  return hits == places_in_range(keys, count, map, range);
}

/// Some of the patterns as ranks, many of them equal.
template <class T>
std::vector<bits_of<T>> some_ranks(int count, int apart) {
  auto const keys = patterns<T>();
  auto const map = make_ordered_bits_map<T>({});
  std::vector<bits_of<T>> ranks;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    ranks.push_back(map(keys[i / 3 * static_cast<std::size_t>(apart) % keys.size()]));
  return ranks;
}

template <class Bits>
int reaching(std::vector<Bits> const& ranks, Bits least) {
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.end(), [=](Bits rank) { return rank >= least; }));
}

/// Calls body(ranks) for lists of several lengths, some of equal ranks alone.
template <class T, class Body>
void for_lists(std::vector<int> const& lengths, Body const& body) {
  for (int count : lengths)
    for (int apart : {0, 1, 7, 251}) body(some_ranks<T>(count, apart));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("every filter finds the keys in a range", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int wrong = 0;
  for_ranges<TestType>([&](OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    for (auto const& loops : all_host_loops<Bits>())
      for (std::size_t first = 0; first < keys.size(); first += filter_block) {
        auto const count =
            static_cast<int>(std::min<std::size_t>(filter_block, keys.size() - first));
        wrong += !finds(loops, keys.data() + first, count, map, range);
      }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every filter takes blocks of any length", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  auto const map = make_ordered_bits_map<TestType>({});
  auto keys = patterns<TestType>();
  keys.resize(ktopk::detail::long_block, keys[0]);
  std::reverse(keys.begin(), keys.end());
  int wrong = 0;
  for (int count :
       {0, 1, 2, 63, 64, 65, 127, 128, 129, 191, 192, 255, 256, 257, 2047, 2048, 8191, 8192})
    for (auto const& loops : all_host_loops<Bits>())
      for (std::size_t i : {0, 70, 2000})
        wrong += !finds(loops, keys.data(), count, map, ktopk::detail::ranks_from(map(keys[i])));
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every filter of streams finds what it would find block by block",
                        "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  constexpr std::int64_t apart = filter_block + 192;
  auto keys = patterns<TestType>();
  keys.resize(streams * apart, keys[0]);
  int wrong = 0;
  for_ranges<TestType>([&](OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    std::vector<std::uint16_t> wanted;
    for (int s = 0; s < streams; ++s)
      for (std::uint16_t place : places_in_range(&keys[s * apart], filter_block, map, range))
        wanted.push_back(static_cast<std::uint16_t>(s * filter_block + place));
    for (auto const& loops : all_host_loops<Bits>()) {
      std::vector<std::uint16_t> hits(streams * filter_block + 1);
      int const found = loops.filter_streams(keys.data(), apart, map, range, hits.data());
      std::sort(hits.begin(), hits.begin() + found);
      wrong += !std::equal(wanted.begin(), wanted.end(), hits.begin(), hits.begin() + found);
    }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a prefilter passes every key of its range", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int missed = 0;
  for_ranges<TestType>([&](OrderedBitsMap<Bits> const& map, OrderedBitsRange<Bits> range) {
    Prefilter<Bits> const prefilter(map, range);
    for (Bits key : keys) missed += range.has(map(key)) && !prefilter.passes(key);
  });
  CHECK(missed == 0);
}

TEMPLATE_LIST_TEST_CASE("a prefilter up to the best rank passes only NaN and zero besides",
                        "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  int idle = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    auto const is_plain = [&](Bits key) { return map.has_one_key(map(key)); };
    for (Bits least : landmarks<TestType>(map)) {
      auto const range = ktopk::detail::ranks_from(least);
      Prefilter<Bits> const prefilter(map, range);
      for (Bits key : keys) idle += is_plain(key) && !range.has(map(key)) && prefilter.passes(key);
    }
  }
  CHECK(idle == 0);
}

TEMPLATE_LIST_TEST_CASE("every processor's loops know ranks and their digits", "[host_loops]",
                        Keys) {
  using Bits = bits_of<TestType>;
  auto const keys = patterns<TestType>();
  auto const count = static_cast<int>(std::min<std::size_t>(filter_block, keys.size()));
  int wrong = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    for (auto const& loops : all_host_loops<Bits>()) {
      std::vector<Bits> ranks(filter_block);
      loops.ranks(keys.data(), count, map, ranks.data());
      for (int i = 0; i < count; ++i) wrong += ranks[i] != map(keys[i]);
      for (Bits base : {Bits{0}, map(keys[3]), map(keys[70])})
        for (int shift : {0, 3, static_cast<int>(8 * sizeof(Bits)) - 6})
          for (unsigned last : {1u, 63u, 255u, 2047u}) {
            OrderedBitsDigits<Bits> const digit{base, shift, last};
            std::vector<std::uint16_t> digits(filter_block);
            loops.digits(keys.data(), count, map, digit, digits.data());
            for (int i = 0; i < count; ++i) wrong += digits[i] != digit(map(keys[i]));
          }
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every processor's loops find the k-th best rank", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for_lists<TestType>({1, 2, 63, 64, 65, 1000}, [&](std::vector<Bits> const& ranks) {
    auto const count = static_cast<int>(ranks.size());
    auto sorted = ranks;
    std::sort(sorted.begin(), sorted.end(), std::greater<Bits>());
    for (auto const& loops : all_host_loops<Bits>())
      for (int k : {1, count / 3 + 1, count}) {
        auto const found = loops.kth(ranks.data(), count, k);
        bool const is_kth = found.rank == sorted[static_cast<std::size_t>(k - 1)];
        wrong += found.count != reaching(ranks, found.rank) || !(is_kth || found.count == k);
      }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every processor's loops sort by counting", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for_lists<TestType>({0, 1, 2, 31, 64, 65, 127, 128}, [&](std::vector<Bits> const& ranks) {
    std::vector<std::size_t> order(ranks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return ranks[a] > ranks[b]; });
    for (auto const& loops : all_host_loops<Bits>()) {
      std::vector<Bits> slots(ranks.size());
      loops.slots(ranks.data(), static_cast<int>(ranks.size()), slots.data());
      for (std::size_t slot = 0; slot < order.size(); ++slot) wrong += slots[order[slot]] != slot;
    }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("every processor's loops count what reaches a rank", "[host_loops]", Keys) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for_lists<TestType>({1, 127, 128, 129, 300, 8193, 20000}, [&](std::vector<Bits> const& ranks) {
    auto const [least, most] = std::minmax_element(ranks.begin(), ranks.end());
    auto const count = static_cast<int>(ranks.size());
    for (auto const& loops : all_host_loops<Bits>()) {
      for (Bits threshold : {Bits{0}, *least, ranks.back(), *most})
        wrong += loops.reaching(ranks.data(), count, threshold) != reaching(ranks, threshold);
    }
  });
  CHECK(wrong == 0);
}

namespace {

/// A row's keys for a read by streams, and the best composite keys that the read should find.
template <class T>
struct LongRow {
  using Bits = bits_of<T>;
  using CompositeKey = ktopk::detail::CompositeKey128;

  LongRow(Input input, Options const& options)
      : map(ktopk::detail::make_composite_key_map<CompositeKey>(make_ordered_bits_map<T>(options),
                                                                length, options.ties)) {
    for (T key : make_keys<T>(input, length, 3)) keys.push_back(std::bit_cast<Bits>(key));
    for (std::size_t i = 0; i < length; ++i) composites.push_back(map(keys[i], i));
    std::sort(composites.begin(), composites.end(), std::greater<CompositeKey>());
  }

  static constexpr std::size_t length = (1u << 17) + streams * filter_block + 1234;
  ktopk::detail::CompositeKeyMap<Bits, CompositeKey> map;
  std::vector<Bits> keys;
  std::vector<CompositeKey> composites;  // the best first
};

template <class T, class Body>
void for_long_rows(Body const& body) {
  for (Input input : {Input::uniform, Input::ascending, Input::all_equal, Input::few_values})
    for (Options options : orders())
      for (Ties ties : {Ties::lowest_index, Ties::highest_index}) {
        options.ties = ties;
        body(LongRow<T>(input, options));
      }
}

using FewKeys = std::tuple<std::uint8_t, std::int16_t, float, double>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("streams visit every composite key that reaches a threshold, once",
                        "[host_loops]", FewKeys) {
  using Row = LongRow<TestType>;
  auto loops = ktopk::detail::pick_host_loops<typename Row::Bits>();
  loops.by_streams = GENERATE(true, false);
  CAPTURE(loops.by_streams);
  int wrong = 0;
  for_long_rows<TestType>([&](Row const& row) {
    for (std::size_t count : {std::size_t{1}, std::size_t{500}, Row::length / 2, Row::length}) {
      auto const threshold = row.composites[count - 1];
      std::vector<typename Row::CompositeKey> visited;
      ktopk::detail::for_each_reaching_in_streams(
          loops, row.keys.data(), 1, row.map, 0, static_cast<std::int64_t>(Row::length),
          [&] { return threshold; },
          [&](int found, auto const& composite) {
            for (int h = 0; h < found; ++h)
              if (composite(h) >= threshold) visited.push_back(composite(h));
          });
      std::sort(visited.begin(), visited.end(), std::greater<typename Row::CompositeKey>());
      wrong += visited.size() != count ||
               !std::equal(visited.begin(), visited.end(), row.composites.begin());
    }
  });
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("a threshold that rises with what was visited keeps the best",
                        "[host_loops]", FewKeys) {
  using Row = LongRow<TestType>;
  auto loops = ktopk::detail::pick_host_loops<typename Row::Bits>();
  loops.by_streams = GENERATE(true, false);
  CAPTURE(loops.by_streams);
  int wrong = 0;
  for_long_rows<TestType>([&](Row const& row) {
    for (std::size_t k : {1, 20, 100}) {
      std::vector<typename Row::CompositeKey> best(k, 0);  // the worst first
      ktopk::detail::for_each_reaching_best_end_first(
          loops, row.keys.data(), 1, row.map, 0, static_cast<std::int64_t>(Row::length), 64,
          static_cast<int>(k), [&] { return best[0]; },
          [&](typename Row::CompositeKey composite) {
            if (composite <= best[0]) return;
            best[0] = composite;
            std::sort(best.begin(), best.end());
          });
      wrong += !std::equal(best.rbegin(), best.rend(), row.composites.begin());
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads share all work, whichever arrive", "[host_loops]") {
  using ktopk::detail::HostShares;
  for (std::int64_t count : {1, 2, 7, 64, 1000, 70'000})
    for (std::int64_t threads : {1, 2, 3, 64, 300}) {
      HostShares shares(count, threads);
      INFO(count << " for " << threads);
      CHECK(shares.threads() == std::min(count, threads));
      std::vector<int> calls(static_cast<std::size_t>(count));
      // The last thread has taken over everything that the others left.
      for (std::int64_t thread = shares.threads() - 1; thread >= 0; --thread)
        shares.work(thread, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      CHECK(std::count(calls.begin(), calls.end(), 1) == count);
    }
}

TEST_CASE("a thread begins with what it had before, at the row's ends", "[host_loops]") {
  auto const first_of = [](std::int64_t count, std::int64_t thread) {
    ktopk::detail::HostShares shares(count, 4);
    std::vector<std::int64_t> pieces;
    shares.work(thread, [&](std::int64_t i) { pieces.push_back(i); });
    pieces.resize(2);
    return pieces;
  };
  using Pieces = std::vector<std::int64_t>;
  CHECK(first_of(16, 0) == Pieces{0, 1});
  CHECK(first_of(16, 1) == Pieces{4, 5});
  CHECK(first_of(16, 2) == Pieces{11, 10});
  CHECK(first_of(16, 3) == Pieces{15, 14});
  // Several at a time are read forwards, which suits the hardware prefetcher.
  CHECK(first_of(64, 2) == Pieces{46, 47});
  CHECK(first_of(64, 3) == Pieces{62, 63});
}

TEST_CASE("threads side by side do each piece once", "[host_loops]") {
  constexpr std::int64_t count = 100'000, threads = 4;
  ktopk::detail::HostShares shares(count, threads);
  std::vector<int> calls(count);
  std::vector<std::thread> all;
  for (std::int64_t thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      shares.work(thread, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
    });
  for (std::thread& thread : all) thread.join();
  CHECK(std::count(calls.begin(), calls.end(), 1) == count);
}

}  // namespace ktopk::testing
