// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include <ktopk/detail/selected.hpp>

#include "bulk_sink.hpp"
#include "edge.hpp"
#include "in_order.hpp"
#include "launch.hpp"
#include "place_classes.hpp"
#include "scan.hpp"

// Rows that fit the caches of one thread, which selects, sorts and stores a row before it turns to the next.

namespace ktopk::detail {

inline constexpr std::int64_t longest_short_row = long_block;
/// Of longer ones, up to this, all is found at once but for the order.
inline constexpr std::int64_t longest_row_alone = 4 * longest_short_row;
/// Of rows that have a thread to themselves.
inline constexpr std::int64_t longest_row_in_cache = 1 << 18;

template <class Bits, class Item>
struct ShortRows {
  host::BulkSink<Bits, Item> sink;
  HostLoops<Bits> loops;
  Sorted sorted;

  static constexpr int few_share = 8;  // an eighth of a row is few winners
  static constexpr int most_few = longest_row_alone / few_share;
  static constexpr int keys_of_few_per_sample = 256;  // each is a line that is not in a cache
  static constexpr int most_chosen = longest_row_alone / 4;  // among so many hits, of a short row
  static constexpr int most_raised = most_chosen / 4;        // by so many, since that takes time
  static constexpr int most_by_classes = 64;  // of a long row: they tell less of it than a sample

  void operator()(std::int64_t row) const {
    Problem<Bits> const& problem = sink.problem;
    auto const k = static_cast<int>(problem.winners(row));
    if (k > 0) put(row, problem.shape.n, k);
    if (problem.counts) problem.counts.store(row, k);
    for (std::int64_t slot = k; slot < problem.shape.k; ++slot) problem.store_missing(row, slot);
  }

  /// The k > 0 winners of a row of so many keys, in any order where it is longer. False where they are not known.
  bool put(std::int64_t row, std::int64_t length, int k) const {
    if (length > longest_row_alone) return put_long(row, length, k);
    Problem<Bits> const& problem = sink.problem;
    if (length > longest_short_row && problem.key_step != 1) return false;
    auto const count = static_cast<int>(length);
    ThreadArray<Bits> const packed(problem.key_step == 1 ? 0 : count);
    ThreadArray<std::uint16_t> const places(count + 1);
    std::uint16_t* const hits = places.get();
    Stored<Bits> const* const from =
        neighbors(problem.row_keys(row), problem.key_step, count, packed.get());
    if (!find_winners(from, count, k, hits)) return false;
    store(row, from, hits, k);
    return true;
  }

  bool put_long(std::int64_t row, std::int64_t length, int k) const {
    Problem<Bits> const& problem = sink.problem;
    Stored<Bits> const* const keys = problem.row_keys(row);
    auto const count = static_cast<int>(length);
    if (problem.key_step != 1) return false;
    if (k <= count / few_share && k <= Hits::most_expected && put_few(row, keys, count, k))
      return true;
    StretchPair winners;
    if (k < count && know_order(keys, count, k, winners)) {
      put_stretch(row, 0, keys, winners.before);
      put_stretch(row, winners.before.count, keys, winners.behind);
      return true;
    }
    Edge<Bits> edge;
    if (!find_edge(loops, sink.map.rank, keys, count, k, edge)) return false;
    Borderline<Bits> borderline = borderline_at(edge);
    std::uint16_t hits[long_block + 1];
    std::int64_t slot = 0;
    for (int first = 0; first < count; first += long_block) {
      int const found = borderline.filter(loops, sink.map.rank, keys + first,
                                          std::min(count - first, long_block), hits);
      sink.put_hits(row, slot, keys + first, hits, found, first);
      slot += found;
    }
    return true;
  }

  /// The keys of a row that reach a rank: their ranks, and their places in blocks.
  struct Hits {
    static constexpr int room = 3 * long_block, most_expected = room / 2;
    static constexpr int most_blocks = static_cast<int>(longest_row_in_cache / long_block);

    /// Raises `least` as more are found than may be among the k best. False if there is no room for all.
    bool read(HostLoops<Bits> const& loops, RankMap<Bits> const& rank, Stored<Bits> const* keys,
              int length, Bits least, int k) {
      int many = 3 * k;
      for (int first = 0; first < length; first += long_block) {
        int const found = count();
        if (found > room - long_block) return false;
        int const more = loops.filter(keys + first, std::min(length - first, long_block), rank,
                                      ranks_from(least), places + found);
        for (int h = found; h < found + more; ++h) ranks[h] = rank(keys[first + places[h]]);
        begins[++m_blocks] = found + more;
        if (count() < many) continue;
        least = std::max(least, loops.kth(ranks, count(), k).rank);
        many = 2 * count();
      }
      return true;
    }
    int blocks() const { return m_blocks; }
    int count() const { return begins[m_blocks]; }

   private:
    int m_blocks = 0;
    ThreadArray<std::uint16_t> m_places{room + 1};
    ThreadArray<Bits> m_ranks{room};

   public:
    int begins[most_blocks + 1] = {};
    std::uint16_t* const places = m_places.get();
    Bits* const ranks = m_ranks.get();
  };

  /// A rank that about as many reach as win. Where many share it, those above it come first.
  struct Bar {
    Bits rank;
    bool is_shared;

    Bits least() const { return static_cast<Bits>(is_shared ? rank + 1 : rank); }
    bool may_be_reached() const { return !is_shared || least() != 0; }
  };
  Bar bar_by_classes(PlaceClasses const& classes, Stored<Bits> const* from, int count) const {
    auto const [rank, like] = classes.kth(loops, sink.map.rank, from, count);
    return {rank, like > classes.k + classes.count / 16};
  }
  Bar bar_by(Samples const& samples, Stored<Bits> const* from) const {
    ThreadArray<Bits> const memory(samples.count);
    Bits* const sample = memory.get();
    samples.take(loops, sink.map.rank, from, sample);
    auto const [rank, like] = loops.kth(sample, samples.count, samples.last);
    return {rank, like > samples.last + samples.count / 16};
  }

  /// Of a row in order, in which the k best are at one of its ends.
  Bar bar_at_ends(Stored<Bits> const* from, int count, int k) const {
    Bits const least = std::max(sink.map.rank(from[k - 1]), sink.map.rank(from[count - k]));
    return {least, sink.map.rank(from[count / 2]) == least};
  }

  /// Few winners of a long row; false where they are not found so.
  bool put_few(std::int64_t row, Stored<Bits> const* keys, int count, int k) const {
    if (may_be_in_order(sink.map.rank, keys, count) &&
        put_reaching(row, bar_at_ends(keys, count, k), keys, count, k))
      return true;
    if (k <= most_by_classes)
      return put_reaching(row, bar_by_classes(PlaceClasses(k), keys, count), keys, count, k);
    Samples const samples(count, k, keys_of_few_per_sample);
    Bar const bar = bar_by(samples, keys);
    bool const are_few = bar.is_shared || samples.last * samples.apart <= Hits::most_expected;
    return are_few && put_reaching(row, bar, keys, count, k);
  }

  /// The winners, found among the keys that reach a bar, or are above it where many share it: the row is read once.
  /// False where too few or too many do.
  bool put_reaching(std::int64_t row, Bar bar, Stored<Bits> const* keys, int count, int k) const {
    Hits hits;
    if (bar.may_be_reached() && !hits.read(loops, sink.map.rank, keys, count, bar.least(), k))
      return false;
    int const better = std::min(hits.count(), k);
    if (better < k && !bar.is_shared) return false;
    if (better > 0) put_best(row, keys, hits, better);
    return better == k || put_ties(row, keys, count, bar.rank, better, k);
  }

  /// The k best of the hits.
  void put_best(std::int64_t row, Stored<Bits> const* keys, Hits const& hits, int k) const {
    Borderline<Bits> borderline = borderline_at(edge_of(loops, hits.ranks, hits.count(), k));
    std::int64_t slot = 0;
    for (int block = 0; block < hits.blocks(); ++block) {
      std::uint16_t winners[long_block + 1];
      int const begin = hits.begins[block], length = hits.begins[block + 1] - begin;
      if (length == 0) continue;
      int const found = borderline.filter(loops, {}, hits.ranks + begin, length, winners);
      for (int w = 0; w < found; ++w) winners[w] = hits.places[begin + winners[w]];
      sink.put_hits(row, slot, keys + block * long_block, winners, found, block * long_block);
      slot += found;
    }
  }

  /// The first or last keys of a rank, to the slots from `slot` to k; false where there are too few.
  bool put_ties(std::int64_t row, Stored<Bits> const* keys, int count, Bits rank, int slot,
                int k) const {
    std::uint16_t places[filter_block + 1];
    for (int done = 0; done < count && slot < k; done += filter_block) {
      int const length = std::min(count - done, filter_block);
      int const first = last_wins() ? count - done - length : done;
      int const found = loops.filter(keys + first, length, sink.map.rank, {rank, 0}, places);
      int const taken = std::min(found, k - slot), begin = last_wins() ? found - taken : 0;
      sink.put_hits(row, slot, keys + first, places + begin, taken, first);
      slot += taken;
    }
    return slot == k;
  }

  /// The keys of a stretch to slots from `slot` on.
  void put_stretch(std::int64_t row, std::int64_t slot, Stored<Bits> const* keys,
                   Stretch stretch) const {
    std::uint16_t places[long_block];
    std::iota(places, places + std::min(stretch.count, long_block), std::uint16_t{0});
    for (int done = 0; done < stretch.count; done += long_block) {
      int const first = stretch.first + done;
      sink.put_hits(row, slot + done, keys + first, places,
                    std::min(stretch.count - done, long_block), first);
    }
  }

  bool last_wins() const { return sink.map.flip == 0; }

  /// Whether all rows together are more than the caches of a few cores hold.
  bool comes_from_memory() const {
    Shape const& shape = sink.problem.shape;
    constexpr std::int64_t most_in_caches = 1 << 25;
    return shape.rows * shape.n * static_cast<std::int64_t>(sizeof(Bits)) > most_in_caches;
  }

  /// Writes the places of the k winners in ascending order to `hits`.
  bool find_winners(Stored<Bits> const* from, int count, int k, std::uint16_t* hits) const {
    if (k == count) {
      std::iota(hits, hits + count, std::uint16_t{0});
      return true;
    }
    if (k == 1) {
      hits[0] = static_cast<std::uint16_t>(
          loops.best(from, count, sink.map.rank, last_wins(), comes_from_memory()));
      return true;
    }
    bool const are_few = k <= count / few_share;
    PlaceClasses const classes(k);
    if (are_few && classes.serve(count)) {
      if (find_at_ends(from, count, k, hits)) return true;
      if (find_by_classes(classes, from, count, hits)) return true;
    } else if (find_in_order(from, count, k, hits)) {
      return true;
    }
    if (are_few && find_by_sample(from, count, k, hits)) return true;
    Edge<Bits> edge;
    if (!find_edge(loops, sink.map.rank, from, count, k, edge)) {
      if (count > longest_short_row) return false;
      ThreadArray<Bits> const memory(count);
      Bits* const ranks = memory.get();
      loops.ranks(from, count, sink.map.rank, ranks);
      edge = edge_of(loops, ranks, count, k);
    }
    find_up_to(edge, sink.map.rank, from, count, k, hits);
    return true;
  }

  /// Whether the winners of a row lie in stretches, and in which.
  bool know_order(Stored<Bits> const* from, int count, int k, StretchPair& winners) const {
    if (!starts_in_order(sink.map.rank, from, count)) return false;
    Course const course = loops.course(from, count, sink.map.rank);
    if (course == Course::none) return false;
    winners = winners_in_order(course, sink.map.rank, from, count, k, last_wins());
    return true;
  }

  bool find_in_order(Stored<Bits> const* from, int count, int k, std::uint16_t* hits) const {
    StretchPair winners;
    if (!know_order(from, count, k, winners)) return false;
    for (Stretch const& stretch : {winners.before, winners.behind}) {
      std::iota(hits, hits + stretch.count, static_cast<std::uint16_t>(stretch.first));
      hits += stretch.count;
    }
    return true;
  }

  /// Few winners where they may be at the ends of a row in order.
  bool find_at_ends(Stored<Bits> const* from, int count, int k, std::uint16_t* hits) const {
    if (!may_be_in_order(sink.map.rank, from, count)) return false;
    return find_reaching(bar_at_ends(from, count, k), from, count, k, hits);
  }

  bool find_by_classes(PlaceClasses const& classes, Stored<Bits> const* from, int count,
                       std::uint16_t* hits) const {
    return find_reaching(bar_by_classes(classes, from, count), from, count, classes.k, hits);
  }

  bool find_by_sample(Stored<Bits> const* from, int count, int k, std::uint16_t* hits) const {
    if (!Samples::are_worth_it(count)) return false;
    return find_reaching(bar_by(Samples(count, k), from), from, count, k, hits);
  }

  /// The same by way of the keys that reach a bar, unless there are too few or too many of them; where many share that
  /// rank, by way of those above it.
  bool find_reaching(Bar bar, Stored<Bits> const* from, int count, int k,
                     std::uint16_t* hits) const {
    int const found = bar.may_be_reached() ? find_from(bar.least(), from, count, k, hits) : 0;
    if (found >= k) return choose_among(from, hits, found, k);
    return bar.is_shared && add_equals(from, count, bar.rank, found, k, hits);
  }

  /// Those that reach `least`, which rises as more are found than may be among the k best.
  int find_from(Bits least, Stored<Bits> const* from, int count, int k, std::uint16_t* hits) const {
    int many = 6 * k;  // more than a bar by classes lets through of random keys
    return by_blocks(count, hits, [&](int first, int length, std::uint16_t* places) {
      auto const found = static_cast<int>(places - hits);
      if (found >= many && found <= most_raised) {
        least = std::max(least, kth_among(from, hits, found, k));
        many = 2 * found;
      }
      return loops.filter(from + first, length, sink.map.rank, ranks_from(least), places);
    });
  }

  Bits kth_among(Stored<Bits> const* from, std::uint16_t const* hits, int found, int k) const {
    alignas(64) Bits ranks[most_raised];
    take_ranks(from, hits, found, ranks);
    return loops.kth(ranks, found, k).rank;
  }

  /// Copies the ranks of so many > 0 hits.
  void take_ranks(Stored<Bits> const* from, std::uint16_t const* hits, int found,
                  Bits* ranks) const {
    int filled = 0;
    do ranks[filled] = from[hits[filled]];
    while (++filled < found);
    loops.ranks(ranks, found, sink.map.rank, ranks);
  }

  /// Calls find(first, length, places) for each block, and makes places in the row of those in the block.
  template <class Find>
  static int by_blocks(int count, std::uint16_t* hits, Find const& find) {
    int found = 0;
    for (int first = 0; first < count; first += long_block) {
      int const more = find(first, std::min(count - first, long_block), hits + found);
      if (first > 0)
        for (int h = found; h < found + more; ++h)
          hits[h] = static_cast<std::uint16_t>(hits[h] + first);
      found += more;
    }
    return found;
  }

  /// Leaves the k best of `found` hits.
  bool choose_among(Stored<Bits> const* from, std::uint16_t* hits, int found, int k) const {
    if (found == k) return true;
    if (found > most_chosen) return false;
    ThreadArray<Bits> const memory(found);
    Bits* const ranks = memory.get();
    std::uint16_t winners[most_chosen + 1];
    take_ranks(from, hits, found, ranks);
    find_up_to(edge_of(loops, ranks, found, k), {}, ranks, found, k, winners);
    for (int h = 0; h < k; ++h) hits[h] = hits[winners[h]];
    return true;
  }

  /// Adds those of `rank` that win to `found` better ones; false where there are too few.
  bool add_equals(Stored<Bits> const* from, int count, Bits rank, int found, int k,
                  std::uint16_t* hits) const {
    std::uint16_t ties[most_few], better[most_few];
    int const wanted = k - found;
    if (!find_ties(from, count, rank, wanted, ties)) return false;
    std::copy_n(hits, found, better);
    std::merge(better, better + found, ties, ties + wanted, hits);
    return true;
  }

  /// The first or last `wanted` of `rank`, in ascending order; of the others no more are read than of a block.
  bool find_ties(Stored<Bits> const* from, int count, Bits rank, int wanted,
                 std::uint16_t* ties) const {
    constexpr int block = 256;
    std::uint16_t places[block + 1];
    int left = wanted;
    for (int done = 0; done < count && left > 0; done += block) {
      int const length = std::min(count - done, block);
      int const first = last_wins() ? count - done - length : done;
      int const more = loops.filter(from + first, length, sink.map.rank, {rank, 0}, places);
      int const taken = std::min(more, left);
      int const begin = last_wins() ? more - taken : 0;
      int const slot = last_wins() ? left - taken : wanted - left;
      for (int t = 0; t < taken; ++t)
        ties[slot + t] = static_cast<std::uint16_t>(first + places[begin + t]);
      left -= taken;
    }
    return left == 0;
  }

  /// Writes the places of the k best of `count` to `hits`, of which the edge is known.
  void find_up_to(Edge<Bits> const& edge, RankMap<Bits> const& rank, Stored<Bits> const* from,
                  int count, int k, std::uint16_t* hits) const {
    if (edge.ties == count) return std::iota(hits, hits + k, last_wins() ? edge.surplus : 0);
    Borderline<Bits> borderline = borderline_at(edge);
    by_blocks(count, hits, [&](int first, int length, std::uint16_t* places) {
      return borderline.filter(loops, rank, from + first, length, places);
    });
  }

  Borderline<Bits> borderline_at(Edge<Bits> const& edge) const {
    return {{edge.rank, 0}, edge.surplus, edge.ties - edge.surplus, last_wins()};
  }

  void store(std::int64_t row, Stored<Bits> const* from, std::uint16_t* hits, int k) const {
    if (sorted == Sorted::yes && last_wins()) std::reverse(hits, hits + k);
    if (sorted == Sorted::no || k == 1)
      sink.put_hits(row, 0, from, hits, k, 0);
    else if (k <= most_counted_slots)
      store_counted(row, from, hits, k);
    else
      store_sorted(row, from, hits, k);
  }

  void store_counted(std::int64_t row, Stored<Bits> const* from, std::uint16_t const* hits,
                     int k) const {
    alignas(64) Bits ranks[most_counted_slots];
    alignas(64) Bits slots[most_counted_slots];
    std::uint16_t ordered[most_counted_slots];
    take_ranks(from, hits, k, ranks);
    loops.slots(ranks, k, slots);
    for (int h = 0; h < k; ++h) ordered[slots[h]] = hits[h];
    sink.put_hits(row, 0, from, ordered, k, 0);
  }

  void store_sorted(std::int64_t row, Stored<Bits> const* from, std::uint16_t* hits, int k) const {
    ThreadArray<Item> const memory(k);
    Item* const items = memory.get();
    for (int h = 0; h < k; ++h) items[h] = sink.map(from[hits[h]], hits[h]);
    std::sort(items, items + k, std::greater<Item>());
    for (int h = 0; h < k; ++h) hits[h] = static_cast<std::uint16_t>(sink.map.position(items[h]));
    sink.put_hits(row, 0, from, hits, k, 0);
  }
};

/// Whether the rows of a shape are short ones.
inline bool are_short_rows(Shape const& shape) {
  return !shape.ragged && shape.n <= longest_short_row;
}

/// Whether each row of a shape has a thread to itself, and fits its cache.
inline bool are_rows_in_cache(Device const& device, Shape const& shape) {
  return !shape.ragged && shape.n <= longest_row_in_cache &&
         host::parts_of_row(device, shape.rows, shape.n) == 1;
}

}  // namespace ktopk::detail
