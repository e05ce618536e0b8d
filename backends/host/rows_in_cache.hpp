// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include <ktopk/core/selected.hpp>

#include "../../runtime/host_threads.hpp"
#include "bulk_sink.hpp"
#include "in_order.hpp"
#include "pivot.hpp"
#include "scan.hpp"
#include "store_selected.hpp"
#include "strided_maxima.hpp"

// Rows that fit the caches of one thread, which finds the selected keys of a row before it turns to the next.

namespace ktopk::detail {

/// The longest row whose selected keys the thread also sorts and stores.
inline constexpr std::int64_t longest_short_row = long_block;
inline constexpr std::int64_t longest_row_in_cache = 1 << 18;
/// So many rows side by side are worth a tile.
inline constexpr std::int64_t least_in_tile = 4;

/// Where the selected keys of a row go as they are found. If the row is short, their places go to an array; otherwise
/// the keys go to the output.
template <class Bits, class CompositeKey>
class FoundKeys {
 public:
  FoundKeys(host::BulkSink<Bits, CompositeKey> const& sink, std::int64_t row, std::uint16_t* places)
      : m_sink(sink), m_row(row), m_places(places) {}

  /// Takes the keys at from[places[0]], from[places[1]] ..., where `from` is position `first` of the row.
  void add(Stored<Bits> const* from, std::uint16_t const* places, int count, int first) {
    if (m_places != nullptr)
      for (int i = 0; i < count; ++i)
        m_places[m_count + i] = static_cast<std::uint16_t>(first + places[i]);
    else
      m_sink.put_hits(m_row, m_count, from, places, count, first);
    m_count += count;
  }
  /// Forgets what was added.
  void clear() { m_count = 0; }

 private:
  host::BulkSink<Bits, CompositeKey> const& m_sink;
  std::int64_t m_row;
  std::uint16_t* m_places;
  std::int64_t m_count = 0;
};

/// The keys of a row that reach a rank: their ranks, and their places within blocks.
template <class Bits>
class Hits {
 public:
  static constexpr int most = 3 * long_block, most_expected = most / 2;
  static constexpr int most_blocks = static_cast<int>(longest_row_in_cache / long_block);

  explicit Hits(int row_length) : m_capacity(std::min(most, row_length)) {}

  /// Raises `least` when it finds more than can be among the k best. Returns false if they do not fit.
  bool read(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
            Stored<Bits> const* keys, int length, Bits least, int k) {
    int many = 3 * k;
    for (int first = 0; first < length; first += long_block) {
      int const found = count();
      if (length > m_capacity && found > m_capacity - long_block) return false;
      int const more = loops.filter(keys + first, std::min(length - first, long_block), rank,
                                    ranks_from(least), places + found);
      for (int h = found; h < found + more; ++h) ranks[h] = keys[first + places[h]];
      loops.ranks(ranks + found, more, rank, ranks + found);
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
  int m_capacity, m_blocks = 0;
  ThreadArray<std::uint16_t> m_places{m_capacity + 1};
  ThreadArray<Bits> m_ranks{m_capacity};

 public:
  int begins[most_blocks + 1] = {};
  std::uint16_t* const places = m_places.get();
  Bits* const ranks = m_ranks.get();
};

template <class Bits, class CompositeKey>
struct RowsInCache {
  host::BulkSink<Bits, CompositeKey> sink;
  HostLoops<Bits> loops;
  Sorted sorted;

  using Found = FoundKeys<Bits, CompositeKey>;
  static constexpr int keys_of_few_per_sample = 256;  // each is a line that is not in a cache

  /// Selects from a short row, sorts, and stores.
  void operator()(std::int64_t row) const {
    StoredProblem<Bits> const& problem = sink.problem;
    auto const k = static_cast<int>(problem.selected_count(row));
    if (k > 0) put(row, problem.shape.n, k);
    host::complete_row(problem, row, k);
  }

  /// The same from a copy of the row's keys.
  void select_from(std::int64_t row, Stored<Bits> const* keys) const {
    StoredProblem<Bits> const& problem = sink.problem;
    auto const k = static_cast<int>(problem.selected_count(row));
    if (k > 0) put_short(row, keys, static_cast<int>(problem.shape.n), k);
    host::complete_row(problem, row, k);
  }

  /// Puts the k > 0 best keys of a row of `count`, in any order unless the row is short. Returns false if it does not
  /// find them.
  bool put(std::int64_t row, std::int64_t length, int k) const {
    StoredProblem<Bits> const& problem = sink.problem;
    auto const count = static_cast<int>(length);
    if (length > longest_short_row) {
      Found found(sink, row, nullptr);
      return problem.rows.step == 1 && select(problem.rows.pointer(row), count, k, found);
    }
    ThreadArray<Bits> const packed(problem.rows.step == 1 ? 0 : count);
    put_short(row, neighbors(problem.rows.pointer(row), problem.rows.step, count, packed.get()),
              count, k);
    return true;
  }

  /// Puts the k > 0 best of the keys of a short row in the promised order.
  void put_short(std::int64_t row, Stored<Bits> const* keys, int count, int k) const {
    ThreadArray<std::uint16_t> const places(k);
    Found found(sink, row, places.get());
    select(keys, count, k, found);
    store(row, keys, places.get(), k);
  }

 private:
  static constexpr int few_share = 8;  // an eighth of a row is few selected keys
  static constexpr int tie_block = 256;
  static constexpr int most_by_maxima = 64;  // beyond it a sample gives a better threshold

  bool last_wins() const { return sink.map.flip == 0; }

  /// Finds the k best; returns false if that takes more than a cache. Keys of equal rank come in ascending order.
  bool select(Stored<Bits> const* keys, int count, int k, Found& found) const {
    if (k == 1) {
      add_interval({best(keys, count), 1}, keys, found);
      return true;
    }
    if (k < count && select_in_order(keys, count, k, found)) return true;
    if (k <= count / few_share && k <= Hits<Bits>::most_expected &&
        select_few(keys, count, k, found))
      return true;
    found.clear();
    Pivot<Bits> pivot;
    if (!find_last(keys, count, k, pivot)) return false;
    add_up_to(pivot, keys, count, found);
    return true;
  }

  int best(Stored<Bits> const* keys, int count) const {
    return loops.best(keys, count, sink.map.rank, last_wins(), comes_from_memory());
  }

  /// Whether all rows together are more than the caches of a few cores hold.
  bool comes_from_memory() const {
    Shape const& shape = sink.problem.shape;
    constexpr std::int64_t most_in_caches = 1 << 25;
    return shape.rows * shape.n * static_cast<std::int64_t>(sizeof(Bits)) > most_in_caches;
  }

  bool select_in_order(Stored<Bits> const* keys, int count, int k, Found& found) const {
    if (!starts_in_order(sink.map.rank, keys, count)) return false;
    Monotonicity const monotonicity = loops.monotonicity(keys, count, sink.map.rank);
    if (monotonicity == Monotonicity::none) return false;
    auto const [before, behind] =
        selected_in_order(monotonicity, sink.map.rank, keys, count, k, last_wins());
    add_interval(before, keys, found);
    add_interval(behind, keys, found);
    return true;
  }

  void add_interval(PlaceInterval interval, Stored<Bits> const* keys, Found& found) const {
    std::uint16_t places[long_block];
    std::iota(places, places + std::min(interval.count, long_block), std::uint16_t{0});
    for (int done = 0; done < interval.count; done += long_block) {
      int const first = interval.first + done;
      found.add(keys + first, places, std::min(interval.count - done, long_block), first);
    }
  }

  /// A rank that about k keys reach. If many keys share it, those above it are taken first.
  struct OrderedBitsThreshold {
    Bits rank;
    bool is_shared;

    Bits least() const { return static_cast<Bits>(is_shared ? rank + 1 : rank); }
    bool may_be_reached() const { return !is_shared || least() != 0; }
  };
  OrderedBitsThreshold threshold_by_maxima(StridedMaxima const& maxima, Stored<Bits> const* keys,
                                           int count) const {
    auto const [rank, like] = maxima.kth(loops, sink.map.rank, keys, count);
    return {rank, like > maxima.k + maxima.count / 16};
  }
  OrderedBitsThreshold threshold_by(Samples const& samples, Stored<Bits> const* keys) const {
    ThreadArray<Bits> const memory(samples.count);
    Bits* const sample = memory.get();
    samples.take(loops, sink.map.rank, keys, sample);
    auto const [rank, like] = loops.kth(sample, samples.count, samples.last);
    return {rank, like > samples.last + samples.count / 16};
  }

  /// Finds few keys by one read; returns false if one read does not find them.
  bool select_few(Stored<Bits> const* keys, int count, int k, Found& found) const {
    StridedMaxima const maxima(k);
    if (k <= most_by_maxima && maxima.serve(count))
      return add_reaching(threshold_by_maxima(maxima, keys, count), keys, count, k, found);
    if (!Samples::are_worth_it(count)) return false;
    Samples const samples(count, k, keys_of_few_per_sample);
    OrderedBitsThreshold const threshold = threshold_by(samples, keys);
    bool const are_few =
        threshold.is_shared || samples.last * samples.apart <= Hits<Bits>::most_expected;
    return are_few && add_reaching(threshold, keys, count, k, found);
  }

  /// Adds the k best of the keys that reach a threshold, or that are above it if many share it. Returns false if too
  /// few or too many do.
  bool add_reaching(OrderedBitsThreshold threshold, Stored<Bits> const* keys, int count, int k,
                    Found& found) const {
    Hits<Bits> hits(count);
    if (threshold.may_be_reached() &&
        !hits.read(loops, sink.map.rank, keys, count, threshold.least(), k))
      return false;
    int const better = std::min(hits.count(), k);
    if (better < k && !threshold.is_shared) return false;
    if (better > 0) add_best_of(hits, keys, better, found);
    return better == k || add_ties(threshold.rank, keys, count, k - better, found);
  }

  void add_best_of(Hits<Bits> const& hits, Stored<Bits> const* keys, int k, Found& found) const {
    TieSplitter<Bits> splitter = tie_splitter_at(pivot_of(loops, hits.ranks, hits.count(), k));
    std::uint16_t selected[long_block + 1];
    for (int block = 0; block < hits.blocks(); ++block) {
      int const begin = hits.begins[block], length = hits.begins[block + 1] - begin;
      if (length == 0) continue;
      int const count = splitter.filter(loops, {}, hits.ranks + begin, length, selected);
      for (int s = 0; s < count; ++s) selected[s] = hits.places[begin + selected[s]];
      found.add(keys + block * long_block, selected, count, block * long_block);
    }
  }

  /// Adds the first or last `wanted` keys of a rank; returns false if there are too few. It reads no further than their
  /// block.
  bool add_ties(Bits rank, Stored<Bits> const* keys, int count, int wanted, Found& found) const {
    std::uint16_t places[tie_block + 1];
    auto const ties_in = [&](int first, int length) {
      return loops.filter(keys + first, length, sink.map.rank, {rank, 0}, places);
    };
    int begin = last_wins() ? count : 0, surplus = last_wins() ? -wanted : 0;
    while (begin > 0 && surplus < 0) {
      int const length = std::min(begin, tie_block);
      begin -= length;
      surplus += ties_in(begin, length);
    }
    if (surplus < 0) return false;
    for (int first = begin; first < count && wanted > 0; first += tie_block) {
      int const ties = ties_in(first, std::min(count - first, tie_block));
      int const skipped = std::min(surplus, ties), taken = std::min(ties - skipped, wanted);
      found.add(keys + first, places + skipped, taken, first);
      surplus -= skipped;
      wanted -= taken;
    }
    return wanted == 0;
  }

  bool find_last(Stored<Bits> const* keys, int count, int k, Pivot<Bits>& pivot) const {
    if (count > longest_short_row) return find_pivot(loops, sink.map.rank, keys, count, k, pivot);
    ThreadArray<Bits> const memory(count);
    Bits* const ranks = memory.get();
    loops.ranks(keys, count, sink.map.rank, ranks);
    pivot = pivot_of(loops, ranks, count, k);
    return true;
  }

  void add_up_to(Pivot<Bits> const& pivot, Stored<Bits> const* keys, int count,
                 Found& found) const {
    TieSplitter<Bits> splitter = tie_splitter_at(pivot);
    std::uint16_t hits[long_block + 1];
    for (int first = 0; first < count; first += long_block) {
      int const length = std::min(count - first, long_block);
      found.add(keys + first, hits,
                splitter.filter(loops, sink.map.rank, keys + first, length, hits), first);
    }
  }

  TieSplitter<Bits> tie_splitter_at(Pivot<Bits> const& pivot) const {
    return {{pivot.rank, 0}, pivot.surplus, pivot.ties - pivot.surplus, last_wins()};
  }

  void store(std::int64_t row, Stored<Bits> const* from, std::uint16_t* places, int k) const {
    if (sorted == Sorted::yes && last_wins()) std::reverse(places, places + k);
    if (sorted == Sorted::no || k == 1)
      sink.put_hits(row, 0, from, places, k, 0);
    else if (k <= most_counted_slots)
      store_counted(row, from, places, k);
    else
      store_sorted(row, from, places, k);
  }

  void store_counted(std::int64_t row, Stored<Bits> const* from, std::uint16_t const* places,
                     int k) const {
    alignas(64) Bits ranks[most_counted_slots];
    alignas(64) Bits slots[most_counted_slots];
    std::uint16_t ordered[most_counted_slots];
    int filled = 0;
    do ranks[filled] = from[places[filled]];
    while (++filled < k);
    loops.ranks(ranks, k, sink.map.rank, ranks);
    loops.slots(ranks, k, slots);
    for (int i = 0; i < k; ++i) ordered[slots[i]] = places[i];
    sink.put_hits(row, 0, from, ordered, k, 0);
  }

  void store_sorted(std::int64_t row, Stored<Bits> const* from, std::uint16_t* places,
                    int k) const {
    ThreadArray<CompositeKey> const memory(k);
    CompositeKey* const composites = memory.get();
    for (int i = 0; i < k; ++i) composites[i] = sink.map(from[places[i]], places[i]);
    std::sort(composites, composites + k, std::greater<CompositeKey>());
    for (int i = 0; i < k; ++i)
      places[i] = static_cast<std::uint16_t>(sink.map.position(composites[i]));
    sink.put_hits(row, 0, from, places, k, 0);
  }
};

/// Whether the rows of a shape are short.
inline bool are_short_rows(Shape const& shape) {
  return !shape.ragged && shape.n <= longest_short_row;
}

/// Whether each row of a shape has a thread to itself, and fits its cache.
inline bool are_rows_in_cache(Device const& device, Shape const& shape) {
  return !shape.ragged && shape.n <= longest_row_in_cache &&
         host::parts_of_row(device, shape.rows, shape.n) == 1;
}

}  // namespace ktopk::detail
