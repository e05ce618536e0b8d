// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "algorithms/bitonic.hpp"
#include "algorithms/radix.hpp"
#include "narrow.hpp"
#include "part_lists.hpp"

// The k best items of lists whose lengths lie in device memory, by radix, bucket or bitonic, as a caller
// names them. Bucket and bitonic put them into a list and know of keys only what the item tells, so that
// they are compiled for each type of item and not for each type of key.

namespace ktopk::detail {

/// The keys of which an item's ranks are taken to be.
template <class Item>
using ListBits = std::conditional_t<sizeof(Item) == sizeof(Item64), std::uint32_t, std::uint64_t>;

/// Narrower keys go on as the unsigned integers that their ranks are.
template <class Bits, class Item>
ItemMap<ListBits<Item>, Item> list_map(ItemMap<Bits, Item> const& map) {
  ItemMap<ListBits<Item>, Item> out{{}, map.position_bits, map.position_mask, map.flip};
  if constexpr (std::is_same_v<Bits, ListBits<Item>>) out.rank = map.rank;
  return out;
}

/// How many are wanted of each row; the keys are not looked at again.
template <class Item, class Bits>
Problem<ListBits<Item>> list_problem(Problem<Bits> const& problem) {
  Problem<ListBits<Item>> out{};
  out.shape = problem.shape;
  out.wanted = problem.wanted;
  return out;
}

/// Puts the k best items of every list into the sink's list, in any order.
template <class Exec, class Item>
void bucket_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                   NarrowWork<Item> const& work, WinnerSink<ListBits<Item>, Item> const& sink);

/// The same for k up to Bitonic's largest; best first where a list is one part.
template <class Exec, class Item>
void bitonic_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                    PartListPieces<Item> const& work, WinnerSink<ListBits<Item>, Item> const& sink);

/// What serves where `asked` of radix, bucket, bitonic and automatic is asked for.
inline Algorithm list_algorithm(Algorithm asked, std::int64_t k) {
  if (asked == Algorithm::bitonic && k <= Bitonic<Generic>::largest_k) return asked;
  return asked == Algorithm::bucket ? asked : Algorithm::radix;
}

/// Memory of one of the three.
template <class Item>
struct ListSelection {
  /// \param longest   list, in items
  /// \param buffered  whether radix has a buffer of a quarter of all lists
  ListSelection(Pieces& pieces, Device const& device, Shape const& shape, Algorithm by_,
                std::int64_t longest, bool buffered)
      : by(by_) {
    if (by == Algorithm::bucket) {
      bucket = NarrowWork<Item>(pieces, device, {shape.rows, longest, longest}, EqualParts::ways,
                                {pieces, device, shape.rows, longest, 0, false});
      bucket.scratch.unmoved = pieces.take<Verdict>(shape.rows);
    } else if (by == Algorithm::bitonic) {
      bitonic =
          PartListPieces<Item>(pieces, device, shape, parts_of_row(device, shape.rows, longest));
    } else {
      std::int64_t const items = buffered ? shape.rows * longest : 0;
      radix = RadixScratch<Item>(pieces, device, shape.rows, longest, items, buffered);
    }
  }

  Algorithm by;
  RadixScratch<Item> radix{};
  NarrowWork<Item> bucket{};
  PartListPieces<Item> bitonic{};
};

/// From where on the chosen items of a list are, or not far below: what a selection leaves behind.
template <class Item>
struct ListFloor {
  explicit ListFloor(ListSelection<Item> const& work)
      : radix(work.by == Algorithm::bitonic ? work.bitonic.scratch.row_states
                                            : work.radix.row_states),
        bucket(work.bucket.scratch.states) {}

  RadixRow<Item> const* radix;
  NarrowRow<Item> const* bucket;

  /// \param last  the last item chosen, which is the k-th where only bitonic knows it
  KOKKOS_FUNCTION Item operator()(std::int64_t row, Item last) const {
    if (bucket != nullptr) return bucket[row].low;
    return radix != nullptr ? radix[row].floor : last;
  }
};

/// Puts the k best items of every list into `sink`, in any order. Only radix can do without its list.
template <class Exec, class Bits, class Item>
void list_select(Exec const& exec, ListSource<Bits, Item> const& source,
                 ListSelection<Item> const& work, WinnerSink<Bits, Item> const& sink) {
  if (work.by == Algorithm::radix) return radix_select(exec, source, work.radix, sink);
  auto const problem = list_problem<Item>(sink.problem);
  ListSource<ListBits<Item>, Item> const items{problem, source.items, source.stride,
                                               source.verdicts};
  WinnerSink<ListBits<Item>, Item> const list{problem, list_map(sink.map), sink.items};
  if (work.by == Algorithm::bucket)
    bucket_select(exec, items, work.bucket, list);
  else
    bitonic_select(exec, items, work.bitonic, list);
}

// For both types of item on one space.
#define KTOPK_LIST_SELECT(select, Work, Space)                                            \
  template void select(Space const&, ListSource<ListBits<Item64>, Item64> const&,         \
                       Work<Item64> const&, WinnerSink<ListBits<Item64>, Item64> const&); \
  template void select(Space const&, ListSource<ListBits<Item128>, Item128> const&,       \
                       Work<Item128> const&, WinnerSink<ListBits<Item128>, Item128> const&);

}  // namespace ktopk::detail
