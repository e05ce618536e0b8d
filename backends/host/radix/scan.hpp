// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../scan.hpp"

// How radix reads a row of keys or a list of composite keys: block by block, through the loops of loops.hpp.

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

}  // namespace ktopk::detail
