// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include "arrange.hpp"
#include "group.hpp"
#include "host_scan.hpp"

// Rows that fit a host's first cache: one thread selects, sorts and stores a row before it turns to the
// next. Radix with digits of one bit, counted by SIMD.

namespace ktopk::detail {

inline constexpr std::int64_t longest_short_row = filter_block;

template <class Bits, class Item>
struct ShortRows {
  WinnerSink<Bits, Item> sink;
  HostLoops<Bits> loops;
  Sorted sorted;

  template <class Group>
  KOKKOS_FUNCTION void operator()([[maybe_unused]] Group const& group) const {
    KOKKOS_IF_ON_HOST((select(group.index());))
  }

  void select(std::int64_t row) const {
    Problem<Bits> const& problem = sink.problem;
    auto const k = static_cast<int>(problem.winners(row));
    if (k > 0) put(row, problem.shape.n, k);
    if (problem.counts) problem.counts.store(row, k);
    for (std::int64_t slot = k; slot < problem.shape.k; ++slot) problem.store_missing(row, slot);
  }

  /// The k > 0 winners of a row of so many keys.
  void put(std::int64_t row, std::int64_t length, int k) const {
    Problem<Bits> const& problem = sink.problem;
    KeyScan<Bits, Item> const scan{loops, problem.row_keys(row), problem.key_step, sink.map};
    scan.blocks(0, length, [&](Bits const* from, std::int64_t, int count) {
      std::uint16_t hits[filter_block + 1];
      store(row, from, winners_of(from, count, k, hits), k);
    });
  }

  bool last_wins() const { return sink.map.flip == 0; }

  /// The places of the k winners in ascending order, somewhere in `hits`.
  std::uint16_t* winners_of(Bits const* from, int count, int k, std::uint16_t* hits) const {
    if (k == count) {
      std::iota(hits, hits + count, std::uint16_t{0});
      return hits;
    }
    alignas(64) Bits ranks[filter_block];
    loops.ranks(from, count, sink.map.rank, ranks);
    Reached<Bits> const reached = loops.kth(ranks, count, k);
    int const found = loops.filter(from, count, sink.map.rank, ranks_from(reached.rank), hits);
    return drop_ties(ranks, reached.rank, found - k, hits, found);
  }

  /// Drops `surplus` of the places whose rank is `rank`, those that the tie rule takes last.
  std::uint16_t* drop_ties(Bits const* ranks, Bits rank, int surplus, std::uint16_t* hits,
                           int found) const {
    if (surplus == 0) return hits;
    auto const drop = [&](std::uint16_t hit) {
      return surplus > 0 && ranks[hit] == rank && surplus-- > 0;
    };
    if (last_wins()) {
      static_cast<void>(std::remove_if(hits, hits + found, std::ref(drop)));
      return hits;
    }
    std::uint16_t* kept = hits + found;
    for (int h = found - 1; h >= 0; --h)
      if (!drop(hits[h])) *--kept = hits[h];
    return kept;
  }

  void store(std::int64_t row, Bits const* from, std::uint16_t* hits, int k) const {
    if (sorted == Sorted::yes && last_wins()) std::reverse(hits, hits + k);
    if (sorted == Sorted::no || k == 1)
      sink.put_hits(row, 0, from, hits, k, 0);
    else if (k <= most_counted_slots)
      store_counted(row, from, hits, k);
    else
      store_sorted(row, from, hits, k);
  }

  void store_counted(std::int64_t row, Bits const* from, std::uint16_t const* hits, int k) const {
    alignas(64) Bits ranks[most_counted_slots];
    alignas(64) Bits slots[most_counted_slots];
    std::uint16_t ordered[most_counted_slots];
    for (int h = 0; h < k; ++h) ranks[h] = sink.map.rank(from[hits[h]]);
    loops.slots(ranks, k, slots);
    for (int h = 0; h < k; ++h) ordered[slots[h]] = hits[h];
    sink.put_hits(row, 0, from, ordered, k, 0);
  }

  void store_sorted(std::int64_t row, Bits const* from, std::uint16_t* hits, int k) const {
    Item items[filter_block];
    for (int h = 0; h < k; ++h) items[h] = sink.map(from[hits[h]], hits[h]);
    std::sort(items, items + k, std::greater<Item>());
    for (int h = 0; h < k; ++h) hits[h] = static_cast<std::uint16_t>(sink.map.position(items[h]));
    sink.put_hits(row, 0, from, hits, k, 0);
  }
};

/// Whether the rows of a shape are short ones.
inline bool are_short_rows(Device const& device, Shape const& shape) {
  return device.host && !shape.ragged && shape.n <= longest_short_row;
}

}  // namespace ktopk::detail
