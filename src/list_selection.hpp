// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "algorithms/bitonic.hpp"
#include "algorithms/radix.hpp"
#include "part_lists.hpp"
#include "refinement.hpp"

// The k best composite keys of lists whose lengths lie in device memory. The caller names radix, bucket or bitonic.
// Bucket and bitonic put them into a list and know of keys only what composite keys contain, so they are compiled for
// each type of composite key and not for each key width.

namespace ktopk::detail {

/// The type of the ordered bits in a composite key of a list.
template <class Item>
using ListBits = std::conditional_t<sizeof(Item) == sizeof(Item64), std::uint32_t, std::uint64_t>;

/// The map of a list. If keys are narrower than ListBits, their ordered bits count as the keys.
template <class Bits, class Item>
ItemMap<ListBits<Item>, Item> list_map(ItemMap<Bits, Item> const& map) {
  ItemMap<ListBits<Item>, Item> out{{}, map.position_bits, map.position_mask, map.flip};
  if constexpr (std::is_same_v<Bits, ListBits<Item>>) out.rank = map.rank;
  return out;
}

/// A problem that tells how many are wanted of each row; its keys are not read.
template <class Item, class Bits>
Problem<ListBits<Item>> list_problem(Problem<Bits> const& problem) {
  Problem<ListBits<Item>> out{};
  out.shape = problem.shape;
  out.wanted = problem.wanted;
  return out;
}

/// Puts the k best composite keys of every list into the sink's list, in any order.
template <class Exec, class Item>
void bucket_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                   RefinementWork<Item> const& work, WinnerSink<ListBits<Item>, Item> const& sink);

/// The same for k up to the largest of bitonic; the best comes first if a list is one part.
template <class Exec, class Item>
void bitonic_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                    PartListPieces<Item> const& work, WinnerSink<ListBits<Item>, Item> const& sink);

/// The algorithm that runs if the caller asks for `asked`: radix, bucket, bitonic or automatic.
inline Algorithm list_algorithm(Algorithm asked, std::int64_t k) {
  if (asked == Algorithm::bitonic && k <= Bitonic<Generic>::largest_k) return asked;
  return asked == Algorithm::bucket ? asked : Algorithm::radix;
}

/// The memory of one of the three algorithms.
template <class Item>
struct ListSelection {
  /// \param longest   how many composite keys the longest list has
  /// \param buffered  whether radix has a buffer of a quarter of all lists
  ListSelection(Pieces& pieces, Device const& device, Shape const& shape, Algorithm by_,
                std::int64_t longest, bool buffered)
      : by(by_) {
    if (by == Algorithm::bucket) {
      bucket =
          RefinementWork<Item>(pieces, device, {shape.rows, longest, longest}, EqualParts::ways,
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
  RefinementWork<Item> bucket{};
  PartListPieces<Item> bitonic{};
};

/// The threshold that a selection leaves behind: all selected composite keys of a list reach it, and few others.
template <class Item>
struct ListThreshold {
  explicit ListThreshold(ListSelection<Item> const& work)
      : radix(work.by == Algorithm::bitonic ? work.bitonic.scratch.row_states
                                            : work.radix.row_states),
        bucket(work.bucket.scratch.states) {}

  RadixRow<Item> const* radix;
  RefinementState<Item> const* bucket;

  /// \param last  the last selected one, which is the k-th after bitonic on lists of one part
  KOKKOS_FUNCTION Item operator()(std::int64_t row, Item last) const {
    if (bucket != nullptr) return bucket[row].low;
    return radix != nullptr ? radix[row].floor : last;
  }
};

/// Puts the k best composite keys of every list into `sink`, in any order. Only radix needs no list in the sink.
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

// Instantiates a selection for both types of composite key on one space.
#define KTOPK_LIST_SELECT(select, Work, Space)                                            \
  template void select(Space const&, ListSource<ListBits<Item64>, Item64> const&,         \
                       Work<Item64> const&, WinnerSink<ListBits<Item64>, Item64> const&); \
  template void select(Space const&, ListSource<ListBits<Item128>, Item128> const&,       \
                       Work<Item128> const&, WinnerSink<ListBits<Item128>, Item128> const&);

}  // namespace ktopk::detail
