// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

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

/// Takes every so-many-th of the probes above low as a splitter; false where there is no such probe.
template <class Item>
bool split_probes_alone(Item* probes, int count, int ways, Item* splitters) {
  Item* const last = std::remove(probes, probes + count, Item{0});
  if (last == probes) return false;
  std::sort(probes, last);
  for (int s = 1; s < ways; ++s) splitters[s] = probes[s * (last - probes) / ways];
  return true;
}

/// The same by a team: each thread finds out where its probe would stand.
template <class Group, class Item>
KOKKOS_FUNCTION bool split_probes_together(Group const& group, Item const* probes, int count,
                                           int ways, Item* splitters) {
  int valid = 0;
  for (int j = 0; j < count; ++j) valid += probes[j] != 0 ? 1 : 0;
  each(group, 0, count, [&](std::int64_t i) {
    if (probes[i] == 0) return;
    int place = 0;
    for (int j = 0; j < count; ++j)
      place += probes[j] != 0 && (probes[j] < probes[i] || (probes[j] == probes[i] && j < i));
    for (int s = 1; s < ways; ++s)
      if (s * valid / ways == place) splitters[s] = probes[i];
  });
  return valid > 0;
}

/// Splitters from a sample of the source; where none of it is in the interval, equal parts.
template <int Ways, int MostProbes>
struct SampleSplitting {
  static constexpr int ways = Ways;
  static constexpr int most_probes = MostProbes;
  static constexpr bool surveys = false;

  template <class Group, class Reader, class Bits, class Item>
  KOKKOS_FUNCTION static void choose(Group const& group, NarrowRow<Item> const& state,
                                     Reader const& read, ItemMap<Bits, Item> const&,
                                     Item* splitters, Item* probes) {
    int const count = probe_count(state.size);
    Strata const strata(state.size, count);
    each(group, 0, count, [&](std::int64_t i) {
      Item const item = read(strata.place(i, state.pass));
      probes[i] = item > state.low && item <= state.high ? item : Item{0};
    });
    group.barrier();
    bool split = false;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((split = split_probes_alone(probes, count, ways, splitters);))
    } else {
      split = split_probes_together(group, probes, count, ways, splitters);
    }
    if (!split && group.rank() == 0) split_equally(state.low, state.high, ways, splitters);
  }

  /// A sixteenth of a short source, and all of a very short one, where every item may be a splitter.
  KOKKOS_FUNCTION static int probe_count(std::int64_t size) {
    std::int64_t const part = size / 16 > 64 ? size / 16 : 64;
    std::int64_t const most = part < most_probes ? part : most_probes;
    return static_cast<int>(most < size ? most : size);
  }
};

}  // namespace ktopk::detail
