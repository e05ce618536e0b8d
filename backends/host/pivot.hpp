// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../../runtime/thread_memory.hpp"
#include "loops.hpp"

// The pivot of a row that fits a host's caches: the rank that separates its selected keys from the others. A sample
// leaves a part of the row, and radix with digits of two bits, which SIMD counts, finds the pivot in it. If more keys
// than are wanted have its rank, a TieSplitter takes some of them.

namespace ktopk::detail {

/// The k-th best rank of a row, or a rank that exactly k reach.
template <class Bits>
struct Pivot {
  Bits rank;
  int surplus;  // how many more than k reach it
  int ties;     // how many have it, if there is a surplus
};

template <class Bits>
Pivot<Bits> pivot_of(HostLoops<Bits> const& loops, Bits const* ranks, int count, int k) {
  Reached<Bits> const reached = loops.kth(ranks, count, k);
  int const surplus = reached.count - k;
  if (surplus == 0) return {reached.rank, 0, 0};
  int const above = reached.rank < std::numeric_limits<Bits>::max()
                        ? loops.reaching(ranks, count, static_cast<Bits>(reached.rank + 1))
                        : 0;
  return {reached.rank, surplus, reached.count - above};
}

/// Finds the selected keys: all keys better than `ties`, and the first or the last of those whose ranks are in `ties`.
template <class Bits>
class TieSplitter {
 public:
  /// \param surplus  how many of `ties` are not selected; none if it is not above 0
  /// \param wanted   how many of `ties` are selected
  TieSplitter(OrderedBitsRange<Bits> const& ties, int surplus, int wanted, bool last_wins)
      : m_ties(ties), m_last_wins(last_wins), m_ahead(last_wins ? surplus : wanted) {
    if (surplus > 0) return;
    m_last_wins = true;
    m_ahead = 0;
  }

  /// Filters as HostLoops::filter does, the keys that follow those of the previous call.
  int filter(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
             Stored<Bits> const* from, int count, std::uint16_t* hits) {
    int found = 0;
    auto const append = [&](int begin, int end, bool with_ties) {
      found = append_hits(loops, rank, from, begin, end, with_ties, hits, found);
    };
    int at = 0;
    if (m_ahead > 0) {
      int const ties = loops.filter(from, count, rank, m_ties, hits);
      at = ties > m_ahead ? hits[m_ahead] : count;
      m_ahead -= std::min(ties, m_ahead);
      append(0, at, !m_last_wins);
    }
    append(at, count, m_last_wins);
    return found;
  }

 private:
  int append_hits(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
                  Stored<Bits> const* from, int begin, int end, bool with_ties, std::uint16_t* hits,
                  int found) const {
    auto const above = static_cast<Bits>(m_ties.least + m_ties.span + 1);
    if (begin == end || (!with_ties && above == 0)) return found;
    int const more = loops.filter(from + begin, end - begin, rank,
                                  ranks_from(with_ties ? m_ties.least : above), hits + found);
    if (begin > 0)
      for (int h = found; h < found + more; ++h)
        hits[h] = static_cast<std::uint16_t>(hits[h] + begin);
    return found + more;
  }

  OrderedBitsRange<Bits> m_ties;
  bool m_last_wins;
  int m_ahead;  // ties that come before those of the other sort
};

/// A sample of a row's keys, with one place from each interval. The k-th best of the row should lie between its order
/// statistics `first` and `last`.
struct Samples {
  static constexpr int most = 4096;

  /// \param per_sample  how many keys of a long row there are for each sample
  Samples(int of, int k, int per_sample = 64)
      : count(std::min({of / stride, std::max(of / per_sample, 512), most})), apart(of / count) {
    double const share = static_cast<double>(k) / of, expected = share * count;
    auto const margin = 2 + static_cast<int>(3 * std::sqrt(expected * (1 - share)));
    first = static_cast<int>(expected) - margin;
    last = static_cast<int>(expected) + margin;
  }
  /// Whether a row is so long that a sample pays.
  static bool are_worth_it(int of) { return of >= 32 * stride; }
  int place(int i) const { return i * apart + i * 5 % stride; }

  /// Copies the ranks of the sample.
  template <class Bits>
  void take(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
            Stored<Bits> const* keys, Bits* sample) const {
    for (int i = 0; i < count; ++i) sample[i] = keys[place(i)];
    loops.ranks(sample, count, rank, sample);
  }

  int count, apart;
  int first, last;

 private:
  static constexpr int stride = 16;
};

/// The ranks of a row that lie in a range, and the number of those above it.
template <class Bits>
struct OrderedBitsBetween {
  static constexpr int most = 2 * long_block;

  OrderedBitsBetween(OrderedBitsRange<Bits> const& range_, int count)
      : range(range_), capacity(std::min(most, count)), m_memory(capacity) {}

  /// Copies ranks, unless the range is a single rank; returns false if they do not fit.
  bool read(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
            Stored<Bits> const* keys, int count) {
    for (int first = 0; first < count; first += filter_block)
      if (!read_block(loops, rank, keys + first, std::min(count - first, filter_block)))
        return false;
    return true;
  }

  OrderedBitsRange<Bits> range;
  int above = 0, within = 0;
  int capacity;

 private:
  ThreadArray<Bits> m_memory;

 public:
  Bits* const ranks = m_memory.get();

 private:
  bool read_block(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
                  Stored<Bits> const* keys, int length) {
    alignas(64) Bits block[filter_block];
    loops.ranks(keys, length, rank, block);
    int const better = above_in(loops, block, length);
    above += better;
    if (range.span > 0) return copy(loops, block, length);
    within += loops.reaching(block, length, range.least) - better;
    return true;
  }
  int above_in(HostLoops<Bits> const& loops, Bits const* block, int length) const {
    auto const next = static_cast<Bits>(range.least + range.span + 1);
    return next == 0 ? 0 : loops.reaching(block, length, next);
  }
  bool copy(HostLoops<Bits> const& loops, Bits const* block, int length) {
    std::uint16_t hits[filter_block + 1];
    int const found = loops.filter(block, length, {}, range, hits);
    if (found > capacity - within) return false;
    for (int h = 0; h < found; ++h) ranks[within++] = block[hits[h]];
    return true;
  }
};

/// Finds the pivot of a row of keys by one read, if it lies in a range; returns false if it does not.
template <class Bits>
bool find_pivot_in(OrderedBitsRange<Bits> const& range, HostLoops<Bits> const& loops,
                   OrderedBitsMap<Bits> const& rank, Stored<Bits> const* keys, int count, int k,
                   Pivot<Bits>& pivot) {
  OrderedBitsBetween<Bits> between(range, count);
  if (!between.read(loops, rank, keys, count)) return false;
  int const wanted = k - between.above;
  if (wanted <= 0 || wanted > between.within) return false;
  // If all in the range are selected, pivot_of might return a rank below it.
  bool const is_least = range.span == 0 || wanted == between.within;
  pivot = is_least ? Pivot<Bits>{range.least, between.within - wanted, between.within}
                   : pivot_of(loops, between.ranks, between.within, wanted);
  return true;
}

/// The same without a range, for a row of at least 8192 keys. The pivot should lie between two keys of a sample, which
/// leave few ranks between them (Floyd and Rivest, "Expected time bounds for selection", 1975), or one that many keys
/// share. Returns false if it does not.
template <class Bits>
bool find_pivot(HostLoops<Bits> const& loops, OrderedBitsMap<Bits> const& rank,
                Stored<Bits> const* keys, int count, int k, Pivot<Bits>& pivot) {
  Samples const samples(count, k);
  ThreadArray<Bits> const memory(samples.count);
  Bits* const sample = memory.get();
  samples.take(loops, rank, keys, sample);
  auto const in = [&](Bits least, Bits most) {
    OrderedBitsRange<Bits> const range{least, static_cast<Bits>(most - least)};
    return find_pivot_in(range, loops, rank, keys, count, k, pivot);
  };
  Reached<Bits> last{0, 0};
  if (samples.last < samples.count) last = loops.kth(sample, samples.count, samples.last);
  bool const is_shared = last.count > samples.last + samples.count / 16;
  Bits most = std::numeric_limits<Bits>::max();
  if (samples.first > 0) most = loops.kth(sample, samples.count, samples.first).rank;
  if (!is_shared || last.rank == most) return in(last.rank, most);
  return in(last.rank, last.rank) || in(static_cast<Bits>(last.rank + 1), most);
}

}  // namespace ktopk::detail
