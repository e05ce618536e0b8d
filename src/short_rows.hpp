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
      find_winners(from, count, k, hits);
      store(row, from, hits, k);
    });
  }

  bool last_wins() const { return sink.map.flip == 0; }

  /// Writes the places of the k winners in ascending order to `hits`.
  void find_winners(Bits const* from, int count, int k, std::uint16_t* hits) const {
    if (k == count) return std::iota(hits, hits + count, std::uint16_t{0});
    alignas(64) Bits ranks[filter_block];
    loops.ranks(from, count, sink.map.rank, ranks);
    Reached<Bits> const reached = loops.kth(ranks, count, k);
    int const surplus = reached.count - k;
    int const ties = surplus > 0 ? reached.count - above(ranks, count, reached.rank) : 0;
    Borderline<Bits>({reached.rank, 0}, surplus, ties - surplus, last_wins())
        .filter(loops, sink.map.rank, from, count, hits);
  }

  int above(Bits const* ranks, int count, Bits rank) const {
    if (rank == std::numeric_limits<Bits>::max()) return 0;
    return loops.reaching(ranks, count, static_cast<Bits>(rank + 1));
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
