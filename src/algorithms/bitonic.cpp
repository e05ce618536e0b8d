// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <algorithm>
#include <bit>

#include "../arrange.hpp"
#include "../host_filter.hpp"
#include "../instantiate.hpp"
#include "../list_selection.hpp"
#include "bitonic_network.hpp"

namespace ktopk::detail {

inline constexpr int bitonic_vector = 2048;       // ranks on a host
inline constexpr int bitonic_team_vector = 1024;  // items in a team's scratch memory

/// As many columns as a vector has room for, but no more than `count` items fill.
KOKKOS_INLINE_FUNCTION int bitonic_columns(std::int64_t count, int length, int most) {
  int columns = most;
  while (columns > 1 && columns / 2 * length >= count) columns /= 2;
  return columns;
}

/// A host's vectors: of ranks, or of items.
template <class Key>
struct HostVectors {
  static constexpr int lanes = HostSteps<Key>::lanes;
  static constexpr int most =
      std::max(bitonic_vector, static_cast<int>(Bitonic<Generic>::largest_k) * lanes);

  /// Narrower ones where the last one would be mostly padding.
  static int columns(std::int64_t count, int length) {
    int columns = bitonic_columns(count, length, std::max(bitonic_vector / length, lanes));
    auto const padding = [&] {
      std::int64_t const size = columns * length;
      return (count + size - 1) / size * size - count;
    };
    while (columns > lanes && 8 * padding() > count) columns /= 2;
    return columns;
  }
};

/// Runs of so many items.
inline int bitonic_length(int k) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(k)));
}

/// Keys of one part of a row, as a host sorts them.
template <class Bits>
struct BitonicKeys {
  Bits const* keys;
  std::int64_t step;
  std::int64_t count;
  RankMap<Bits> rank;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t first, Runs<Bits> const& runs) const {
    auto const real = static_cast<int>(std::min<std::int64_t>(count - first, runs.size()));
    Bits const* const from = keys + first * step;
    RankMap<Bits> const map = rank;
    if (step == 1)
      for (int i = 0; i < real; ++i) runs.items[i] = map(from[i]);
    else
      for (int i = 0; i < real; ++i) runs.items[i] = map(from[i * step]);
    for (int i = real; i < runs.size(); ++i) runs.items[i] = 0;
  }
};

/// The k-th best rank, and how many ranks are better than it. 1 <= k <= count.
template <class Bits>
[[gnu::always_inline]] inline Reached<Bits> bitonic_kth_plain(BitonicKeys<Bits> const& keys,
                                                              int k) {
  using Vectors = HostVectors<Bits>;
  alignas(64) Bits best[Vectors::most];
  alignas(64) Bits next[Vectors::most];
  int const length = bitonic_length(k);
  Bits const* const run = best_run(HostSteps<Bits>{}, keys.count, best, next, length,
                                   Vectors::columns(keys.count, length), keys);
  int better = 0;
  while (run[better] != run[k - 1]) ++better;
  return {run[k - 1], better};
}

template <class Bits>
using BitonicKth = Reached<Bits> (*)(BitonicKeys<Bits> const&, int);

#define KTOPK_BITONIC_KTH(suffix, attribute)                                           \
  template <class Bits>                                                                \
  attribute Reached<Bits> bitonic_kth_##suffix(BitonicKeys<Bits> const& keys, int k) { \
    return bitonic_kth_plain(keys, k);                                                 \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_BITONIC_KTH)
#undef KTOPK_BITONIC_KTH

/// The fastest of them that this processor runs.
template <class Bits>
BitonicKth<Bits> pick_bitonic_kth() {
  return KTOPK_FASTEST_ON_HOST(bitonic_kth, Bits);
}

/// Items of one part of a list.
template <class Item>
struct BitonicItems {
  Item const* items;
  std::int64_t count;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t first, Runs<Item> const& runs) const {
    auto const real = static_cast<int>(std::min<std::int64_t>(count - first, runs.size()));
    for (int i = 0; i < real; ++i) runs.items[i] = items[first + i];
    for (int i = real; i < runs.size(); ++i) runs.items[i] = 0;
  }
};

/// The k best, best first. 1 <= k <= count.
template <class Item>
[[gnu::always_inline]] inline void bitonic_best_plain(BitonicItems<Item> const& items, int k,
                                                      Item* out) {
  using Vectors = HostVectors<Item>;
  alignas(64) Item best[Vectors::most];
  alignas(64) Item next[Vectors::most];
  int const length = bitonic_length(k);
  Item const* const run = best_run(HostSteps<Item>{}, items.count, best, next, length,
                                   Vectors::columns(items.count, length), items);
  std::copy(run, run + k, out);
}

template <class Item>
using BitonicBest = void (*)(BitonicItems<Item> const&, int, Item*);

#define KTOPK_BITONIC_BEST(suffix, attribute)                                               \
  template <class Item>                                                                     \
  attribute void bitonic_best_##suffix(BitonicItems<Item> const& items, int k, Item* out) { \
    bitonic_best_plain(items, k, out);                                                      \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_BITONIC_BEST)
#undef KTOPK_BITONIC_BEST

template <class Item>
BitonicBest<Item> pick_bitonic_best() {
  return KTOPK_FASTEST_ON_HOST(bitonic_best, Item);
}

/// A team's part of a row whose items read(i) tells, in memory that the team shares.
template <class Group, class Bits, class Item, class Read>
KOKKOS_FUNCTION void bitonic_together(Group const& group, PartLists<Bits, Item> const& lists,
                                      RowPart const& part, Read const& read) {
  Item* const items = group.template shared<Item>();
  int length = 1;
  while (length < part.wanted) length *= 2;
  Item const* const run =
      best_run(TeamSteps<Group>{group}, part.length(), items, items + bitonic_team_vector, length,
               bitonic_columns(part.length(), length, bitonic_team_vector / length),
               [&](std::int64_t first, Runs<Item> const& runs) {
                 each(group, 0, runs.size(), [&](std::int64_t i) {
                   std::int64_t const at = part.range.begin + first + i;
                   runs.items[i] = at < part.range.end ? read(at) : Item{0};
                 });
                 group.barrier();
               });
  each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, run[slot]); });
}

template <class Bits, class Item>
struct BitonicParts {
  PartLists<Bits, Item> lists;
  ItemMap<Bits, Item> map;
  HostLoops<Bits> loops;
  BitonicKth<Bits> kth;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((select_alone(part);))
    } else {
      Bits const* const keys = lists.sink.problem.row_keys(part.row);
      std::int64_t const step = lists.sink.problem.key_step;
      bitonic_together(group, lists, part, [&](std::int64_t i) {
        return map(keys[i * step], static_cast<std::uint64_t>(i));
      });
    }
  }

  void select_alone(RowPart const& part) const {
    Problem<Bits> const& problem = lists.sink.problem;
    Bits const* const keys = problem.row_keys(part.row) + part.range.begin * problem.key_step;
    tally(Count::keys_read, 2 * part.length());
    gather(part,
           kth({keys, problem.key_step, part.length(), map.rank}, static_cast<int>(part.wanted)));
  }

  /// Puts what is better than the k-th, and of its equals those that the tie rule takes.
  void gather(RowPart const& part, Reached<Bits> const& reached) const {
    Problem<Bits> const& problem = lists.sink.problem;
    bool const last_wins = map.flip == 0;
    std::int64_t better = 0, equal = reached.count;
    Item bar = static_cast<Item>(reached.rank) << map.position_bits;
    auto const put_equal = [&](Item item) {
      if (equal == part.wanted) {
        if (!last_wins) return;
        equal = reached.count;
      }
      lists.put(part, equal++, item);
      if (equal == part.wanted && !last_wins) bar = item;
    };
    auto const done = [&] {
      return equal == part.wanted && better == reached.count && !last_wins;
    };
    for_each_block_reaching(
        loops, problem.row_keys(part.row), problem.key_step, map, part.range.begin, part.range.end,
        filter_block, [&] { return bar; },
        [&](Bits const* from, std::uint16_t const* hits, int found, std::int64_t first) {
          for (int h = 0; h < found && !done(); ++h) {
            Item const item = map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h]));
            if (map.rank_of(item) == reached.rank)
              put_equal(item);
            else
              lists.put(part, better++, item);
          }
        });
  }
};

/// Parts of lists of items.
template <class Bits, class Item>
struct BitonicLists {
  PartLists<Bits, Item> lists;
  ListSource<Bits, Item> source;
  BitonicBest<Item> best;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / lists.parts;
    if (!source.active(row)) return;
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    auto const read = source.reader(row);
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((select_alone(part, read.items + part.range.begin);))
    } else {
      bitonic_together(group, lists, part, read);
    }
    if (group.rank() == 0) tally(Count::items_read, part.length());
  }

  void select_alone(RowPart const& part, Item const* items) const {
    Item kept[Bitonic<Generic>::largest_k];
    best({items, part.length()}, static_cast<int>(part.wanted), kept);
    for (std::int64_t slot = 0; slot < part.wanted; ++slot) lists.put(part, slot, kept[slot]);
  }
};

template <class Item>
struct BitonicPieces {
  BitonicPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        winners(pieces, shape, options),
        lists(pieces, device, shape, parts_of_row(device, shape.rows, shape.n)) {}
  Pieces pieces;
  Winners<Item> winners;
  PartListPieces<Item> lists;
};

KTOPK_INLINE std::size_t Bitonic<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<BitonicPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Bitonic<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                           void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    Shape const& shape = problem.shape;
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    BitonicPieces<Item> const work(workspace, device_of(exec), shape, options);
    auto const lists = work.lists.lists(WinnerSink<Bits, Item>{problem, map, work.winners.items});
    launch("ktopk::bitonic::parts", exec, shape.rows * lists.parts,
           static_cast<int>(2 * bitonic_team_vector * sizeof(Item)),
           BitonicParts<Bits, Item>{lists, map, pick_host_loops<Bits>(), pick_bitonic_kth<Bits>()});
    select_from_lists("ktopk::bitonic::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.winners);
  });
}

template <class Exec, class Item>
void bitonic_select(Exec const& exec, ListSource<ListBits<Item>, Item> const& source,
                    PartListPieces<Item> const& work,
                    WinnerSink<ListBits<Item>, Item> const& sink) {
  auto lists = work.lists(sink);
  lists.lengths = source.verdicts;
  launch("ktopk::bitonic::parts", exec, sink.problem.shape.rows * lists.parts,
         static_cast<int>(2 * bitonic_team_vector * sizeof(Item)),
         BitonicLists<ListBits<Item>, Item>{lists, source, pick_bitonic_best<Item>()});
  select_from_lists("ktopk::bitonic::lists", exec, lists, work.scratch);
}

#define KTOPK_BITONIC(Space)            \
  KTOPK_RUN_ON(Bitonic<Generic>, Space) \
  KTOPK_LIST_SELECT(bitonic_select, PartListPieces, Space)
KTOPK_INSTANTIATE(KTOPK_BITONIC)
#undef KTOPK_BITONIC

static_assert(Room<Bitonic<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
