// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ktopk/detail/counters.hpp>

#include "in_order.hpp"
#include "loops.hpp"
#include "strided_maxima.hpp"
#include "thread_memory.hpp"

// How implementations traverse a row or a list: block by block, through the loops of loops.hpp.

namespace ktopk::detail {

/// Adds digits to a histogram of at most 2048 bins. It adds to four histograms by turns, so that equal digits do not
/// wait for each other.
class DigitCounter {
 public:
  DigitCounter(unsigned* histogram, unsigned bins)
      : m_histogram(histogram), m_bins(bins), m_memory(3 * std::int64_t{bins}) {
    std::fill(m_other, m_other + 3 * bins, 0u);
  }
  ~DigitCounter() {
    for (unsigned b = 0; b < m_bins; ++b)
      m_histogram[b] += m_other[b] + m_other[m_bins + b] + m_other[2 * m_bins + b];
  }
  DigitCounter(DigitCounter const&) = delete;
  DigitCounter& operator=(DigitCounter const&) = delete;

  void add(std::uint16_t const* digits, int count) {
    int i = 0;
    for (; i + 4 <= count; i += 4) {
      ++m_histogram[digits[i]];
      ++m_other[digits[i + 1]];
      ++m_other[m_bins + digits[i + 2]];
      ++m_other[2 * m_bins + digits[i + 3]];
    }
    for (; i < count; ++i) ++m_histogram[digits[i]];
  }

 private:
  unsigned* m_histogram;
  unsigned m_bins;
  ThreadArray<unsigned> m_memory;
  unsigned* const m_other = m_memory.get();
};

/// Memory for a copy of a block's keys, if they are not neighbors but `step` apart.
template <class Bits>
ThreadArray<Bits> memory_for_block(std::int64_t step) {
  return ThreadArray<Bits>(step == 1 ? 0 : filter_block);
}

/// Returns `count` > 0 keys one after the other: the keys themselves, or a copy if they are `step` apart.
template <class Bits>
Stored<Bits> const* neighbors(Stored<Bits> const* keys, std::int64_t step, int count,
                              Bits* packed) {
  if (step == 1) return keys;
  int i = 0;
  do packed[i] = keys[i * step];
  while (++i < count);
  return packed;
}

/// The keys of a row, as a host reads them: block by block, each block of neighbors in memory.
template <class Bits, class CompositeKey>
struct KeyScan {
  HostLoops<Bits> loops;
  Stored<Bits> const* keys;
  std::int64_t step;
  CompositeKeyMap<Bits, CompositeKey> map;

  /// Calls body(from, first, count) for each block; from[0] is the key at position `first`.
  template <class Body>
  void blocks(std::int64_t begin, std::int64_t end, Body const& body) const {
    ThreadArray<Bits> const packed = memory_for_block<Bits>(step);
    for (std::int64_t first = begin; first < end; first += filter_block) {
      int const count = static_cast<int>(end - first < filter_block ? end - first : filter_block);
      body(neighbors(keys + first * step, step, count, packed.get()), first, count);
    }
  }

  /// Adds the digits of ranks to `histogram`. As long as most have the first digit or the last, as they have if the
  /// digit was aimed, it examines only the others one by one.
  void count_digits(std::int64_t begin, std::int64_t end, OrderedBitsDigits<Bits> const& digit,
                    unsigned* histogram) const {
    DigitCounter counter(histogram, digit.last + 1);
    std::uint16_t digits[filter_block + 1];
    ThreadArray<Bits> const memory(filter_block);
    Bits* const ranks = memory.get();
    Bits const width = static_cast<Bits>(Bits(digit.last) << digit.shift);
    Bits const inner = static_cast<Bits>(digit.base + (Bits{1} << digit.shift));
    Bits const upper = static_cast<Bits>(digit.base + width);
    bool aimed = static_cast<unsigned>(width >> digit.shift) == digit.last && upper > inner &&
                 inner > digit.base;
    blocks(begin, end, [&](Stored<Bits> const* from, std::int64_t, int count) {
      if (aimed) {
        loops.ranks(from, count, map.rank, ranks);
        OrderedBitsRange<Bits> const inside{inner, static_cast<Bits>(upper - inner - 1)};
        int const others = loops.filter(ranks, count, {}, inside, digits);
        int const higher = loops.reaching(ranks, count, upper);
        for (int h = 0; h < others; ++h) ++histogram[digit(ranks[digits[h]])];
        histogram[digit.last] += static_cast<unsigned>(higher);
        histogram[0] += static_cast<unsigned>(count - others - higher);
        aimed = others < count / 8;
      } else {
        loops.digits(from, count, map.rank, digit, digits);
        counter.add(digits, count);
      }
    });
  }

  /// Adds only the digits of the ranks in `range`.
  void count_digits_in(std::int64_t begin, std::int64_t end, OrderedBitsDigits<Bits> const& digit,
                       OrderedBitsRange<Bits> range, unsigned* histogram) const {
    DigitCounter counter(histogram, digit.last + 1);
    std::uint16_t hits[filter_block + 1], digits[filter_block + 1];
    blocks(begin, end, [&](Stored<Bits> const* from, std::int64_t, int count) {
      int const found = loops.filter(from, count, map.rank, range, hits);
      loops.digits(from, count, map.rank, digit, digits);
      for (int h = 0; h < found; ++h) digits[h] = digits[hits[h]];
      counter.add(digits, found);
    });
  }

  /// Calls body(position, found) for each interval of positions that differ in their low `shift` bits alone: `found` of
  /// its keys have this rank. `position` is the first of the interval.
  template <class Body>
  void count_places(std::int64_t begin, std::int64_t end, Bits rank, int shift,
                    Body const& body) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](Stored<Bits> const* from, std::int64_t first, int count) {
      for (std::int64_t i = first, next; i < first + count; i = next) {
        next = std::min(((i >> shift) + 1) << shift, first + count);
        body(i, loops.filter(from + (i - first), static_cast<int>(next - i), map.rank, {rank, 0},
                             hits));
      }
    });
  }

  /// Calls visit(composite) for every composite key of low .. high, and maybe for others of the same ranks. If asked,
  /// it calls above(from, hits, found, first), as BulkSink::put_hits takes it, for those above that it does not visit.
  template <class Visit, class Above = std::nullptr_t>
  void visit_between(std::int64_t begin, std::int64_t end, CompositeKey low, CompositeKey high,
                     Visit const& visit, Above const& above = nullptr) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](Stored<Bits> const* from, std::int64_t first, int count) {
      auto const b = static_cast<std::uint64_t>(first), e = b + static_cast<std::uint64_t>(count);
      Bits least;
      if (!map.rank_to_reach(low, b, e, least)) return;
      Bits const most = map.ordered_bits_of(high);
      bool const most_is_above = map.join(most, b) > high && map.join(most, e - 1) > high;
      if constexpr (!std::is_null_pointer_v<Above>) {
        if (most_is_above || most < std::numeric_limits<Bits>::max()) {
          Bits const sure = static_cast<Bits>(most_is_above ? most : most + 1);
          int const found = loops.filter(from, count, map.rank, ranks_from(sure), hits);
          if (found > 0) above(from, hits, found, first);
        }
      }
      if (least > most || (least == most && most_is_above)) return;
      OrderedBitsRange<Bits> const range{least,
                                         static_cast<Bits>(most - least - (most_is_above ? 1 : 0))};
      int const found = loops.filter(from, count, map.rank, range, hits);
      for (int h = 0; h < found; ++h)
        visit(map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h])));
    });
  }
};

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

/// The composite keys of a list, as a host reads them: the loops read those of 64 bits as keys that are their own
/// ranks.
template <class CompositeKey>
struct ListScan {
  CompositeKey const* composites;
  HostLoops<CompositeKey64> loops = pick_host_loops<CompositeKey64>();

  static constexpr bool by_loops = sizeof(CompositeKey) == sizeof(CompositeKey64);

  /// Adds the digits of composite keys to `histogram`.
  void count_digits(std::int64_t begin, std::int64_t end,
                    OrderedBitsDigits<CompositeKey> const& digit, unsigned* histogram) const {
    DigitCounter counter(histogram, digit.last + 1);
    std::uint16_t digits[filter_block + 1];
    blocks(begin, end, [&](CompositeKey const* from, int count) {
      if constexpr (by_loops)
        loops.digits(from, count, {}, digit, digits);
      else
        for (int i = 0; i < count; ++i) digits[i] = static_cast<std::uint16_t>(digit(from[i]));
      counter.add(digits, count);
    });
  }

  /// Calls visit(composite) for every composite key of low .. high, in order. If asked, it calls above(from, hits,
  /// found) for those above: from[hits[0]], from[hits[1]] ...
  template <class Visit, class Above = std::nullptr_t>
  void visit_between(std::int64_t begin, std::int64_t end, CompositeKey low, CompositeKey high,
                     Visit const& visit, Above const& above = nullptr) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](CompositeKey const* from, int count) {
      if constexpr (!std::is_null_pointer_v<Above>) {
        CompositeKey const over = high + 1;
        int const found =
            over == 0 ? 0 : filter(from, count, over, static_cast<CompositeKey>(~over), hits);
        if (found > 0) above(from, hits, found);
      }
      int const found = filter(from, count, low, high - low, hits);
      for (int h = 0; h < found; ++h) visit(from[hits[h]]);
    });
  }

 private:
  int filter(CompositeKey const* from, int count, CompositeKey least, CompositeKey span,
             std::uint16_t* hits) const {
    if constexpr (by_loops) {
      return loops.filter(from, count, {}, {least, span}, hits);
    } else {
      int found = 0;
      for (int i = 0; i < count; ++i) {
        hits[found] = static_cast<std::uint16_t>(i);
        found += from[i] - least <= span;
      }
      return found;
    }
  }

  template <class Body>
  void blocks(std::int64_t begin, std::int64_t end, Body const& body) const {
    for (std::int64_t first = begin; first < end; first += filter_block)
      body(composites + first,
           static_cast<int>(end - first < filter_block ? end - first : filter_block));
  }
};

/// Calls body(from, hits, found, first) for each block of begin .. end - 1 in which some keys may reach threshold():
/// those at from[hits[0]], from[hits[1]] ..., where `from` is position `first`. It asks for the threshold once a block,
/// and the threshold may rise. Blocks grow from `block` to filter_block keys, unless `block` is longer.
/// \param block  at most long_block
template <class Bits, class CompositeKey, class Threshold, class Body>
void for_each_block_reaching(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                             std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                             std::int64_t begin, std::int64_t end, int block,
                             Threshold const& threshold, Body const& body) {
  std::uint16_t hits[long_block + 1];
  ThreadArray<Bits> const packed = memory_for_block<Bits>(step);
  int const most = step == 1 ? std::max(block, filter_block) : filter_block;
  int next = std::min(block, most);
  for (std::int64_t first = begin; first < end; first += block) {
    block = next;
    next = std::min(block * 2, most);
    int const count = static_cast<int>(end - first < block ? end - first : block);
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(first + count), least))
      continue;
    Stored<Bits> const* const from = neighbors(keys + first * step, step, count, packed.get());
    body(from, hits, loops.filter(from, count, map.rank, ranks_from(least), hits), first);
  }
}

/// Calls body(begin, end) for the one or two intervals of a range in which either all keys that tie with `threshold`
/// reach it or none does. What the filter finds in an interval need not be examined again.
template <class Bits, class CompositeKey, class Body>
void for_each_side_of_ties(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold,
                           std::int64_t begin, std::int64_t end, Body const& body) {
  auto const boundary =
      std::clamp(static_cast<std::int64_t>(map.tie_boundary(threshold)), begin, end);
  if (begin < boundary) body(begin, boundary);
  if (boundary < end) body(boundary, end);
}

/// Calls body(found, composite) for each group of blocks of begin .. end - 1 in which some keys may reach threshold(),
/// which may rise: composite(0) .. composite(found - 1), in no particular order. It reads by one stream if keys are not
/// neighbors in memory, or if the processor gains nothing by more.
template <class Bits, class CompositeKey, class Threshold, class Body>
void for_each_reaching_in_streams(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                  std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                                  std::int64_t begin, std::int64_t end, Threshold const& threshold,
                                  Body const& body) {
  std::uint16_t hits[streams * filter_block + 1];
  std::int64_t const apart =
      step == 1 && loops.by_streams ? (end - begin) / (streams * filter_block) * filter_block : 0;
  for (std::int64_t first = begin; first < begin + apart; first += filter_block) {
    std::int64_t const end_of_last = first + (streams - 1) * apart + filter_block;
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(end_of_last), least))
      continue;
    int const found = loops.filter_streams(keys + first, apart, map.rank, ranks_from(least), hits);
    body(found, [&](int h) {
      std::int64_t const at = first + hits[h] / filter_block * apart + hits[h] % filter_block;
      return map(keys[at], static_cast<std::uint64_t>(at));
    });
  }
  for_each_block_reaching(
      loops, keys, step, map, begin + streams * apart, end, long_block, threshold,
      [&](Stored<Bits> const* from, std::uint16_t const* places, int found, std::int64_t block) {
        body(found, [&](int h) {
          return map(from[places[h]], static_cast<std::uint64_t>(block + places[h]));
        });
      });
}

/// Calls visit(composite) for the keys at from[hits[0]], from[hits[1]] ... from the better end on, where `from` is
/// position `first`. The visited keys raise the threshold, so it filters the rest again now and then: in a sorted block
/// it visits few keys. It overwrites `hits`.
template <class Bits, class CompositeKey, class Threshold, class Visit>
void visit_best_end_first(HostLoops<Bits> const& loops,
                          CompositeKeyMap<Bits, CompositeKey> const& map, Stored<Bits> const* from,
                          std::uint16_t* hits, int found, std::int64_t first,
                          Threshold const& threshold, Visit const& visit) {
  auto const composite = [&](int h) {
    return map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h]));
  };
  for (int stride = 64; found > 0; stride *= 2) {
    int const visits = found <= 2 * stride ? found : stride;
    bool const from_last = composite(0) < composite(found - 1);
    for (int v = 0; v < visits; ++v) visit(composite(from_last ? found - 1 - v : v));
    if (visits == found) return;
    int const begin = from_last ? hits[0] : hits[visits];
    int const end = (from_last ? hits[found - 1 - visits] : hits[found - 1]) + 1;
    from += begin;
    first += begin;
    Bits least;
    if (!map.rank_to_reach(threshold(), static_cast<std::uint64_t>(first),
                           static_cast<std::uint64_t>(first + end - begin), least))
      return;
    found = loops.filter(from, end - begin, map.rank, ranks_from(least), hits);
  }
}

/// Returns a composite key that k of the keys of begin .. end - 1 reach; or 0 if it costs more than it saves: for a
/// short range, or if the keys may be in order, so that those of one end reject the others.
template <class Bits, class CompositeKey>
CompositeKey threshold_by_maxima(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                 std::int64_t step, CompositeKeyMap<Bits, CompositeKey> const& map,
                                 std::int64_t begin, std::int64_t end, int k) {
  StridedMaxima const maxima(k);
  std::int64_t const count = end - begin, least = StridedMaxima::most_in_class * maxima.count;
  if (step != 1 || count < least || !maxima.serve(least)) return 0;
  if (may_be_in_order(map.rank, keys + begin, count)) return 0;
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  int const length = static_cast<int>(std::min(count, most));
  return static_cast<CompositeKey>(maxima.kth(loops, map.rank, keys + begin, length).rank)
         << map.position_bits;
}

/// The same for every key of begin .. end - 1 that may reach threshold(), block by block. A few keys of both ends come
/// first if k is small, then the last block: if keys fall or rise, these reject the others. In a long row the first
/// block comes early too, and what is between is read by streams. Keys that k others beat may be left out.
template <class Bits, class CompositeKey, class Threshold, class Visit>
void for_each_reaching_best_end_first(HostLoops<Bits> const& loops, Stored<Bits> const* keys,
                                      std::int64_t step,
                                      CompositeKeyMap<Bits, CompositeKey> const& map,
                                      std::int64_t begin, std::int64_t end, int block, int k,
                                      Threshold const& at_least, Visit const& visit) {
  CompositeKey const known = threshold_by_maxima(loops, keys, step, map, begin, end, k);
  auto const threshold = [&] { return std::max(known, at_least()); };
  auto const visit_blocks = [&](std::int64_t first, std::int64_t last, int length) {
    for_each_block_reaching(
        loops, keys, step, map, first, last, length, threshold,
        [&](Stored<Bits> const* from, std::uint16_t* hits, int found, std::int64_t position) {
          visit_best_end_first(loops, map, from, hits, found, position, threshold, visit);
        });
  };
  std::int64_t const head = std::min(begin + block, end), tail = std::max(head, end - block);
  visit_blocks(begin, head, block);
  visit_blocks(tail, end, block);
  std::int64_t const last = std::max(head, end - filter_block);
  visit_blocks(last, tail, block);
  constexpr std::int64_t worth_streams = std::int64_t{1} << 17;
  bool const by_streams = step == 1 && last - head >= worth_streams;
  std::int64_t const first_end = by_streams ? head + filter_block : last;
  visit_blocks(head, first_end, filter_block);
  if (by_streams)
    for_each_reaching_in_streams(loops, keys, step, map, first_end, last, threshold,
                                 [&](int found, auto const& composite) {
                                   for (int h = 0; h < found; ++h) visit(composite(h));
                                 });
}

}  // namespace ktopk::detail
