// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/detail/backend.hpp>

// The end of an implementation: its selected keys, in any order, become the output in the promised order. If any order
// is allowed, an implementation may store them at once.

namespace ktopk::detail {

/// The type of a counter that many groups share. Kokkos adds to it by one instruction. To the other unsigned type of 64
/// bits, unsigned long long on CUDA and std::uint64_t on HIP, it adds by compare and exchange, which takes the longer
/// the more threads meet at one counter.
#if defined(KOKKOS_ENABLE_HIP)
using Count64 = unsigned long long;
#else
using Count64 = std::uint64_t;
#endif

/// The validation of a row: whether the count of one_pass proved its result.
struct Verdict {
  Count64 kept;  ///< how many items reached the threshold
  bool proven;
};

/// The lists of selected keys: Problem::winners(row) composite keys from `items + row * k`. There are no lists if the
/// output need not be sorted, because the selected keys are then stored at once.
template <class Item>
struct Winners {
  Winners() = default;
  Winners(Pieces& pieces, Shape const& shape, Options const& options) {
    if (options.sorted == Sorted::no) return;
    items = pieces.take<Item>(shape.rows * shape.k);
    spare = pieces.take<Item>(shape.rows * shape.k);
  }

  Item* items = nullptr;
  Item* spare = nullptr;  // as large, for sorting
};

/// The size of an implementation's workspace, which `Work<Item>(workspace, device, shape, options, more...)` lays out.
template <template <class> class Work, class... More>
std::size_t bytes_of(Device const& device, Shape const& shape, Options const& options,
                     More const&... more) {
  if (item_bytes(shape.key_bytes, shape.n) == sizeof(Item64))
    return Work<Item64>(nullptr, device, shape, options, more...).pieces.bytes();
  return Work<Item128>(nullptr, device, shape, options, more...).pieces.bytes();
}

/// Where an implementation puts its selected keys: into a list, or into the output if there is no list.
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

/// The lists of selected keys as rows, which lie one after the other.
template <class Bits>
struct WinnerRows {
  Problem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.winners(row); }
};

/// Stores the selected keys of the lists, if there are any, the counts, and what fills short rows.
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
