// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "../../backends/host/targets.hpp"
#include "../arrange.hpp"
#include "../host_scan.hpp"
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
  using Key = Bits;
  Stored<Bits> const* keys;
  std::int64_t step;
  std::int64_t count;
  RankMap<Bits> rank;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t first, Runs<Bits> const& runs) const {
    auto const real = static_cast<int>(std::min<std::int64_t>(count - first, runs.size()));
    Stored<Bits> const* const from = keys + first * step;
    RankMap<Bits> const map = rank;
    if (step == 1)
      for (int i = 0; i < real; ++i) runs.items[i] = map(from[i]);
    else
      for (int i = 0; i < real; ++i) runs.items[i] = map(from[i * step]);
    for (int i = real; i < runs.size(); ++i) runs.items[i] = 0;
  }
};

/// Items of one part of a list.
template <class Item>
struct BitonicItems {
  using Key = Item;
  Item const* items;
  std::int64_t count;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(std::int64_t first, Runs<Item> const& runs) const {
    auto const real = static_cast<int>(std::min<std::int64_t>(count - first, runs.size()));
    for (int i = 0; i < real; ++i) runs.items[i] = items[first + i];
    for (int i = real; i < runs.size(); ++i) runs.items[i] = 0;
  }
};

template <class Key>
struct BitonicVectors {
  alignas(64) Key best[HostVectors<Key>::most];
  alignas(64) Key next[HostVectors<Key>::most];
};

/// The bitonic_length(k) best of BitonicKeys or BitonicItems, best first, in one of the vectors.
/// 1 <= k <= from.count
template <class From>
[[gnu::always_inline]] inline auto bitonic_best_plain(From const& from, int k,
                                                      BitonicVectors<typename From::Key>& vectors)
    -> typename From::Key const* {
  using Key = typename From::Key;
  int const length = bitonic_length(k);
  return best_run(HostSteps<Key>{}, from.count, vectors.best, vectors.next, length,
                  HostVectors<Key>::columns(from.count, length), from);
}

template <class From>
using BitonicBest = typename From::Key const* (*)(From const&, int,
                                                  BitonicVectors<typename From::Key>&);

#define KTOPK_BITONIC_BEST(suffix, attribute)                                 \
  template <class From>                                                       \
  attribute typename From::Key const* bitonic_best_##suffix(                  \
      From const& from, int k, BitonicVectors<typename From::Key>& vectors) { \
    return bitonic_best_plain(from, k, vectors);                              \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_BITONIC_BEST)
#undef KTOPK_BITONIC_BEST

/// The fastest of them that this processor runs.
template <class From>
BitonicBest<From> pick_bitonic_best() {
  return KTOPK_FASTEST_ON_HOST(bitonic_best, From);
}

/// How many of a run's ranks are better than each of four: by halving, without a branch.
template <class Bits>
void better_in_run(Bits const* run, int length, Bits const* ranks, std::uint16_t* better) {
  unsigned found[4] = {};
  for (auto half = static_cast<unsigned>(length) / 2; half > 0; half /= 2)
    for (int i = 0; i < 4; ++i)
      found[i] += half & (0u - unsigned{ranks[i] < run[found[i] + half - 1]});
  std::copy(found, found + 4, better);
}

/// What a host found of a part, in the order in which the tie rule takes equal keys.
template <class Bits>
struct BitonicWinners {
  static constexpr int most = static_cast<int>(Bitonic<Generic>::largest_k);
  int count = 0;
  Bits keys[most];
  Bits ranks[most + 3];  // four are taken at once
  std::uint64_t positions[most];
};

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

/// What a group shares; a host's thread has vectors of its own.
template <class Exec, class Item>
inline constexpr int bitonic_shared_bytes =
    is_host_space<Exec> ? 0 : static_cast<int>(2 * bitonic_team_vector * sizeof(Item));

template <class Bits, class Item>
struct BitonicParts {
  PartLists<Bits, Item> lists;
  ItemMap<Bits, Item> map;
  HostLoops<Bits> loops;
  BitonicBest<BitonicKeys<Bits>> best;
  Sorted sorted;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((select_alone(part);))
    } else {
      Stored<Bits> const* const keys = lists.sink.problem.row_keys(part.row);
      std::int64_t const step = lists.sink.problem.key_step;
      bitonic_together(group, lists, part, [&](std::int64_t i) {
        return map(keys[i * step], static_cast<std::uint64_t>(i));
      });
    }
  }

  void select_alone(RowPart const& part) const {
    Problem<Bits> const& problem = lists.sink.problem;
    Stored<Bits> const* const keys =
        problem.row_keys(part.row) + part.range.begin * problem.key_step;
    auto const k = static_cast<int>(part.wanted);
    tally(Count::keys_read, 2 * part.length());
    ThreadArray<BitonicVectors<Bits>> const vectors(1);
    Bits const* const run =
        best({keys, problem.key_step, part.length(), map.rank}, k, *vectors.get());
    BitonicWinners<Bits> winners;
    gather(part, run, winners);
    if (sorted == Sorted::yes && lists.parts == 1) return store_sorted(part, run, winners);
    for (int i = 0; i < k; ++i)
      lists.put(part, i, map.join(winners.ranks[i], winners.positions[i]));
  }

  /// What is better than the last of the run, and of its equals those that the tie rule takes.
  void gather(RowPart const& part, Bits const* run, BitonicWinners<Bits>& winners) const {
    auto const k = static_cast<int>(part.wanted);
    Bits const last = run[k - 1];
    auto equals = run + k - std::lower_bound(run, run + k, last, std::greater<Bits>());
    bool const backwards = map.flip == 0;
    auto const threshold = [&] {
      return (static_cast<Item>(last) << map.position_bits) | (equals > 0 ? 0 : map.position_mask);
    };
    auto const visit = [&, rank_of = map.rank, backwards](Stored<Bits> const* from,
                                                          std::uint16_t const* hits, int found,
                                                          std::int64_t first) {
      int count = winners.count;
      for (int h = 0; h < found && count < k; ++h) {
        int const i = hits[backwards ? found - 1 - h : h];
        Bits const rank = rank_of(from[i]);
        bool const is_last = rank == last;
        winners.keys[count] = from[i];
        winners.ranks[count] = rank;
        winners.positions[count] = static_cast<std::uint64_t>(first + i);
        count += !is_last || equals > 0;
        equals -= is_last;
      }
      winners.count = count;
    };
    Problem<Bits> const& problem = lists.sink.problem;
    std::int64_t const blocks = (part.length() + filter_block - 1) / filter_block;
    for (std::int64_t b = 0; b < blocks && winners.count < k; ++b) {
      std::int64_t const begin = part.range.begin + (backwards ? blocks - 1 - b : b) * filter_block;
      for_each_block_reaching(loops, problem.row_keys(part.row), problem.key_step, map, begin,
                              std::min(begin + filter_block, part.range.end),
                              backwards ? filter_block : 256, threshold, visit);
    }
  }

  /// Each winner to where its rank is in the run, behind those of its equals that came before it.
  void store_sorted(RowPart const& part, Bits const* run, BitonicWinners<Bits>& winners) const {
    constexpr int most = BitonicWinners<Bits>::most;
    int const count = winners.count, length = bitonic_length(count);
    std::fill(winners.ranks + count, winners.ranks + count + 3, Bits{0});
    std::uint16_t better[most + 3], equals[most] = {};
    for (int i = 0; i < count; i += 4) better_in_run(run, length, winners.ranks + i, better + i);
    Problem<Bits> const problem = lists.sink.problem;
    for (int i = 0; i < count; ++i)
      problem.store(part.row, better[i] + equals[better[i]]++, winners.keys[i],
                    winners.positions[i]);
  }
};

/// Parts of lists of items.
template <class Bits, class Item>
struct BitonicLists {
  PartLists<Bits, Item> lists;
  ListSource<Bits, Item> source;
  BitonicBest<BitonicItems<Item>> best;

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
    ThreadArray<BitonicVectors<Item>> const vectors(1);
    Item const* const run =
        best({items, part.length()}, static_cast<int>(part.wanted), *vectors.get());
    for (std::int64_t slot = 0; slot < part.wanted; ++slot) lists.put(part, slot, run[slot]);
  }
};

template <class Item>
struct BitonicPieces {
  BitonicPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace), lists(pieces, device, shape, parts_of_row(device, shape.rows, shape.n)) {
    if (!device.host || lists.parts > 1) winners = Winners<Item>(pieces, shape, options);
  }
  Pieces pieces;
  PartListPieces<Item> lists;
  Winners<Item> winners;
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
           bitonic_shared_bytes<Exec, Item>,
           BitonicParts<Bits, Item>{lists, map, pick_host_loops<Bits>(),
                                    pick_bitonic_best<BitonicKeys<Bits>>(), options.sorted});
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
  launch(
      "ktopk::bitonic::parts", exec, sink.problem.shape.rows * lists.parts,
      bitonic_shared_bytes<Exec, Item>,
      BitonicLists<ListBits<Item>, Item>{lists, source, pick_bitonic_best<BitonicItems<Item>>()});
  select_from_lists("ktopk::bitonic::lists", exec, lists, work.scratch);
}

#define KTOPK_BITONIC(Space)            \
  KTOPK_RUN_ON(Bitonic<Generic>, Space) \
  KTOPK_LIST_SELECT(bitonic_select, PartListPieces, Space)
KTOPK_INSTANTIATE(KTOPK_BITONIC)
#undef KTOPK_BITONIC

static_assert(Implementation<Bitonic<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
