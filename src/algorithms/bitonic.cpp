// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic.hpp"

#include <algorithm>
#include <bit>
#include <functional>

#include "../arrange.hpp"
#include "../host_filter.hpp"
#include "../instantiate.hpp"
#include "../part_lists.hpp"
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

/// Keys of one part of a row, as a host sorts them.
template <class Bits>
struct BitonicKeys {
  Bits const* keys;
  std::int64_t step;
  std::int64_t count;
  RankMap<Bits> rank;

  static constexpr int lanes = HostSteps<Bits>::lanes;
  static constexpr int most =
      std::max(bitonic_vector, static_cast<int>(Bitonic<Generic>::largest_k) * lanes);

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
  /// Narrower vectors where the last one would be mostly padding.
  int columns(int length) const {
    int columns = bitonic_columns(count, length, std::max(bitonic_vector / length, lanes));
    auto const padding = [&] {
      std::int64_t const size = columns * length;
      return (count + size - 1) / size * size - count;
    };
    while (columns > lanes && 8 * padding() > count) columns /= 2;
    return columns;
  }
};

template <class Bits>
struct BitonicVectors {
  alignas(64) Bits best[BitonicKeys<Bits>::most];
  alignas(64) Bits next[BitonicKeys<Bits>::most];
};

inline int bitonic_length(int k) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(k)));
}

/// The bitonic_length(k) best ranks, best first, in one of the vectors. 1 <= k <= count.
template <class Bits>
[[gnu::always_inline]] inline Bits const* bitonic_best_plain(BitonicKeys<Bits> const& keys, int k,
                                                             BitonicVectors<Bits>& vectors) {
  int const length = bitonic_length(k);
  return best_run(HostSteps<Bits>{}, keys.count, vectors.best, vectors.next, length,
                  keys.columns(length), keys);
}

template <class Bits>
using BitonicBest = Bits const* (*)(BitonicKeys<Bits> const&, int, BitonicVectors<Bits>&);

#define KTOPK_BITONIC_BEST(suffix, attribute)                                       \
  template <class Bits>                                                             \
  attribute Bits const* bitonic_best_##suffix(BitonicKeys<Bits> const& keys, int k, \
                                              BitonicVectors<Bits>& vectors) {      \
    return bitonic_best_plain(keys, k, vectors);                                    \
  }
KTOPK_FOR_EACH_HOST_TARGET(KTOPK_BITONIC_BEST)
#undef KTOPK_BITONIC_BEST

/// The fastest of them that this processor runs.
template <class Bits>
BitonicBest<Bits> pick_bitonic_best() {
  return KTOPK_FASTEST_ON_HOST(bitonic_best, Bits);
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

template <class Bits, class Item>
struct BitonicParts {
  PartLists<Bits, Item> lists;
  ItemMap<Bits, Item> map;
  HostLoops<Bits> loops;
  BitonicBest<Bits> best;
  Sorted sorted;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    RowPart const part = lists.part(group.index());
    if (part.wanted == 0) return;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((select_alone(part);))
    } else {
      select_together(group, part);
    }
  }

  void select_alone(RowPart const& part) const {
    Problem<Bits> const& problem = lists.sink.problem;
    Bits const* const keys = problem.row_keys(part.row) + part.range.begin * problem.key_step;
    auto const k = static_cast<int>(part.wanted);
    tally(Count::keys_read, 2 * part.length());
    BitonicVectors<Bits> vectors;
    Bits const* const run = best({keys, problem.key_step, part.length(), map.rank}, k, vectors);
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
    auto const visit = [&, rank_of = map.rank, backwards](Bits const* from,
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
                              std::min(begin + filter_block, part.range.end), filter_block,
                              threshold, visit);
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

  template <class Group>
  KOKKOS_FUNCTION void select_together(Group const& group, RowPart const& part) const {
    Bits const* const keys = lists.sink.problem.row_keys(part.row);
    std::int64_t const step = lists.sink.problem.key_step;
    Item* const items = group.template shared<Item>();
    int length = 1;
    while (length < part.wanted) length *= 2;
    Item const* const run =
        best_run(TeamSteps<Group>{group}, part.length(), items, items + bitonic_team_vector, length,
                 bitonic_columns(part.length(), length, bitonic_team_vector / length),
                 [&](std::int64_t first, Runs<Item> const& runs) {
                   each(group, 0, runs.size(), [&](std::int64_t i) {
                     std::int64_t const at = part.range.begin + first + i;
                     runs.items[i] = at < part.range.end
                                         ? map(keys[at * step], static_cast<std::uint64_t>(at))
                                         : Item{0};
                   });
                   group.barrier();
                 });
    each(group, 0, part.wanted, [&](std::int64_t slot) { lists.put(part, slot, run[slot]); });
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
           static_cast<int>(2 * bitonic_team_vector * sizeof(Item)),
           BitonicParts<Bits, Item>{lists, map, pick_host_loops<Bits>(), pick_bitonic_best<Bits>(),
                                    options.sorted});
    select_from_lists("ktopk::bitonic::lists", exec, lists, work.lists.scratch);
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_BITONIC(Space) KTOPK_RUN_ON(Bitonic<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_BITONIC)
#undef KTOPK_BITONIC

static_assert(Room<Bitonic<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
