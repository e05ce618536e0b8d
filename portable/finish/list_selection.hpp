// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include "../bitonic/bitonic.hpp"
#include "../radix/radix.hpp"
#include "../refinement/refinement.hpp"
#include "part_lists.hpp"

// The k best composite keys of lists whose lengths lie in device memory. The caller names radix, bucket or bitonic.
// Bucket and bitonic put them into a list and know of keys only what composite keys contain, so they are compiled for
// each type of composite key and not for each key width.

namespace ktopk::detail {

/// The type of the ordered bits in a composite key of a list.
template <class CompositeKey>
using ListBits = std::conditional_t<sizeof(CompositeKey) == sizeof(CompositeKey64), std::uint32_t,
                                    std::uint64_t>;

/// The map of a list. If keys are narrower than ListBits, their ordered bits count as the keys.
template <class Bits, class CompositeKey>
CompositeKeyMap<ListBits<CompositeKey>, CompositeKey> list_map(
    CompositeKeyMap<Bits, CompositeKey> const& map) {
  CompositeKeyMap<ListBits<CompositeKey>, CompositeKey> out{
      {}, map.position_bits, map.position_mask, map.flip};
  if constexpr (std::is_same_v<Bits, ListBits<CompositeKey>>) out.rank = map.rank;
  return out;
}

/// A problem that holds how many are wanted of each row; its keys are not read.
template <class CompositeKey, class Bits>
StoredProblem<ListBits<CompositeKey>> list_problem(StoredProblem<Bits> const& problem) {
  auto out = make_stored_problem<ListBits<CompositeKey>>(problem.shape);
  out.wanted = problem.wanted;
  return out;
}

/// Puts the k best composite keys of every list into the sink's list, in any order.
template <class Exec, class CompositeKey>
void bucket_select(Exec const& exec,
                   ListSource<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& source,
                   RefinementWork<CompositeKey> const& work,
                   SelectedSink<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& sink);

/// The same for k up to the largest of bitonic; the best comes first if a list is one part.
template <class Exec, class CompositeKey>
void bitonic_select(Exec const& exec,
                    ListSource<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& source,
                    PartListLayout<CompositeKey> const& work,
                    SelectedSink<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& sink);

/// The algorithm that runs if the caller asks for `asked`: radix, bucket, bitonic or automatic.
inline Algorithm list_algorithm(Algorithm asked, std::int64_t k) {
  if (asked == Algorithm::bitonic && k <= Bitonic<Generic>::largest_k) return asked;
  return asked == Algorithm::bucket ? asked : Algorithm::radix;
}

/// The memory of one of the three algorithms.
template <class CompositeKey>
struct ListSelection {
  /// \param longest   how many composite keys the longest list has
  /// \param buffered  whether radix has a buffer of a quarter of all lists
  ListSelection(WorkspaceLayout& layout, Device const& device, Shape const& shape, Algorithm by_,
                std::int64_t longest, bool buffered)
      : by(by_) {
    if (by == Algorithm::bucket) {
      bucket = RefinementWork<CompositeKey>(layout, device, {shape.rows, longest, longest},
                                            EqualParts::ways,
                                            {layout, device, shape.rows, longest, 0, false});
      bucket.scratch.unmoved = layout.take<RowValidation>(shape.rows);
    } else if (by == Algorithm::bitonic) {
      bitonic = PartListLayout<CompositeKey>(layout, device, shape,
                                             parts_of_row(device, shape.rows, longest));
    } else {
      std::int64_t const composites = buffered ? shape.rows * longest : 0;
      radix = RadixScratch<CompositeKey>(layout, device, shape.rows, longest, composites, buffered);
    }
  }

  Algorithm by;
  RadixScratch<CompositeKey> radix{};
  RefinementWork<CompositeKey> bucket{};
  PartListLayout<CompositeKey> bitonic{};
};

/// The threshold that a selection leaves behind: all selected composite keys of a list reach it, and few others.
template <class CompositeKey>
struct ListThreshold {
  explicit ListThreshold(ListSelection<CompositeKey> const& work)
      : radix(work.by == Algorithm::bitonic ? work.bitonic.scratch.row_states
                                            : work.radix.row_states),
        bucket(work.bucket.scratch.states) {}

  RadixRow<CompositeKey> const* radix;
  RefinementState<CompositeKey> const* bucket;

  /// \param last  the last selected one, which is the k-th after bitonic on lists of one part
  KOKKOS_FUNCTION CompositeKey operator()(std::int64_t row, CompositeKey last) const {
    if (bucket != nullptr) return bucket[row].low;
    return radix != nullptr ? radix[row].low : last;
  }
};

/// Puts the k best composite keys of every list into `sink`, in any order. Only radix needs no list in the sink.
template <class Exec, class Bits, class CompositeKey>
void list_select(Exec const& exec, ListSource<StoredRows<Bits>, CompositeKey> const& source,
                 ListSelection<CompositeKey> const& work,
                 SelectedSink<StoredRows<Bits>, CompositeKey> const& sink) {
  if (work.by == Algorithm::radix) return radix_select(exec, source, work.radix, sink);
  auto const problem = list_problem<CompositeKey>(sink.problem);
  ListSource<StoredRows<ListBits<CompositeKey>>, CompositeKey> const composites{
      problem, source.composites, source.stride, source.validations};
  SelectedSink<StoredRows<ListBits<CompositeKey>>, CompositeKey> const list{
      problem, list_map(sink.map), sink.composites};
  if (work.by == Algorithm::bucket)
    bucket_select(exec, composites, work.bucket, list);
  else
    bitonic_select(exec, composites, work.bitonic, list);
}

// Instantiates a selection for both types of composite key on one space.
#define KTOPK_LIST_SELECT(select, Work, Space)                                                     \
  template void select(Space const&,                                                               \
                       ListSource<StoredRows<ListBits<CompositeKey64>>, CompositeKey64> const&,    \
                       Work<CompositeKey64> const&,                                                \
                       SelectedSink<StoredRows<ListBits<CompositeKey64>>, CompositeKey64> const&); \
  template void select(                                                                            \
      Space const&, ListSource<StoredRows<ListBits<CompositeKey128>>, CompositeKey128> const&,     \
      Work<CompositeKey128> const&,                                                                \
      SelectedSink<StoredRows<ListBits<CompositeKey128>>, CompositeKey128> const&);

}  // namespace ktopk::detail
