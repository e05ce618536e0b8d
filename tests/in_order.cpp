// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "backends/host/in_order.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "backends/host/heap/scan.hpp"
#include "backends/host/strided_maxima.hpp"
#include "support/inputs.hpp"
#include "support/oracle.hpp"

namespace ktopk::testing {
namespace {

using ktopk::detail::all_host_loops;
using ktopk::detail::bits_of;
using ktopk::detail::make_ordered_bits_map;
using ktopk::detail::Monotonicity;
using ktopk::detail::OrderedBitsMap;
using ktopk::detail::PlaceInterval;
using ktopk::detail::PlaceIntervals;
using ktopk::detail::StridedMaxima;

using Widths = std::tuple<std::uint8_t, bfloat16, float, double, std::int32_t>;

template <class T>
std::vector<bits_of<T>> bits_in(Input input, int count) {
  std::vector<bits_of<T>> bits;
  for (T key : make_keys<T>(input, count, 4)) bits.push_back(std::bit_cast<bits_of<T>>(key));
  return bits;
}

template <class Bits>
bool is_in_order(Monotonicity monotonicity, std::vector<Bits> const& ranks) {
  if (monotonicity == Monotonicity::rises) return std::is_sorted(ranks.begin(), ranks.end());
  return monotonicity == Monotonicity::none || std::is_sorted(ranks.rbegin(), ranks.rend());
}

template <class Bits>
std::vector<Bits> ranks_of(OrderedBitsMap<Bits> const& map, std::vector<Bits> const& keys) {
  std::vector<Bits> ranks;
  for (Bits key : keys) ranks.push_back(map(key));
  return ranks;
}

/// The positions of the k best of some ranks, ascending.
template <class Bits>
std::vector<int> best_places(std::vector<Bits> const& ranks, int k, bool last_wins) {
  std::vector<int> places(ranks.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i);
  std::sort(places.begin(), places.end(), [&](int a, int b) {
    Bits const one = ranks[static_cast<std::size_t>(a)], other = ranks[static_cast<std::size_t>(b)];
    return one != other ? one > other : last_wins ? a > b : a < b;
  });
  places.resize(static_cast<std::size_t>(k));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<int> places_of(PlaceIntervals const& pair) {
  std::vector<int> places;
  for (PlaceInterval const& interval : {pair.before, pair.behind})
    for (int i = 0; i < interval.count; ++i) places.push_back(interval.first + i);
  return places;
}

constexpr int lengths[] = {1, 2, 15, 16, 17, 511, 512, 513, 514, 1100};

}  // namespace

TEMPLATE_LIST_TEST_CASE("no row is reported in order that is not", "[in_order]", Widths) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    for (Input input : inputs_for<TestType>())
      for (int count : lengths) {
        auto const keys = bits_in<TestType>(input, count);
        auto const ranks = ranks_of(map, keys);
        for (auto const& loops : all_host_loops<Bits>())
          wrong += !is_in_order(loops.monotonicity(keys.data(), count, map), ranks);
      }
  }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("rows of numbers in order are known, wherever one stands out", "[in_order]",
                        Widths) {
  using Bits = bits_of<TestType>;
  constexpr auto top = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
  auto const map = make_ordered_bits_map<TestType>({});
  for (int count : lengths)
    for (auto const& loops : all_host_loops<Bits>()) {
      auto const rising = bits_in<TestType>(Input::ascending, count);
      auto const falling = bits_in<TestType>(Input::descending, count);
      CAPTURE(count);
      CHECK(starts_in_order(map, rising.data(), count));
      CHECK(starts_in_order(map, falling.data(), count));
      CHECK(may_be_in_order(map, rising.data(), count));
      CHECK(may_be_in_order(map, falling.data(), count));
      CHECK(loops.monotonicity(rising.data(), count, map) == Monotonicity::rises);
      bool const is_equal = map(falling.front()) == map(falling.back());
      CHECK(loops.monotonicity(falling.data(), count, map) ==
            (is_equal ? Monotonicity::rises : Monotonicity::falls));
      for (int at = 1; at + 1 < count; at += std::max(1, count / 50)) {
        auto keys = bits_in<TestType>(Input::all_equal, count);
        keys[static_cast<std::size_t>(at)] = static_cast<Bits>(keys[0] ^ 1);
        CHECK(loops.monotonicity(keys.data(), count, map) == Monotonicity::none);
        auto other_sign = rising;
        other_sign[static_cast<std::size_t>(at)] ^= top;
        bool const still_rises = is_in_order(Monotonicity::rises, ranks_of(map, other_sign));
        CHECK((loops.monotonicity(other_sign.data(), count, map) == Monotonicity::rises) ==
              still_rises);
      }
    }
}

TEMPLATE_LIST_TEST_CASE("a row in order wins by its end and by ties", "[in_order]", Widths) {
  using Bits = bits_of<TestType>;
  OrderedBitsMap<Bits> const map = make_ordered_bits_map<TestType>({});
  int wrong = 0;
  for (Input input : {Input::uniform, Input::few_values, Input::all_equal, Input::nans})
    for (int count : {2, 3, 17, 300}) {
      auto keys = bits_in<TestType>(input, count);
      for (Monotonicity monotonicity : {Monotonicity::rises, Monotonicity::falls}) {
        std::stable_sort(keys.begin(), keys.end(), [&](Bits a, Bits b) {
          return monotonicity == Monotonicity::rises ? map(a) < map(b) : map(a) > map(b);
        });
        for (int k = 1; k < count; ++k)
          for (bool last_wins : {false, true})
            wrong +=
                places_of(selected_in_order(monotonicity, map, keys.data(), count, k, last_wins)) !=
                best_places(ranks_of(map, keys), k, last_wins);
      }
    }
  CHECK(wrong == 0);
}

TEMPLATE_LIST_TEST_CASE("as many keys as are wanted reach the strided maxima", "[in_order]",
                        Widths) {
  using Bits = bits_of<TestType>;
  int wrong = 0;
  for (Options const& options : orders_of<TestType>()) {
    auto const map = make_ordered_bits_map<TestType>(options);
    for (Input input : inputs_for<TestType>())
      for (int k : {1, 2, 63, 64, 65, 200, StridedMaxima::most_k}) {
        StridedMaxima const maxima(k);
        for (int count : {4 * maxima.count, 4 * maxima.count + 77, 64 * maxima.count + 99}) {
          auto const keys = bits_in<TestType>(input, count);
          auto const ranks = ranks_of(map, keys);
          for (auto const& loops : all_host_loops<Bits>()) {
            Bits const least = maxima.kth(loops, map, keys.data(), count).rank;
            wrong += std::count_if(ranks.begin(), ranks.end(),
                                   [=](Bits rank) { return rank >= least; }) < k;
          }
        }
      }
  }
  CHECK(wrong == 0);
}

/// The guarantee of the strided maxima, for rows of one key with few exceptions, on every processor and in every order.
template <class T>
int wrong_promises(bits_of<T> common, bits_of<T> other) {
  using Bits = bits_of<T>;
  int wrong = 0;
  for (Options const& options : orders())
    for (int k : {2, 64, StridedMaxima::most_k}) {
      auto const map = make_ordered_bits_map<T>(options);
      StridedMaxima const maxima(k);
      std::vector<Bits> keys(static_cast<std::size_t>(8 * maxima.count), common);
      keys[100] = other;
      for (auto const& loops : all_host_loops<Bits>()) {
        Bits const least = maxima.kth(loops, map, keys.data(), static_cast<int>(keys.size())).rank;
        wrong += std::count_if(keys.begin(), keys.end(),
                               [&](Bits key) { return map(key) >= least; }) < k;
      }
    }
  return wrong;
}

TEMPLATE_TEST_CASE("classes of NaNs of one sign, or of minus zeros, promise no more than they have",
                   "[in_order]", bfloat16, float, double) {
  auto const bits = [](float key) { return std::bit_cast<bits_of<TestType>>(TestType(key)); };
  float const nan = std::numeric_limits<float>::quiet_NaN();
  for (float common : {nan, -nan, -0.0f, 0.0f})
    for (float other : {1.0f, -1.0f, 0.0f, -0.0f}) {
      CAPTURE(common, other);
      CHECK(wrong_promises<TestType>(bits(common), bits(other)) == 0);
    }
}

TEST_CASE("few more keys than are wanted reach the strided maxima", "[in_order]") {
  auto const map = make_ordered_bits_map<float>({});
  for (Input input : {Input::uniform, Input::ascending, Input::descending, Input::normal})
    for (int k : {1, 32, 64, 100, StridedMaxima::most_k}) {
      constexpr int count = 8192;
      auto const keys = bits_in<float>(input, count);
      auto const ranks = ranks_of(map, keys);
      for (auto const& loops : all_host_loops<std::uint32_t>()) {
        auto const least = StridedMaxima(k).kth(loops, map, keys.data(), count).rank;
        CAPTURE(name(input), k);
        CHECK(std::count_if(ranks.begin(), ranks.end(), [=](auto rank) { return rank >= least; }) <=
              2 * k + 8);
      }
    }
}

TEMPLATE_LIST_TEST_CASE("a threshold by strided maxima rejects none of the k best", "[in_order]",
                        Widths) {
  using Bits = bits_of<TestType>;
  using CompositeKey = ktopk::detail::CompositeKey128;
  auto const loops = ktopk::detail::pick_host_loops<Bits>();
  constexpr int first = 100;
  for (Ties ties : {Ties::lowest_index, Ties::highest_index})
    for (int k : {1, 40, 100}) {
      auto const count =
          static_cast<int>(first + StridedMaxima::most_in_class * StridedMaxima(k).count);
      auto const map = ktopk::detail::make_composite_key_map<CompositeKey>(
          make_ordered_bits_map<TestType>({}), count, ties);
      auto const threshold_of = [&](std::vector<Bits> const& keys, int begin) {
        return threshold_by_maxima(loops, keys.data(), 1, map, begin, count, k);
      };
      auto const uniform = bits_in<TestType>(Input::uniform, count);
      CHECK(threshold_of(uniform, first) != 0);
      CHECK(threshold_of(uniform, first + 1) == 0);  // too short a range
      for (Input input : inputs_for<TestType>()) {
        auto const keys = bits_in<TestType>(input, count);
        CompositeKey const threshold = threshold_of(keys, first);
        int reaching = 0;
        for (int i = first; i < count; ++i)
          reaching +=
              map(keys[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i)) >= threshold;
        CAPTURE(name(input), k);
        CHECK(reaching >= k);
      }
    }
}

}  // namespace ktopk::testing
