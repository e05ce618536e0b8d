// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "counters.hpp"
#include "group.hpp"

// Merge sort of rows of items on any backend: tiles are sorted where they lie, then runs are merged pair
// by pair, each output chunk finding its inputs by binary search (merge path).

namespace ktopk::detail {

inline constexpr int device_sort_tile = 1024;

/// Sorts by radix from the last bit in which items differ, best first, but for digits that all have in
/// common. `spare` holds `count` items too.
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

/// Sorts on one thread of a host, best first. `spare` holds `count` items too.
template <class Item>
void sort_alone(Item* items, Item* spare, std::int64_t count) {
  if (count >= smallest_radix_sort) return radix_sort(items, spare, count);
  tally(Count::items_read, count);
  tally(Count::items_written, count);
  std::sort(items, items + count, std::greater<Item>());
}

/// \tparam Rows  tells of each row where its items begin, first(row), and how many they are, size(row)
template <class Rows, class Item>
struct SortTiles {
  Rows rows;
  Item* items;
  Item* spare;
  std::int64_t tile;
  std::int64_t tiles_per_row;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / tiles_per_row;
    std::int64_t const begin = group.index() % tiles_per_row * tile;
    std::int64_t const size = rows.size(row);
    if (begin >= size) return;
    Item* const first = items + rows.first(row) + begin;
    std::int64_t const count = size - begin < tile ? size - begin : tile;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((sort_alone(first, spare + rows.first(row) + begin, count);))
    } else {
      sort_in_team(group, first, static_cast<int>(count));
    }
  }

  /// Bitonic sort in the team's scratch memory, padded to a power of two with the smallest item.
  template <class Group>
  KOKKOS_FUNCTION void sort_in_team(Group const& group, Item* first, int count) const {
    Item* const held = group.template shared<Item>();
    int padded = 2;
    while (padded < count) padded *= 2;
    each(group, 0, padded, [&](std::int64_t i) { held[i] = i < count ? first[i] : Item{0}; });
    group.barrier();
    for (int run = 2; run <= padded; run *= 2)
      for (int stride = run / 2; stride > 0; stride /= 2) {
        each(group, 0, padded / 2, [&](std::int64_t p) {
          int const i = static_cast<int>(p), low = 2 * i - (i & (stride - 1)), high = low + stride;
          bool const descending = (low & run) == 0;
          Item const a = held[low], b = held[high];
          if ((a < b) == descending) {
            held[low] = b;
            held[high] = a;
          }
        });
        group.barrier();
      }
    each(group, 0, count, [&](std::int64_t i) { first[i] = held[i]; });
  }
};

/// How many of the first `taken` outputs of a descending merge come from `a`.
template <class Item>
KOKKOS_FUNCTION std::int64_t merge_split(Item const* a, std::int64_t a_size, Item const* b,
                                         std::int64_t b_size, std::int64_t taken) {
  std::int64_t low = taken > b_size ? taken - b_size : 0;
  std::int64_t high = taken < a_size ? taken : a_size;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (a[middle] > b[taken - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Merges pairs of sorted runs; call i writes chunk i of the output.
template <class Rows, class Item>
struct MergeRuns {
  Rows rows;
  Item const* from;
  Item* to;
  std::int64_t run;
  std::int64_t chunk;
  std::int64_t chunks_per_row;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    std::int64_t const row = index / chunks_per_row;
    std::int64_t const begin = index % chunks_per_row * chunk;
    std::int64_t const size = rows.size(row);
    if (begin >= size) return;
    std::int64_t const end = begin + chunk < size ? begin + chunk : size;
    std::int64_t const pair = begin / (2 * run) * (2 * run);
    std::int64_t const a_size = size - pair < run ? size - pair : run;
    std::int64_t const b_rest = size - pair - a_size;
    std::int64_t const b_size = b_rest < run ? b_rest : run;
    tally(Count::items_read, end - begin);
    tally(Count::items_written, end - begin);
    Item const* const a = from + rows.first(row) + pair;
    merge(a, a_size, a + a_size, b_size, begin - pair, end - pair, to + rows.first(row) + pair);
  }

  KOKKOS_FUNCTION static void merge(Item const* a, std::int64_t a_size, Item const* b,
                                    std::int64_t b_size, std::int64_t begin, std::int64_t end,
                                    Item* out) {
    std::int64_t i = merge_split(a, a_size, b, b_size, begin);
    std::int64_t j = begin - i;
    for (std::int64_t o = begin; o < end; ++o) {
      bool const take_a = j >= b_size || (i < a_size && a[i] > b[j]);
      out[o] = take_a ? a[i++] : b[j++];
    }
  }
};

/// Sorts every row, best first; `longest` bounds the sizes and `spare` is as large as `items`.
/// Returns where the result is: `items` or `spare`.
template <class Exec, class Rows, class Item>
Item* sort_items(Exec const& exec, Rows const& rows, std::int64_t row_count, std::int64_t longest,
                 Item* items, Item* spare) {
  Device const device = device_of(exec);
  std::int64_t const share = longest / device.concurrency + 1;
  std::int64_t const tile = device.host ? (share > 4096 ? share : 4096) : device_sort_tile;
  std::int64_t const tiles = (longest + tile - 1) / tile;
  launch("ktopk::arrange::sort_tiles", exec, row_count * tiles,
         static_cast<int>(tile > device_sort_tile ? 0 : tile * sizeof(Item)),
         SortTiles<Rows, Item>{rows, items, spare, tile, tiles});
  std::int64_t const chunk = device.host ? tile : 8;
  std::int64_t const chunks = (longest + chunk - 1) / chunk;
  for (std::int64_t run = tile; run < longest; run *= 2) {
    launch_each("ktopk::arrange::merge_runs", exec, row_count * chunks,
                MergeRuns<Rows, Item>{rows, items, spare, run, chunk, chunks});
    Item* const merged = spare;
    spare = items;
    items = merged;
  }
  return items;
}

}  // namespace ktopk::detail
