// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <ktopk/detail/counters.hpp>

#include "loops.hpp"
#include "thread_memory.hpp"

// How one thread sorts composite keys and selects among them.

namespace ktopk::detail {

/// Returns a composite key that k of `count` distinct ones reach, 1 <= k <= count. May change their order.
template <class Item>
Item kth_item(Item* items, int count, int k) {
  if constexpr (std::is_same_v<Item, Item64>) {
    return pick_host_loops<Item64>().kth(items, count, k).rank;
  } else {
    std::nth_element(items, items + k - 1, items + count, std::greater<Item>());
    return items[k - 1];
  }
}

/// Moves the k best of `count` distinct composite keys to the front.
template <class Item>
void keep_best(Item* items, int count, int k) {
  Item const least = kth_item(items, count, k);
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    Item const item = items[i];
    items[kept] = item;
    kept += item >= least;
  }
  tally(Count::items_read, 2 * count);
}

/// Sorts by radix from the last bit in which composite keys differ, best first; it skips digits that all have in
/// common. `spare` holds `count` composite keys too.
template <class Item>
void radix_sort(Item* items, Item* spare, std::int64_t count) {
  constexpr int digit_bits = 11, bins = 1 << digit_bits, width = 8 * sizeof(Item);
  Item differing = 0;
  for (std::int64_t i = 0; i < count; ++i) differing |= items[i] ^ items[0];
  Item* from = items;
  Item* to = spare;
  int low = 0;
  while (low < width && (differing >> low & 1) == 0) ++low;
  for (; low < width && (differing >> low) != 0; low += digit_bits) {
    tally(Count::items_read, 2 * count);
    std::int64_t starts[bins + 1] = {};
    auto const digit = [low](Item item) {
      return static_cast<unsigned>(~item >> low) & static_cast<unsigned>(bins - 1);
    };
    for (std::int64_t i = 0; i < count; ++i) ++starts[digit(from[i]) + 1];
    if (starts[digit(from[0]) + 1] == count) continue;
    for (int b = 0; b < bins; ++b) starts[b + 1] += starts[b];
    for (std::int64_t i = 0; i < count; ++i) to[starts[digit(from[i])]++] = from[i];
    std::swap(from, to);
    tally(Count::items_written, count);
  }
  if (from != items) std::copy(from, from + count, items);
}

inline constexpr std::int64_t smallest_radix_sort = 2048;

/// Sorts on one thread of a host, best first. `spare` holds `count` composite keys too.
template <class Item>
void sort_alone(Item* items, Item* spare, std::int64_t count) {
  if (count >= smallest_radix_sort) return radix_sort(items, spare, count);
  tally(Count::items_read, count);
  tally(Count::items_written, count);
  std::sort(items, items + count, std::greater<Item>());
}

}  // namespace ktopk::detail
