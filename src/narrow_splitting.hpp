// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "algorithms/bitonic_network.hpp"
#include "group.hpp"
#include "key_numbers.hpp"

// Where a search that narrows stands in a row, and the splitters that cut what is left of it: in equal parts
// of the items or of the numbers that they stand for, or at items of a sample.

namespace ktopk::detail {

/// Where the search of a row stands. A pass reads the source, or one of two lists.
template <class Item>
struct NarrowRow {
  Item low, high;         // the k-th item is one of low .. high
  std::int64_t want;      // winners still to be taken of them
  std::int64_t size;      // items to read
  std::int64_t reaching;  // how many of them reach low ...
  std::int64_t above;     // ... and are above high
  int list;               // 0 or 1: what a pass reads; -1: the source
  int pass;               // how many are over
  bool settled;           // what reaches low are the winners
  bool moves;             // the pass moves the interval to the other list
  unsigned arrived;       // groups done with the pass
  Count64 moved;          // items in the other list
  Count64 taken;          // winners stored
  Count64 least, most;    // ranks of the row, for who asks
};

/// Cuts low .. high into equal parts; some splitter is above `low` and none above `high`.
template <class Item>
KOKKOS_FUNCTION void split_equally(Item low, Item high, int ways, Item* splitters) {
  Item const width = high - low;
  auto const parts = static_cast<Item>(ways);
  Item const step = width / parts, rest = width % parts;
  for (int s = 1; s < ways; ++s) {
    auto const here = static_cast<Item>(s);
    splitters[s] = low + step * here + (here < rest ? here : rest);
  }
}

/// Cuts it into equal parts of the numbers that its keys stand for; false where that cannot be.
template <class Bits, class Item>
KOKKOS_FUNCTION bool split_numbers(ItemMap<Bits, Item> const& map, Item low, Item high, int ways,
                                   Item* splitters) {
  KeyNumbers<Bits> const numbers{map.rank};
  double const first = numbers(map.rank_of(low));
  double const width = numbers(map.rank_of(high)) - first;
  if (!numbers.floating() || !KeyNumbers<Bits>::is_finite(width)) return false;
  for (int s = 1; s < ways; ++s) {
    Bits const rank = numbers.rank_of(first + width * s / ways);
    Item const item = static_cast<Item>(rank) << map.position_bits;
    splitters[s] = item < low ? low : item > high ? high : item;
  }
  return splitters[ways - 1] > low;
}

/// Takes every so-many-th of the probes that are not 0 as a splitter; false where all are.
/// \param probes  `length`, a power of two, that the group shares
template <class Group, class Item>
KOKKOS_FUNCTION bool split_at_probes(Group const& group, Item* probes, int length, int ways,
                                     Item* splitters) {
  local_sort(TeamSteps<Group>{group}, Runs<Item>{probes, length, 1});
  int valid = 0;
  for (int half = length; half > 0; half /= 2)
    if (valid + half <= length && probes[valid + half - 1] != 0) valid += half;
  each(group, 1, valid > 0 ? ways : 1,
       [&](std::int64_t s) { splitters[s] = probes[valid - 1 - s * valid / ways]; });
  return valid > 0;
}

/// Labels of an implementation's kernels.
struct NarrowLabels {
  char const *begin, *start, *pass, *finish, *rows;
};

/// Equal parts of numbers. Of items, which are spread as the keys' exponents are and tell equal keys
/// apart, where numbers have left more than half of the source, and from the sixth pass on.
struct EqualParts {
  static constexpr int ways = 16;
  static constexpr int passes = 8;
  static constexpr int most_probes = 0;
  static constexpr bool surveys = true;
  static constexpr NarrowLabels labels{"ktopk::bucket::begin", "ktopk::bucket::ends",
                                       "ktopk::bucket::pass", "ktopk::bucket::finish",
                                       "ktopk::bucket::rows"};

  template <class Group, class Reader, class Bits, class Item>
  KOKKOS_FUNCTION static void choose(Group const& group, NarrowRow<Item> const& state,
                                     Reader const&, ItemMap<Bits, Item> const& map, Item* splitters,
                                     Item*) {
    if (group.rank() != 0) return;
    bool const stuck = state.pass > 0 && 2 * (state.reaching - state.above) > state.size;
    bool const by_numbers = !stuck && state.pass < 5;
    if (by_numbers && split_numbers(map, state.low, state.high, ways, splitters)) return;
    split_equally(state.low, state.high, ways, splitters);
  }
};

/// Splitters from a sample of the source; where none of it is in the interval, equal parts.
template <int Ways, int MostProbes>
struct SampleSplitting {
  static constexpr int ways = Ways;
  static constexpr int most_probes = MostProbes;
  static_assert((MostProbes & (MostProbes - 1)) == 0);
  static constexpr bool surveys = false;

  template <class Group, class Reader, class Bits, class Item>
  KOKKOS_FUNCTION static void choose(Group const& group, NarrowRow<Item> const& state,
                                     Reader const& read, ItemMap<Bits, Item> const&,
                                     Item* splitters, Item* probes) {
    int const count = probe_count(state.size);
    Strata const strata(state.size, count);
    int length = 1;
    while (length < count) length *= 2;
    each(group, 0, length, [&](std::int64_t i) {
      Item const item = i < count ? read(strata.place(i, state.pass)) : Item{0};
      probes[i] = item > state.low && item <= state.high ? item : Item{0};
    });
    group.barrier();
    if (!split_at_probes(group, probes, length, ways, splitters) && group.rank() == 0)
      split_equally(state.low, state.high, ways, splitters);
  }

  /// A sixteenth of a short source, and all of a very short one, where every item may be a splitter.
  KOKKOS_FUNCTION static int probe_count(std::int64_t size) {
    std::int64_t const part = size / 16 > 64 ? size / 16 : 64;
    std::int64_t const most = part < most_probes ? part : most_probes;
    return static_cast<int>(most < size ? most : size);
  }
};

struct SampledSplitters : SampleSplitting<16, 256> {
  static constexpr int passes = 8;
  static constexpr NarrowLabels labels{"ktopk::sample::begin", "ktopk::sample::start",
                                       "ktopk::sample::pass", "ktopk::sample::finish",
                                       "ktopk::sample::rows"};
};

struct OnePivot : SampleSplitting<2, 32> {
  static constexpr int passes = 32;
  static constexpr NarrowLabels labels{"ktopk::quick::begin", "ktopk::quick::start",
                                       "ktopk::quick::pass", "ktopk::quick::finish",
                                       "ktopk::quick::rows"};
};

}  // namespace ktopk::detail
