// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../finish/list_selection.hpp"
#include "kernels.hpp"

namespace ktopk::detail {

/// Parts of lists of composite keys.
template <class Bits, class CompositeKey>
struct BitonicLists {
  PartLists<StoredRows<Bits>, CompositeKey> lists;
  ListSource<StoredRows<Bits>, CompositeKey> source;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    if (!source.active(group.index() / lists.parts)) return;
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    auto const read = source.reader(part.row);
    put_best_of_part(group, lists, part,
                     FillInOrder<Group, decltype(read)>{group, part.range, read});
    if (group.rank() == 0) tally(Count::composites_read, part.length());
  }
};

KTOPK_INLINE std::size_t Bitonic<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<BitonicLayout>(device, shape, options);
}

template <class Exec, class CompositeKey>
void bitonic_select(Exec const& exec,
                    ListSource<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& source,
                    PartListLayout<CompositeKey> const& work,
                    SelectedSink<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& sink) {
  auto lists = work.lists(sink);
  lists.lengths = source.validations;
  launch("ktopk::bitonic::parts", exec, sink.problem.shape.rows * lists.parts,
         bitonic_shared_bytes<CompositeKey>,
         BitonicLists<ListBits<CompositeKey>, CompositeKey>{lists, source});
  select_from_lists("ktopk::bitonic::lists", exec, lists, work.scratch);
}

#define KTOPK_BITONIC(Space)            \
  KTOPK_RUN_ON(Bitonic<Generic>, Space) \
  KTOPK_LIST_SELECT(bitonic_select, PartListLayout, Space)
KTOPK_INSTANTIATE(KTOPK_BITONIC)
#undef KTOPK_BITONIC

static_assert(Implementation<Bitonic<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
