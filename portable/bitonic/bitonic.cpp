// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../finish/arrange.hpp"
#include "../finish/list_selection.hpp"
#include "../run/launch.hpp"
#include "network.hpp"

namespace ktopk::detail {

inline constexpr int bitonic_vector = 1024;  // composite keys in a group's scratch memory

/// How many runs fit a vector, but no more than `count` composite keys fill.
KOKKOS_INLINE_FUNCTION int bitonic_columns(std::int64_t count, int length) {
  int columns = bitonic_vector / length;
  while (columns > 1 && columns / 2 * length >= count) columns /= 2;
  return columns;
}

/// Selects from a group's part of a row, whose composite keys read(i) returns.
template <class Group, class Bits, class CompositeKey, class Read>
KOKKOS_FUNCTION void select_part(Group const& group, PartLists<Bits, CompositeKey> const& lists,
                                 RowPart const& part, Read const& read) {
  CompositeKey* const composites = group.template shared<CompositeKey>();
  int length = 1;
  while (length < part.wanted) length *= 2;
  CompositeKey const* const run =
      best_run(TeamSteps<Group>{group}, part.length(), composites, composites + bitonic_vector,
               length, bitonic_columns(part.length(), length),
               [&](std::int64_t first, Runs<CompositeKey> const& runs) {
                 each(group, 0, runs.size(), [&](std::int64_t i) {
                   std::int64_t const at = part.range.begin + first + i;
                   runs.composites[i] = at < part.range.end ? read(at) : CompositeKey{0};
                 });
                 group.barrier();
               });
  each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, run[slot]); });
}

template <class CompositeKey>
inline constexpr int bitonic_shared_bytes =
    2 * bitonic_vector * static_cast<int>(sizeof(CompositeKey));

template <class Bits, class CompositeKey>
struct BitonicParts {
  PartLists<Bits, CompositeKey> lists;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    SelectedSink<StoredRows<Bits>, CompositeKey> const& sink = lists.sink;
    Stored<Bits> const* const keys = sink.problem.rows.pointer(part.row);
    std::int64_t const step = sink.problem.rows.step;
    select_part(group, lists, part, [&](std::int64_t i) {
      return sink.map(keys[i * step], static_cast<std::uint64_t>(i));
    });
    if (group.rank() == 0) part.tally_read();
  }
};

/// Parts of lists of composite keys.
template <class Bits, class CompositeKey>
struct BitonicLists {
  PartLists<Bits, CompositeKey> lists;
  ListSource<StoredRows<Bits>, CompositeKey> source;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / lists.parts;
    if (!source.active(row)) return;
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    select_part(group, lists, part, source.reader(row));
    if (group.rank() == 0) tally(Count::composites_read, part.length());
  }
};

template <class CompositeKey>
struct BitonicLayout {
  BitonicLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        lists(layout, device, shape, parts_of_row(device, shape.rows, shape.n)),
        selected(layout, shape, options) {}
  WorkspaceLayout layout;
  PartListLayout<CompositeKey> lists;
  SelectedKeys<CompositeKey> selected;
};

KTOPK_INLINE std::size_t Bitonic<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<BitonicLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Bitonic<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                           Options const& options, void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    Shape const& shape = problem.shape;
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    BitonicLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    auto const lists = work.lists.lists(
        SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, work.selected.composites});
    launch("ktopk::bitonic::parts", exec, shape.rows * lists.parts,
           bitonic_shared_bytes<CompositeKey>, BitonicParts<Bits, CompositeKey>{lists});
    select_from_lists("ktopk::bitonic::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.selected);
  });
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
