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
};

template <class Bits, class Item>
struct PutWinner {
  WinnerSink<Bits, Item> sink;
  std::int64_t row;
  KOKKOS_FUNCTION void operator()(std::int64_t slot, Item item) const { sink.put(row, slot, item); }
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
