// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <ktopk/detail/rank.hpp>

#include "host_targets.hpp"

// The inner loops of every host room: plain C++ that vectorizes, compiled for the processors of a decade
// and picked at run time, so that a portable build is fast.

namespace ktopk::detail {

inline constexpr int filter_block = 2048;
/// Where nothing is learned between blocks, longer ones spend less on beginning.
inline constexpr int long_block = 4 * filter_block;

/// The ranks from `least` to `least + span`, which is no smaller.
template <class Bits>
struct RankRange {
  Bits least, span;
  constexpr bool has(Bits rank) const { return static_cast<Bits>(rank - least) <= span; }
};

template <class Bits>
constexpr RankRange<Bits> ranks_from(Bits least) {
  return {least, static_cast<Bits>(std::numeric_limits<Bits>::max() - least)};
}

/// Bit j of the result is byte j of the eight at `flags`, each 0 or 1.
inline std::uint64_t pack_flags(std::uint8_t const* flags) {
  constexpr std::uint64_t spread =
      std::endian::native == std::endian::little ? 0x0102040810204080ull : 0x8040201008040201ull;
  std::uint64_t word;
  std::memcpy(&word, flags, 8);
  return (word * spread) >> 56;
}

/// A test of a key's bits as they are, cheaper than its rank, that every key passes whose rank is in a
/// range. Few others do, unless the range begins or ends beside zero or has both signs and an end short of
/// the best rank. The keys that pass are an interval of bits, which may wrap around; or, where the best of
/// one sign go with the NaNs of the other, all from one number on by signed order and from another on by
/// unsigned order.
template <class Bits>
class Sieve {
 public:
  using Signed = std::make_signed_t<Bits>;

  Sieve(RankMap<Bits> const& map, RankRange<Bits> range) {
    if (map.magnitude != 0)
      sift_floats(map, range);
    else if ((map.always & 1) == 0)
      set_interval(range.least ^ map.always, range.span);
    else
      set_interval((range.least + range.span) ^ map.always, range.span);
  }

  /// Whether no other key passes.
  bool is_exact() const { return m_is_exact; }
  /// Whether a key passes by ends, otherwise by an interval.
  bool by_ends() const { return m_by_ends; }
  Bits first() const { return m_first; }
  Bits span() const { return m_span; }
  Signed from_signed() const { return static_cast<Signed>(m_first); }
  Bits from_unsigned() const { return m_span; }

  /// Whether one of `count` keys may pass.
  template <int count>
  [[gnu::always_inline]] bool passes_any(Bits const* keys) const {
    if (m_by_ends) {
      Signed highest = std::numeric_limits<Signed>::min();
      Bits greatest = 0;
      for (int j = 0; j < count; ++j) {
        auto const number = static_cast<Signed>(keys[j]);
        highest = number > highest ? number : highest;
        greatest = keys[j] > greatest ? keys[j] : greatest;
      }
      return highest >= from_signed() || greatest >= from_unsigned();
    }
    Bits nearest = std::numeric_limits<Bits>::max();
    for (int j = 0; j < count; ++j) {
      Bits const distance = static_cast<Bits>(keys[j] - m_first);
      nearest = distance < nearest ? distance : nearest;
    }
    return nearest <= m_span;
  }

 private:
  /// In the order largest, ranks below the sign bit are those of negative keys. The order smallest turns
  /// every sign around.
  void sift_floats(RankMap<Bits> const& map, RankRange<Bits> range) {
    Bits const sign = map.minus_zero, zero = map.ordered(0);
    Bits const turn = (map.always & sign) != 0 ? Bits{0} : sign, other_turn = turn ^ sign;
    Bits const least = range.least, most = static_cast<Bits>(range.least + range.span);
    bool const has_nan = range.has(map.nan_rank);
    if (least > zero)
      sift_magnitudes(map, least ^ sign, most ^ sign, has_nan, turn);
    else if (most < zero)
      sift_magnitudes(map, static_cast<Bits>(~most) ^ sign, static_cast<Bits>(~least) ^ sign,
                      has_nan, other_turn);
    else
      sift_around_zero(map, least == sign ? sign : static_cast<Bits>(~least), most, has_nan, turn);
  }

  /// Keys of one sign from `least` to `most`, and maybe NaN; zero is none of them, even if a rank beside that
  /// of zero looks like its other key.
  void sift_magnitudes(RankMap<Bits> const& map, Bits least, Bits most, bool has_nan, Bits turn) {
    Bits const first_nan = static_cast<Bits>(map.infinity + 1);
    Bits const first = std::clamp<Bits>(least, 1, first_nan);
    if (has_nan) return set_ends(first, first_nan ^ map.minus_zero, turn);
    m_is_exact = first <= std::min(most, map.infinity);
    set_interval(first ^ turn, m_is_exact ? std::min(most, map.infinity) - first : 0);
  }

  /// All positive keys, and negative ones down to `last`; NaN are at both ends.
  void sift_around_zero(RankMap<Bits> const& map, Bits last, Bits most, bool has_nan, Bits turn) {
    Bits const sign = map.minus_zero;
    Bits const first = has_nan ? static_cast<Bits>((map.infinity + 1) ^ sign) : Bits{0};
    bool const all = has_nan && last >= first;
    m_is_exact = has_nan && most >= static_cast<Bits>(map.infinity ^ sign);
    set_interval(first ^ turn, all ? std::numeric_limits<Bits>::max() : last - first);
  }

  // Of Bits whose arithmetic is that of int where they are narrow.
  template <class First, class Span>
  void set_interval(First first, Span span) {
    m_by_ends = false;
    m_first = static_cast<Bits>(first);
    m_span = static_cast<Bits>(span);
  }
  void set_ends(Bits from_signed, Bits from_unsigned, Bits turn) {
    m_by_ends = true;
    m_first = turn == 0 ? from_signed : static_cast<Bits>(from_unsigned ^ turn);
    m_span = turn == 0 ? from_unsigned : static_cast<Bits>(from_signed ^ turn);
  }

  bool m_is_exact = true;
  bool m_by_ends;
  Bits m_first, m_span;
};

/// A core has few places for lines on their way to its first cache, and more for those to its second.
template <class Bits>
[[gnu::always_inline]] inline void fetch_ahead(Bits const* keys) {
  constexpr int read_only = 0, second_cache = 2;
  __builtin_prefetch(keys + filter_block, read_only, second_cache);
}

/// Writes to `hits` the places of the keys whose rank is in `range`; returns how many.
/// \param count  at most long_block
/// \param hits   room for count + 1
template <class Bits>
[[gnu::always_inline]] inline int filter_plain(Bits const* keys, int count,
                                               RankMap<Bits> const& rank, RankRange<Bits> range,
                                               std::uint16_t* hits) {
  constexpr int stripe = 128;
  constexpr int line = 64 / static_cast<int>(sizeof(Bits));
  RankMap<Bits> const map = rank;
  Sieve<Bits> const sieve(rank, range);
  int found = 0;
  int i = 0;
  for (; i + stripe <= count; i += stripe) {
    for (int j = 0; j < stripe; j += line) fetch_ahead(keys + i + j);
    if (!sieve.template passes_any<stripe>(keys + i)) continue;
    std::uint8_t in[stripe];
    for (int j = 0; j < stripe; ++j) in[j] = range.has(map(keys[i + j])) ? 1 : 0;
    for (int w = 0; w < stripe; w += 64) {
      std::uint64_t mask = 0;
      for (int b = 0; b < 8; ++b) mask |= pack_flags(in + w + 8 * b) << (8 * b);
      for (; mask != 0; mask &= mask - 1)
        hits[found++] = static_cast<std::uint16_t>(i + w + std::countr_zero(mask));
    }
  }
  for (; i < count; ++i) {
    hits[found] = static_cast<std::uint16_t>(i);
    found += range.has(map(keys[i]));
  }
  return found;
}

/// Digits of ranks: those of `base` and below are 0, and none is above `last`.
template <class Bits>
struct RankDigits {
  Bits base;
  int shift;
  unsigned last;
  constexpr unsigned operator()(Bits rank) const {
    Bits const place = static_cast<Bits>((rank > base ? rank - base : 0) >> shift);
    return place < last ? static_cast<unsigned>(place) : last;
  }
};

template <class Bits>
[[gnu::always_inline]] inline void digits_plain(Bits const* keys, int count,
                                                RankMap<Bits> const& rank,
                                                RankDigits<Bits> const& digit,
                                                std::uint16_t* digits) {
  RankMap<Bits> const map = rank;
  Bits const base = digit.base;
  constexpr Bits most = std::numeric_limits<Bits>::max();
  Bits const last = digit.last < most ? static_cast<Bits>(digit.last) : most;
  int const shift = digit.shift;
  for (int i = 0; i < count; ++i) {
    Bits const here = map(keys[i]);
    Bits const above = static_cast<Bits>((here > base ? here : base) - base);
    Bits const place = static_cast<Bits>(above >> shift);
    digits[i] = static_cast<std::uint16_t>(place < last ? place : last);
  }
}

template <class Bits>
[[gnu::always_inline]] inline void ranks_plain(Bits const* keys, int count,
                                               RankMap<Bits> const& rank, Bits* ranks) {
  RankMap<Bits> const map = rank;
  for (int i = 0; i < count; ++i) ranks[i] = map(keys[i]);
}

/// A rank, and how many of some ranks reach it.
template <class Bits>
struct Reached {
  Bits rank;
  int count;
};

/// The k-th best of `count` ranks, or a rank that exactly k reach, found bit by bit from the first in
/// which they differ. 1 <= k <= count.
template <class Bits>
[[gnu::always_inline]] inline Reached<Bits> kth_plain(Bits const* ranks, int count, int k) {
  Bits all = std::numeric_limits<Bits>::max(), any = 0;
  for (int i = 0; i < count; ++i) {
    all = static_cast<Bits>(all & ranks[i]);
    any = static_cast<Bits>(any | ranks[i]);
  }
  int const differing = std::bit_width(static_cast<Bits>(all ^ any));
  Reached<Bits> best{static_cast<Bits>(differing == std::numeric_limits<Bits>::digits
                                           ? Bits{0}
                                           : static_cast<Bits>((any >> differing) << differing)),
                     count};
  for (int bit = differing - 1; bit >= 0 && best.count > k; --bit) {
    Bits const higher = static_cast<Bits>(best.rank | (Bits{1} << bit));
    int reaching = 0;
    for (int i = 0; i < count; ++i) reaching += ranks[i] >= higher ? 1 : 0;
    if (reaching >= k) best = {higher, reaching};
  }
  return best;
}

inline constexpr int most_counted_slots = 128;

/// Sorts by counting, without a branch: slots[i] is how many of the ranks come before ranks[i], larger
/// ones and equal ones further forward.
template <class Bits>
[[gnu::always_inline]] inline void slots_plain(Bits const* ranks, int count, Bits* slots) {
  for (int i = 0; i < count; ++i) slots[i] = 0;
  for (int j = 0; j < count; ++j) {
    Bits const rank = ranks[j];
    Bits const place = static_cast<Bits>(j);
    for (int i = 0; i < count; ++i) {
      bool const before = (rank > ranks[i]) | ((rank == ranks[i]) & (place < static_cast<Bits>(i)));
      slots[i] = static_cast<Bits>(slots[i] + (before ? 1 : 0));
    }
  }
}

/// The least and the greatest of some ranks.
template <class Bits>
struct Extremes {
  Bits least = std::numeric_limits<Bits>::max(), most = 0;
};

template <class Bits>
[[gnu::always_inline]] inline void extremes_plain(Bits const* ranks, int count,
                                                  Extremes<Bits>& extremes) {
  Bits least = extremes.least, most = extremes.most;
  for (int i = 0; i < count; ++i) {
    least = ranks[i] < least ? ranks[i] : least;
    most = ranks[i] > most ? ranks[i] : most;
  }
  extremes = {least, most};
}

/// How many ranks reach `least`. Sums are as wide as ranks, so that no lane has to be widened.
template <class Bits>
[[gnu::always_inline]] inline int reaching_plain(Bits const* ranks, int count, Bits least) {
  constexpr int chunk = sizeof(Bits) == 1 ? 128 : 8192;
  int reaching = 0;
  for (int first = 0; first < count; first += chunk) {
    int const end = first + chunk < count ? first + chunk : count;
    Bits here = 0;
    for (int i = first; i < end; ++i) here = static_cast<Bits>(here + (ranks[i] >= least ? 1 : 0));
    reaching += static_cast<int>(here);
  }
  return reaching;
}

/// The loops as compiled for one kind of processor.
template <class Bits>
struct HostLoops {
  int (*filter)(Bits const*, int, RankMap<Bits> const&, RankRange<Bits>, std::uint16_t*);
  void (*digits)(Bits const*, int, RankMap<Bits> const&, RankDigits<Bits> const&, std::uint16_t*);
  void (*ranks)(Bits const*, int, RankMap<Bits> const&, Bits*);
  Reached<Bits> (*kth)(Bits const*, int, int);
  void (*slots)(Bits const*, int, Bits*);
  void (*extremes)(Bits const*, int, Extremes<Bits>&);
  int (*reaching)(Bits const*, int, Bits);
};

#define KTOPK_HOST_LOOPS(suffix, attribute)                                                  \
  template <class Bits>                                                                      \
  attribute int filter_##suffix(Bits const* keys, int count, RankMap<Bits> const& rank,      \
                                RankRange<Bits> range, std::uint16_t* hits) {                \
    return filter_plain(keys, count, rank, range, hits);                                     \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute void digits_##suffix(Bits const* keys, int count, RankMap<Bits> const& rank,     \
                                 RankDigits<Bits> const& digit, std::uint16_t* digits) {     \
    digits_plain(keys, count, rank, digit, digits);                                          \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute void ranks_##suffix(Bits const* keys, int count, RankMap<Bits> const& rank,      \
                                Bits* ranks) {                                               \
    ranks_plain(keys, count, rank, ranks);                                                   \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute Reached<Bits> kth_##suffix(Bits const* ranks, int count, int k) {                \
    return kth_plain(ranks, count, k);                                                       \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute void slots_##suffix(Bits const* ranks, int count, Bits* slots) {                 \
    slots_plain(ranks, count, slots);                                                        \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute void extremes_##suffix(Bits const* ranks, int count, Extremes<Bits>& extremes) { \
    extremes_plain(ranks, count, extremes);                                                  \
  }                                                                                          \
  template <class Bits>                                                                      \
  attribute int reaching_##suffix(Bits const* ranks, int count, Bits least) {                \
    return reaching_plain(ranks, count, least);                                              \
  }                                                                                          \
  template <class Bits>                                                                      \
  HostLoops<Bits> loops_##suffix() {                                                         \
    return {filter_##suffix<Bits>,  digits_##suffix<Bits>, ranks_##suffix<Bits>,             \
            kth_##suffix<Bits>,     slots_##suffix<Bits>,  extremes_##suffix<Bits>,          \
            reaching_##suffix<Bits>};                                                        \
  }

KTOPK_FOR_EACH_HOST_TARGET(KTOPK_HOST_LOOPS)
#undef KTOPK_HOST_LOOPS

}  // namespace ktopk::detail

#if defined(KTOPK_HOST_TARGETS)
#include "host_filter_vbmi2.hpp"
#endif

namespace ktopk::detail {

/// The fastest loops that this processor runs.
template <class Bits>
HostLoops<Bits> pick_host_loops() {
  HostLoops<Bits> loops = KTOPK_FASTEST_ON_HOST(loops, Bits)();
#if defined(KTOPK_HOST_TARGETS)
  if (runs_avx512() && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("popcnt"))
    loops.filter = filter_vbmi2<Bits>;
#endif
  return loops;
}

/// Adds digits to a histogram of at most 2048 bins: to four in turn, so that equal digits do not wait for
/// each other.
class DigitCounter {
 public:
  DigitCounter(unsigned* histogram, unsigned bins) : m_histogram(histogram), m_bins(bins) {
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
  unsigned m_other[3 << 11];
};

/// One row's keys as a host reads them: whole blocks at a time, each of neighbors in memory.
template <class Bits, class Item>
struct KeyScan {
  HostLoops<Bits> loops;
  Bits const* keys;
  std::int64_t step;
  ItemMap<Bits, Item> map;

  /// Calls body(from, first, count) for each block; from[0] is the key at position `first`.
  template <class Body>
  void blocks(std::int64_t begin, std::int64_t end, Body const& body) const {
    Bits packed[filter_block];
    for (std::int64_t first = begin; first < end; first += filter_block) {
      int const count = static_cast<int>(end - first < filter_block ? end - first : filter_block);
      Bits const* from = keys + first * step;
      if (step != 1) {
        for (int i = 0; i < count; ++i) packed[i] = from[i * step];
        from = packed;
      }
      body(from, first, count);
    }
  }

  /// Adds the digits of ranks to `histogram`. As long as few ranks have a digit above 0, only those are
  /// looked at one by one.
  void count_digits(std::int64_t begin, std::int64_t end, RankDigits<Bits> const& digit,
                    unsigned* histogram) const {
    DigitCounter counter(histogram, digit.last + 1);
    std::uint16_t digits[filter_block + 1];
    Bits const bin = static_cast<Bits>(Bits{1} << digit.shift);
    Bits const first = static_cast<Bits>(digit.base + bin);
    bool sparse = digit.base != 0 && first > digit.base;
    blocks(begin, end, [&](Bits const* from, std::int64_t, int count) {
      if (sparse) {
        int const found = loops.filter(from, count, map.rank, ranks_from(first), digits);
        sparse = found < count / 8;
        if (sparse) {
          for (int h = 0; h < found; ++h) ++histogram[digit(map.rank(from[digits[h]]))];
          histogram[0] += static_cast<unsigned>(count - found);
          return;
        }
      }
      loops.digits(from, count, map.rank, digit, digits);
      counter.add(digits, count);
    });
  }

  /// Calls body(position, found) for each stretch of positions that differ in their low `shift` bits alone:
  /// `found` of its keys have this rank. The first position stands for all of the stretch.
  template <class Body>
  void count_places(std::int64_t begin, std::int64_t end, Bits rank, int shift,
                    Body const& body) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](Bits const* from, std::int64_t first, int count) {
      for (std::int64_t i = first, next; i < first + count; i = next) {
        next = std::min(((i >> shift) + 1) << shift, first + count);
        body(i, loops.filter(from + (i - first), static_cast<int>(next - i), map.rank, {rank, 0},
                             hits));
      }
    });
  }

  /// Calls edge(item) for every item of floor .. ceiling, and maybe for others of the same rank.
  template <class Edge>
  void visit_edge(std::int64_t begin, std::int64_t end, Item floor, Item ceiling,
                  Edge const& edge) const {
    split(begin, end, floor, ceiling, edge, nullptr);
  }

  /// The same, and calls above(from, hits, found, first), as WinnerSink::put_hits takes it, for what is
  /// above and not passed to edge.
  template <class Edge, class Above>
  void split(std::int64_t begin, std::int64_t end, Item floor, Item ceiling, Edge const& edge,
             Above const& above) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](Bits const* from, std::int64_t first, int count) {
      auto const b = static_cast<std::uint64_t>(first), e = b + static_cast<std::uint64_t>(count);
      Bits least;
      if (!map.rank_to_reach(floor, b, e, least)) return;
      Bits const most = map.rank_of(ceiling);
      bool const most_is_above = map.join(most, b) > ceiling && map.join(most, e - 1) > ceiling;
      if constexpr (!std::is_null_pointer_v<Above>) {
        if (most_is_above || most < std::numeric_limits<Bits>::max()) {
          Bits const sure = static_cast<Bits>(most_is_above ? most : most + 1);
          int const found = loops.filter(from, count, map.rank, ranks_from(sure), hits);
          if (found > 0) above(from, hits, found, first);
        }
      }
      if (least > most || (least == most && most_is_above)) return;
      RankRange<Bits> const range{least, static_cast<Bits>(most - least - (most_is_above ? 1 : 0))};
      int const found = loops.filter(from, count, map.rank, range, hits);
      for (int h = 0; h < found; ++h)
        edge(map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h])));
    });
  }
};

/// Items in a list as a host reads them: those of 64 bits by the loops for keys that are their own ranks.
template <class Item>
struct ListScan {
  Item const* items;
  HostLoops<Item64> loops = pick_host_loops<Item64>();

  static constexpr bool by_loops = sizeof(Item) == sizeof(Item64);

  /// Adds the digits of items to `histogram`. As long as most have the first digit or the last, as where
  /// it was aimed, only the others are looked at one by one.
  void count_digits(std::int64_t begin, std::int64_t end, RankDigits<Item> const& digit,
                    unsigned* histogram) const {
    unsigned const last = digit.last;
    DigitCounter counter(histogram, last + 1);
    std::uint16_t found[filter_block + 1];
    Item const width = Item{last} << digit.shift, upper = digit.base + width;
    Item const inner = digit.base + (Item{1} << digit.shift);
    bool aimed = width >> digit.shift == last && upper > digit.base;
    blocks(begin, end, [&](Item const* from, int count) {
      if (aimed) {
        int const others = filter(from, count, inner, upper - inner - 1, found);
        int const higher = reaching(from, count, upper);
        for (int h = 0; h < others; ++h) ++histogram[digit(from[found[h]])];
        histogram[last] += static_cast<unsigned>(higher);
        histogram[0] += static_cast<unsigned>(count - others - higher);
        aimed = others < count / 2;
        return;
      }
      if constexpr (by_loops)
        loops.digits(from, count, {}, digit, found);
      else
        for (int i = 0; i < count; ++i) found[i] = static_cast<std::uint16_t>(digit(from[i]));
      counter.add(found, count);
    });
  }

  /// Calls edge(item) for every item of floor .. ceiling, in order.
  template <class Edge>
  void visit_edge(std::int64_t begin, std::int64_t end, Item floor, Item ceiling,
                  Edge const& edge) const {
    split(begin, end, floor, ceiling, edge, nullptr);
  }

  /// The same, and calls above(from, hits, found) for what is above: items from[hits[0]], from[hits[1]] ...
  template <class Edge, class Above>
  void split(std::int64_t begin, std::int64_t end, Item floor, Item ceiling, Edge const& edge,
             Above const& above) const {
    std::uint16_t hits[filter_block + 1];
    blocks(begin, end, [&](Item const* from, int count) {
      if constexpr (!std::is_null_pointer_v<Above>) {
        Item const over = ceiling + 1;
        int const found = over == 0 ? 0 : filter(from, count, over, static_cast<Item>(~over), hits);
        if (found > 0) above(from, hits, found);
      }
      int const found = filter(from, count, floor, ceiling - floor, hits);
      for (int h = 0; h < found; ++h) edge(from[hits[h]]);
    });
  }

 private:
  int filter(Item const* from, int count, Item least, Item span, std::uint16_t* hits) const {
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

  int reaching(Item const* from, int count, Item least) const {
    if constexpr (by_loops) {
      return loops.reaching(from, count, least);
    } else {
      int found = 0;
      for (int i = 0; i < count; ++i) found += from[i] >= least;
      return found;
    }
  }

  template <class Body>
  void blocks(std::int64_t begin, std::int64_t end, Body const& body) const {
    for (std::int64_t first = begin; first < end; first += filter_block)
      body(items + first,
           static_cast<int>(end - first < filter_block ? end - first : filter_block));
  }
};

/// Calls body(from, hits, found, first) for each block of begin .. end - 1 of which some keys may reach
/// threshold(): those at from[hits[0]], from[hits[1]] ..., where `from` is position `first`.
/// `threshold` is asked once a block and may rise; blocks grow from `block` to filter_block keys, unless
/// they are longer from the beginning. At most long_block.
template <class Bits, class Item, class Threshold, class Body>
void for_each_block_reaching(HostLoops<Bits> const& loops, Bits const* keys, std::int64_t step,
                             ItemMap<Bits, Item> const& map, std::int64_t begin, std::int64_t end,
                             int block, Threshold const& threshold, Body const& body) {
  std::uint16_t hits[long_block + 1];
  Bits packed[filter_block];
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
    Bits const* from = keys + first * step;
    if (step != 1) {
      for (int i = 0; i < count; ++i) packed[i] = from[i * step];
      from = packed;
    }
    body(from, hits, loops.filter(from, count, map.rank, ranks_from(least), hits), first);
  }
}

/// Calls visit(item) for every key of begin .. end - 1 that may reach threshold(), in order.
template <class Bits, class Item, class Threshold, class Visit>
void for_each_reaching(HostLoops<Bits> const& loops, Bits const* keys, std::int64_t step,
                       ItemMap<Bits, Item> const& map, std::int64_t begin, std::int64_t end,
                       int block, Threshold const& threshold, Visit const& visit) {
  for_each_block_reaching(
      loops, keys, step, map, begin, end, block, threshold,
      [&](Bits const* from, std::uint16_t const* hits, int found, std::int64_t first) {
        for (int h = 0; h < found; ++h)
          visit(map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h])));
      });
}

/// Calls visit(item) for the keys at from[hits[0]], from[hits[1]] ... from the better end on, where `from` is
/// position `first`. What is visited raises the threshold, so that now and then the rest is filtered anew:
/// of a sorted block few are visited. `hits` is overwritten.
template <class Bits, class Item, class Threshold, class Visit>
void visit_best_end_first(HostLoops<Bits> const& loops, ItemMap<Bits, Item> const& map,
                          Bits const* from, std::uint16_t* hits, int found, std::int64_t first,
                          Threshold const& threshold, Visit const& visit) {
  auto const item = [&](int h) {
    return map(from[hits[h]], static_cast<std::uint64_t>(first + hits[h]));
  };
  for (int stride = 64; found > 0; stride *= 2) {
    int const visits = found <= 2 * stride ? found : stride;
    bool const from_last = item(0) < item(found - 1);
    for (int v = 0; v < visits; ++v) visit(item(from_last ? found - 1 - v : v));
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

/// The same for every key of begin .. end - 1 that may reach threshold(), block by block. The last block comes
/// first: of keys that rise, it turns the others away.
template <class Bits, class Item, class Threshold, class Visit>
void for_each_reaching_best_end_first(HostLoops<Bits> const& loops, Bits const* keys,
                                      std::int64_t step, ItemMap<Bits, Item> const& map,
                                      std::int64_t begin, std::int64_t end, int block,
                                      Threshold const& threshold, Visit const& visit) {
  std::int64_t const last = std::max(begin, end - filter_block);
  auto const visit_block = [&](Bits const* from, std::uint16_t* hits, int found,
                               std::int64_t first) {
    visit_best_end_first(loops, map, from, hits, found, first, threshold, visit);
  };
  for_each_block_reaching(loops, keys, step, map, last, end, block, threshold, visit_block);
  for_each_block_reaching(loops, keys, step, map, begin, last, filter_block, threshold,
                          visit_block);
}

}  // namespace ktopk::detail
