// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/backend.hpp>

// What every generic room ends in: its winners, in any order, become the output in the promised order.
// Where that is any order, a room may also store them at once.

namespace ktopk::detail {

/// The winners of each row: Problem::winners(row) items from items + row * k. There are none where they
/// need not be sorted, and so are stored at once.
template <class Item>
struct Winners {
  Winners() = default;
  Winners(Pieces& pieces, Shape const& shape, Options const& options) {
    if (options.sorted == Sorted::no) return;
    items = pieces.take<Item>(shape.rows * shape.k);
    spare = pieces.take<Item>(shape.rows * shape.k);
  }

  Item* items = nullptr;
  Item* spare = nullptr;  // as much again, where they are to be sorted
};

/// What a room's pieces, `Work<Item>(workspace, device, shape, options, more...)`, take of a workspace.
template <template <class> class Work, class... More>
std::size_t bytes_of(Device const& device, Shape const& shape, Options const& options,
                     More const&... more) {
  if (item_bytes(shape.key_bytes, shape.n) == sizeof(Item64))
    return Work<Item64>(nullptr, device, shape, options, more...).pieces.bytes();
  return Work<Item128>(nullptr, device, shape, options, more...).pieces.bytes();
}

/// Where a room puts its winners: into the list, or without one into the output.
template <class Bits, class Item>
struct WinnerSink {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Item* items;

  KOKKOS_FUNCTION void store(std::int64_t row, std::int64_t slot, Item item) const {
    std::uint64_t const position = map.position(item);
    Bits const rank = map.rank_of(item);
    Bits const key =
        map.rank.has_one_key(rank)
            ? map.rank.key_of(rank)
            : problem.row_keys(row)[static_cast<std::int64_t>(position) * problem.key_step];
    problem.store(row, slot, key, position);
  }
  KOKKOS_FUNCTION void put(std::int64_t row, std::int64_t slot, Item item) const {
    if (items != nullptr)
      items[row * problem.shape.k + slot] = item;
    else
      store(row, slot, item);
  }
  /// Puts the keys at from[hits[0]], from[hits[1]] ..., where `from` is position `first` of the row.
  void put_hits(std::int64_t row, std::int64_t slot, Bits const* from, std::uint16_t const* hits,
                int count, std::int64_t first) const;
  /// Puts the items at from[hits[0]], from[hits[1]] ...
  void put_hits(std::int64_t row, std::int64_t slot, Item const* from, std::uint16_t const* hits,
                int count) const {
    WinnerSink const to = *this;  // a copy that no store can change stays in registers
    for (int h = 0; h < count; ++h) to.put(row, slot + h, from[hits[h]]);
  }
};

template <class Bits, class Item>
struct PutWinner {
  WinnerSink<Bits, Item> sink;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, Item item) const { sink.put(row, slot, item); }
};

template <class Integer>
void store_positions(Integer* out, std::int64_t step, std::uint16_t const* hits, int count,
                     std::int64_t first) {
  for (int h = 0; h < count; ++h) out[h * step] = static_cast<Integer>(first + hits[h]);
}

template <class Bits, class Item>
void WinnerSink<Bits, Item>::put_hits(std::int64_t row, std::int64_t slot, Bits const* from,
                                      std::uint16_t const* hits, int count,
                                      std::int64_t first) const {
  if (items != nullptr) {
    Item* const out = items + row * problem.shape.k + slot;
    for (int h = 0; h < count; ++h)
      out[h] = map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h]));
    return;
  }
  if (problem.values != nullptr) {
    Bits* const out = problem.values + row * problem.value_row + slot * problem.value_step;
    for (int h = 0; h < count; ++h) out[h * problem.value_step] = from[hits[h]];
  }
  if (problem.indices == nullptr) return;
  std::int64_t const at = row * problem.index_row + slot * problem.index_step;
  if (problem.shape.index_bytes == 4)
    store_positions(static_cast<std::uint32_t*>(problem.indices) + at, problem.index_step, hits,
                    count, first);
  else
    store_positions(static_cast<std::uint64_t*>(problem.indices) + at, problem.index_step, hits,
                    count, first);
}

/// Sorts each row's winners if there is a spare, then stores keys, positions and counts and fills what
/// a short row leaves open. Merge sort: tiles in place, then log2(k / tile) passes over the winners.
template <class Exec, class Bits, class Item>
void arrange(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
             Winners<Item> const& winners);

}  // namespace ktopk::detail
