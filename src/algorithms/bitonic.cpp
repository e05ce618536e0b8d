// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../arrange.hpp"
#include "../group.hpp"
#include "../list_selection.hpp"
#include "bitonic_network.hpp"

namespace ktopk::detail {

inline constexpr int bitonic_vector = 1024;  // composite keys in a group's scratch memory

/// How many runs fit a vector, but no more than `count` composite keys fill.
KOKKOS_INLINE_FUNCTION int bitonic_columns(std::int64_t count, int length) {
  int columns = bitonic_vector / length;
  while (columns > 1 && columns / 2 * length >= count) columns /= 2;
  return columns;
}

/// Selects from a group's part of a row, whose composite keys read(i) returns.
template <class Group, class Bits, class Item, class Read>
KOKKOS_FUNCTION void select_part(Group const& group, PartLists<Bits, Item> const& lists,
                                 RowPart const& part, Read const& read) {
  Item* const items = group.template shared<Item>();
  int length = 1;
  while (length < part.wanted) length *= 2;
  Item const* const run = best_run(
      TeamSteps<Group>{group}, part.length(), items, items + bitonic_vector, length,
      bitonic_columns(part.length(), length), [&](std::int64_t first, Runs<Item> const& runs) {
        each(group, 0, runs.size(), [&](std::int64_t i) {
          std::int64_t const at = part.range.begin + first + i;
          runs.items[i] = at < part.range.end ? read(at) : Item{0};
        });
        group.barrier();
      });
  each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, run[slot]); });
}

template <class Item>
inline constexpr int bitonic_shared_bytes = 2 * bitonic_vector * static_cast<int>(sizeof(Item));

template <class Bits, class Item>
struct BitonicParts {
  PartLists<Bits, Item> lists;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    WinnerSink<Bits, Item> const& sink = lists.sink;
    Stored<Bits> const* const keys = sink.problem.row_keys(part.row);
    std::int64_t const step = sink.problem.key_step;
    select_part(group, lists, part, [&](std::int64_t i) {
      return sink.map(keys[i * step], static_cast<std::uint64_t>(i));
    });
    if (group.rank() == 0) part.tally_read();
  }
};

/// Parts of lists of composite keys.
template <class Bits, class Item>
struct BitonicLists {
  PartLists<Bits, Item> lists;
  ListSource<Bits, Item> source;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / lists.parts;
    if (!source.active(row)) return;
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    select_part(group, lists, part, source.reader(row));
    if (group.rank() == 0) tally(Count::items_read, part.length());
  }
};

template <class Item>
struct BitonicLayout {
  BitonicLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        lists(pieces, device, shape, parts_of_row(device, shape.rows, shape.n)),
        selected(pieces, shape, options) {}
  Pieces pieces;
  PartListPieces<Item> lists;
  Winners<Item> selected;
};

KTOPK_INLINE std::size_t Bitonic<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<BitonicLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Bitonic<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                           void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    BitonicLayout<Item> const work(workspace, device_of(exec), shape, options);
    auto const lists = work.lists.lists(WinnerSink<Bits, Item>{problem, map, work.selected.items});
    launch("ktopk::bitonic::parts", exec, shape.rows * lists.parts, bitonic_shared_bytes<Item>,
           BitonicParts<Bits, Item>{lists});
    select_from_lists("ktopk::bitonic::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.selected);
  });
}

template <class Exec, class Item>
void bitonic_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                    PartListPieces<Item> const& work,
                    WinnerSink<ListBits<Item>, Item> const& sink) {
  auto lists = work.lists(sink);
  lists.lengths = source.verdicts;
  launch("ktopk::bitonic::parts", exec, sink.problem.shape.rows * lists.parts,
         bitonic_shared_bytes<Item>, BitonicLists<ListBits<Item>, Item>{lists, source});
  select_from_lists("ktopk::bitonic::lists", exec, lists, work.scratch);
}

#define KTOPK_BITONIC(Space)            \
  KTOPK_RUN_ON(Bitonic<Generic>, Space) \
  KTOPK_LIST_SELECT(bitonic_select, PartListPieces, Space)
KTOPK_INSTANTIATE(KTOPK_BITONIC)
#undef KTOPK_BITONIC

static_assert(Implementation<Bitonic<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
