// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/detail/backend.hpp>

// What implementations end in: their winners, in any order, become the output in the promised order. Where that is any
// order, an implementation may also store them at once.

namespace ktopk::detail {

/// What many groups count with. Kokkos adds to it by one instruction; to the other unsigned type of
/// 64 bits, on CUDA unsigned long long and on HIP std::uint64_t, by exchanging until nobody came between,
/// which takes ever longer the more threads meet at one counter.
#if defined(KOKKOS_ENABLE_HIP)
using Count64 = unsigned long long;
#else
using Count64 = std::uint64_t;
#endif

/// Whether one_pass's count proved its result for a row.
struct Verdict {
  Count64 kept;  ///< how many items reached the threshold
  bool proven;
};

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

/// What an implementation's pieces, `Work<Item>(workspace, device, shape, options, more...)`, take of a workspace.
template <template <class> class Work, class... More>
std::size_t bytes_of(Device const& device, Shape const& shape, Options const& options,
                     More const&... more) {
  if (item_bytes(shape.key_bytes, shape.n) == sizeof(Item64))
    return Work<Item64>(nullptr, device, shape, options, more...).pieces.bytes();
  return Work<Item128>(nullptr, device, shape, options, more...).pieces.bytes();
}

/// Where an implementation puts its winners: into the list, or without one into the output.
template <class Bits, class Item>
struct WinnerSink {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Item* items;

  KOKKOS_FUNCTION void store(std::int64_t row, std::int64_t slot, Item item) const {
    problem.store(row, slot, key_of(row, item), map.position(item));
  }
  KOKKOS_FUNCTION Bits key_of(std::int64_t row, Item item) const {
    Bits const rank = map.rank_of(item);
    if (map.rank.has_one_key(rank)) return map.rank.key_of(rank);
    return problem.row_keys(row)[static_cast<std::int64_t>(map.position(item)) * problem.key_step];
  }
  KOKKOS_FUNCTION void put(std::int64_t row, std::int64_t slot, Item item) const {
    if (items != nullptr)
      items[row * problem.shape.k + slot] = item;
    else
      store(row, slot, item);
  }
  /// Puts the keys at from[hits[0]], from[hits[1]] ..., where `from` is position `first` of the row.
  void put_hits(std::int64_t row, std::int64_t slot, Stored<Bits> const* from,
                std::uint16_t const* hits, int count, std::int64_t first) const {
    auto const position = [=](int h) { return static_cast<std::uint64_t>(first + hits[h]); };
    put_many(
        row, slot, count, [=, to = map](int h) { return to(from[hits[h]], position(h)); },
        [=](int h) { return from[hits[h]]; }, position);
  }
  /// Puts the items at from[hits[0]], from[hits[1]] ...
  void put_hits(std::int64_t row, std::int64_t slot, Item const* from, std::uint16_t const* hits,
                int count) const {
    WinnerSink const to = *this;  // a copy that no store can change stays in registers
    put_many(
        row, slot, count, [=](int h) { return from[hits[h]]; },
        [=](int h) { return to.key_of(row, from[hits[h]]); },
        [=](int h) { return to.map.position(from[hits[h]]); });
  }
  void put_items(std::int64_t row, std::int64_t slot, Item const* from, int count) const {
    WinnerSink const to = *this;
    put_many(
        row, slot, count, [=](int h) { return from[h]; },
        [=](int h) { return to.key_of(row, from[h]); },
        [=](int h) { return to.map.position(from[h]); });
  }

 private:
  /// Puts `count` winners as one loop for each array: item(h), or key(h) and position(h).
  template <class MakeItem, class MakeKey, class MakePosition>
  void put_many(std::int64_t row, std::int64_t slot, int count, MakeItem const& item,
                MakeKey const& key, MakePosition const& position) const {
    if (items != nullptr)
      return put_all<Item>(items + row * problem.shape.k + slot, 1, count, item);
    if (problem.values != nullptr)
      put_all<Bits>(problem.values + row * problem.value_row + slot * problem.value_step,
                    problem.value_step, count, key);
    if (problem.indices == nullptr) return;
    std::int64_t const at = row * problem.index_row + slot * problem.index_step;
    if (problem.shape.index_bytes == 4)
      put_all<std::uint32_t>(static_cast<std::uint32_t*>(problem.indices) + at, problem.index_step,
                             count, position);
    else
      put_all<std::uint64_t>(static_cast<std::uint64_t*>(problem.indices) + at, problem.index_step,
                             count, position);
  }
  /// By a copy of `make`, which no store can change, so that it stays in registers.
  template <class T, class Make>
  static void put_all(Stored<T>* out, std::int64_t step, int count, Make make) {
    for (int h = 0; h < count; ++h) out[h * step] = static_cast<T>(make(h));
  }
};

template <class Bits, class Item>
struct PutWinner {
  WinnerSink<Bits, Item> sink;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, Item item) const { sink.put(row, slot, item); }
  void many(std::int64_t slot, Item const* items, int count) const {
    sink.put_items(row, slot, items, count);
  }
};

/// The rows of winners that lie one after the other.
template <class Bits>
struct WinnerRows {
  Problem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.winners(row); }
};

/// Stores the winners of a list, if there is one, and all that belongs beside them.
template <class Bits, class Item>
struct StoreWinners {
  WinnerSink<Bits, Item> sink;
  Item const* items;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    Problem<Bits> const& problem = sink.problem;
    std::int64_t const k = problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    std::int64_t const real = problem.winners(row);
    if (slot == 0 && problem.counts) problem.counts.store(row, real);
    if (slot >= real)
      problem.store_missing(row, slot);
    else if (items != nullptr)
      sink.store(row, slot, items[i]);
  }
};

}  // namespace ktopk::detail
