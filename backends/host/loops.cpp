// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "loops.hpp"

#include <algorithm>
#include <bit>

#include "../../runtime/thread_memory.hpp"
#include "filters.hpp"
#include "targets.hpp"
#if defined(KTOPK_HOST_TARGETS)
#include "filter_avx2.hpp"
#include "filter_vbmi2.hpp"
#endif

namespace ktopk::detail {

template <class Bits>
[[gnu::always_inline]] inline void digits_plain(Stored<Bits> const* keys, int count,
                                                OrderedBitsMap<Bits> const& rank,
                                                OrderedBitsDigits<Bits> const& digit,
                                                std::uint16_t* digits) {
  OrderedBitsMap<Bits> const map = rank;
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
[[gnu::always_inline]] inline void ranks_plain(Stored<Bits> const* keys, int count,
                                               OrderedBitsMap<Bits> const& rank, Bits* ranks) {
  OrderedBitsMap<Bits> const map = rank;
  for (int i = 0; i < count; ++i) ranks[i] = map(keys[i]);
}

// Sums are as wide as ranks, so that no lane has to be widened.
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

/// The least of the ranks in a range, which holds some, and all bits that any of them has.
template <class Bits>
[[gnu::always_inline]] inline Extremes<Bits> bounds_in(Bits const* ranks, int count,
                                                       OrderedBitsRange<Bits> range) {
  Bits least = std::numeric_limits<Bits>::max(), any = 0;
  for (int i = 0; i < count; ++i) {
    Bits const above =
        static_cast<Bits>(ranks[i] - range.least);  // of lower ranks beyond the range
    any = static_cast<Bits>(any | (above <= range.span ? above : Bits{0}));
    least = above < least ? above : least;
  }
  return {static_cast<Bits>(range.least + least), static_cast<Bits>(range.least + any)};
}

/// Bounds of some ranks, which differ from each other only in bits in which the bounds do.
template <class Bits>
[[gnu::always_inline]] inline Extremes<Bits> bounds_of(Bits const* ranks, int count) {
  Bits all = std::numeric_limits<Bits>::max(), any = 0;
  for (int i = 0; i < count; ++i) {
    all = static_cast<Bits>(all & ranks[i]);
    any = static_cast<Bits>(any | ranks[i]);
  }
  return {all, any};
}
template <class Bits>
int differing_bits(Extremes<Bits> const& bounds) {
  return std::bit_width(static_cast<Bits>(bounds.least ^ bounds.most));
}
template <class Bits>
Bits without_low(Bits rank, int bits) {
  return bits < std::numeric_limits<Bits>::digits ? static_cast<Bits>((rank >> bits) << bits)
                                                  : Bits{0};
}

/// How many ranks reach each of three others, in sums that are wide enough.
template <class Sum, class Bits>
[[gnu::always_inline]] inline void count_reaching(Bits const* ranks, int count,
                                                  Bits const (&least)[3], int (&reaching)[3]) {
  Sum here[3] = {};
  for (int i = 0; i < count; ++i)
    for (int h = 0; h < 3; ++h)
      here[h] = static_cast<Sum>(here[h] + (ranks[i] >= least[h] ? 1 : 0));
  for (int h = 0; h < 3; ++h) reaching[h] = static_cast<int>(here[h]);
}

/// Raises `best` by the lowest `bits`, two in each step: a rank that was loaded once is compared three times. Returns
/// how many bits are left.
template <class Sum, class Bits>
[[gnu::always_inline]] inline int raise(Bits const* ranks, int count, int k, int bits, int steps,
                                        Reached<Bits>& best) {
  for (; bits > 0 && best.count > k && steps > 0; bits -= 2, --steps) {
    Bits const upper = static_cast<Bits>(Bits{1} << (bits - 1)),
               lower = static_cast<Bits>(upper / 2);
    Bits const higher[] = {static_cast<Bits>(best.rank | upper | lower),
                           static_cast<Bits>(best.rank | upper),
                           static_cast<Bits>(best.rank | lower)};
    int reaching[3];
    count_reaching<Sum>(ranks, count, higher, reaching);
    for (int h = 2; h >= 0; --h)
      if (reaching[h] >= k) best = {higher[h], reaching[h]};
  }
  return bits;
}

inline constexpr int least_narrowed = 128, most_narrowed = 16384;

/// The same for the upper 16 bits alone, of which a vector holds more.
template <class Bits>
[[gnu::always_inline]] inline int raise_narrowed(Bits const* ranks, int count, int k, int bits,
                                                 Reached<Bits>& best) {
  ThreadArray<std::uint16_t> const memory(count);
  std::uint16_t* const narrow = memory.get();
  int const width = bits < 16 ? bits : 16, left = bits - width;
  Bits const before = best.rank;
  for (int i = 0; i < count; ++i)
    narrow[i] = static_cast<std::uint16_t>(static_cast<Bits>(ranks[i] - before) >> left);
  Reached<std::uint16_t> found{0, count};
  raise<std::uint16_t>(narrow, count, k, width, width, found);
  best = {static_cast<Bits>(before | static_cast<Bits>(found.rank) << left), found.count};
  return left;
}

// It begins at the first bit in which ranks differ. If many reach the best so far after some steps, they may all be
// equal, or the least of them may be the k-th.
template <class Bits>
[[gnu::always_inline]] inline Reached<Bits> kth_plain(Bits const* ranks, int count, int k) {
  using Sum = std::conditional_t<sizeof(Bits) < sizeof(int), int, Bits>;
  constexpr int steps = 6;
  auto in = bounds_of(ranks, count);
  int bits = differing_bits(in);
  Reached<Bits> best{without_low(in.least, bits), count};
  bool const narrows = sizeof(Bits) > 2 && count >= least_narrowed && count <= most_narrowed;
  bits = narrows ? raise_narrowed(ranks, count, k, bits, best)
                 : raise<Sum>(ranks, count, k, bits, steps, best);
  while (bits > 0 && best.count > k) {
    in = bounds_in(ranks, count, {best.rank, static_cast<Bits>((Bits{1} << bits) - 1)});
    if (in.least == in.most || reaching_plain(ranks, count, static_cast<Bits>(in.least + 1)) < k)
      return {in.least, best.count};
    bits = differing_bits(in);
    best.rank = without_low(in.least, bits);
    bits = raise<Sum>(ranks, count, k, bits, steps, best);
  }
  return best;
}

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

/// The first or last of so many places for which is_it(place); there must be one.
template <bool Late, class IsIt>
[[gnu::always_inline]] inline int place_of(int count, IsIt const& is_it) {
  constexpr int chunk = 64;
  int done = 0;
  for (; done + chunk <= count; done += chunk) {
    int const first = Late ? count - done - chunk : done;
    std::uint8_t flags[chunk];
    for (int i = 0; i < chunk; ++i) flags[i] = is_it(first + i) ? 1 : 0;
    std::uint64_t const mask = pack_flags_of_64(flags);
    if (mask != 0) return first + (Late ? std::bit_width(mask) - 1 : std::countr_zero(mask));
  }
  int place = Late ? count - done - 1 : done;
  while (!is_it(place)) place += Late ? -1 : 1;
  return place;
}

/// The greatest of some ranks, the block of keys first .. end - 1 that holds it, and the least of the ranks.
template <class Bits>
struct BestBlock : Extremes<Bits> {
  int first = 0, end = 0;
};

// The best of a block is cheap to find, and only one block is examined again for its place.
template <bool Late, class Bits, class OrderedBitsOf>
[[gnu::always_inline]] inline BestBlock<Bits> find_best_block(
    Stored<Bits> const* keys, int count, bool from_memory, OrderedBitsOf const& ordered_bits_of) {
  constexpr int size = 512;
  bool const fetches = from_memory && gains_by_fetching_blocks();
  BestBlock<Bits> best;
  for (int first = 0; first < count; first += size) {
    int const end = count - first < size ? count : first + size;
    if (fetches) fetch_ahead<Bits, size>(keys + first);
    Extremes<Bits> here;
    for (int i = first; i < end; ++i) {
      Bits const rank = ordered_bits_of(keys[i]);
      here.most = rank > here.most ? rank : here.most;
      here.least = rank < here.least ? rank : here.least;
    }
    bool const is_better = Late ? here.most >= best.most : here.most > best.most;
    best.most = is_better ? here.most : best.most;
    best.first = is_better ? first : best.first;
    best.least = here.least < best.least ? here.least : best.least;
  }
  best.end = count - best.first < size ? count : best.first + size;
  return best;
}

/// The place of the first or last key of a block with its greatest rank.
template <bool Late, class Bits, class OrderedBitsOf>
[[gnu::always_inline]] inline int place_in(BestBlock<Bits> const& block, Stored<Bits> const* keys,
                                           OrderedBitsOf const& ordered_bits_of) {
  Stored<Bits> const* const from = keys + block.first;
  return block.first + place_of<Late>(block.end - block.first, [&](int i) {
           return ordered_bits_of(from[i]) == block.most;
         });
}

/// The place of the best of all keys by ordered_bits_of(key).
template <bool Late, class Bits, class OrderedBitsOf>
[[gnu::always_inline]] inline int best_by(Stored<Bits> const* keys, int count, bool from_memory,
                                          OrderedBitsOf const& ordered_bits_of) {
  auto const best = find_best_block<Late, Bits>(keys, count, from_memory, ordered_bits_of);
  return place_in<Late, Bits>(best, keys, ordered_bits_of);
}

/// The place of the best floating-point number by bits that have no regard to NaN and to the sign of zero; -1 if there is
/// NaN, or if a zero is the best.
template <bool Late, class Bits>
[[gnu::always_inline]] inline int best_number(Stored<Bits> const* keys, int count, bool from_memory,
                                              OrderedBitsMap<Bits> const& map) {
  auto const ordered = [&](Bits key) { return map.ordered(key); };
  auto const best = find_best_block<Late, Bits>(keys, count, from_memory, ordered);
  bool const are_numbers = map.is_number(best.least) && map.is_number(best.most);
  bool const is_zero = (map.key_of(best.most) & map.magnitude) == 0;
  return are_numbers && !is_zero ? place_in<Late, Bits>(best, keys, ordered) : -1;
}

template <bool Late, class Bits>
[[gnu::always_inline]] inline int best_place(Stored<Bits> const* keys, int count,
                                             OrderedBitsMap<Bits> const& rank, bool from_memory) {
  OrderedBitsMap<Bits> const map = rank;
  if (map.is_flip())
    return best_by<Late, Bits>(keys, count, from_memory,
                               [&](Bits key) { return map.flipped(key); });
  int const place = best_number<Late>(keys, count, from_memory, map);
  return place >= 0
             ? place
             : best_by<Late, Bits>(keys, count, from_memory, [&](Bits key) { return map(key); });
}

template <class Bits>
[[gnu::always_inline]] inline int best_plain(Stored<Bits> const* keys, int count,
                                             OrderedBitsMap<Bits> const& rank, bool late,
                                             bool from_memory) {
  return late ? best_place<true>(keys, count, rank, from_memory)
              : best_place<false>(keys, count, rank, from_memory);
}

/// Whether is_wrong(here, next) for any two neighbors. It reads little if some are found early.
template <class Bits, class IsWrong>
[[gnu::always_inline]] inline bool any_neighbors(Stored<Bits> const* keys, int count,
                                                 IsWrong const& is_wrong) {
  constexpr int chunk = 512;
  Bits any = 0;
  for (int first = 0; first + 1 < count && any == 0; first += chunk) {
    int const end = count - 1 - first < chunk ? count - 1 : first + chunk;
    for (int i = first; i < end; ++i)
      any = static_cast<Bits>(any | (is_wrong(keys[i], keys[i + 1]) ? 1 : 0));
  }
  return any != 0;
}

/// Whether the bits of keys rise or fall as those of the first and the last key do, so that none is beyond these.
template <class Bits>
[[gnu::always_inline]] inline bool are_bits_in_order(Stored<Bits> const* keys, int count) {
  if (keys[0] <= keys[count - 1])
    return !any_neighbors<Bits>(keys, count, [](Bits a, Bits b) { return b < a; });
  return !any_neighbors<Bits>(keys, count, [](Bits a, Bits b) { return b > a; });
}

/// Where the keys of the first key's sign end, if those of the last key's sign follow; from 1 to count - 1.
template <class Bits>
int end_of_sign(Stored<Bits> const* keys, int count) {
  auto const has_sign_of_first = [=](Bits key) {
    return static_cast<Bits>(key ^ keys[0]) >> (std::numeric_limits<Bits>::digits - 1) == 0;
  };
  if (has_sign_of_first(keys[count - 1])) return count;
  return first_place_behind(1, count - 1, [&](int i) { return has_sign_of_first(keys[i]); });
}

/// Prefetches the lines of a short row; otherwise a search would wait for one after the other.
template <class Bits>
[[gnu::always_inline]] inline void fetch_start(Stored<Bits> const* keys, int count) {
  constexpr int line = 64 / static_cast<int>(sizeof(Bits));
  int const end = count < filter_block ? count : filter_block;
  for (int i = 0; i < end; i += line) __builtin_prefetch(keys + i);
}

// Among keys of one sign, ranks rise or fall as bits do. NaNs that are in order are at the ends.
template <class Bits>
[[gnu::always_inline]] inline Monotonicity monotonicity_plain(Stored<Bits> const* keys, int count,
                                                              OrderedBitsMap<Bits> const& rank) {
  OrderedBitsMap<Bits> const map = rank;
  fetch_start<Bits>(keys, count);
  Bits const first = map.ordered(keys[0]), last = map.ordered(keys[count - 1]);
  if (!map.is_number(first) || !map.is_number(last)) return Monotonicity::none;
  Monotonicity const monotonicity = first > last ? Monotonicity::falls : Monotonicity::rises;
  int const sign_end = end_of_sign<Bits>(keys, count);
  if (map.is_by_magnitude() && sign_end != count) return Monotonicity::none;
  for (int begin = 0, end = sign_end; begin < count; begin = end, end = count) {
    Bits const from = map.ordered(keys[begin]), to = map.ordered(keys[end - 1]);
    bool const is_against = monotonicity == Monotonicity::falls ? from < to : from > to;
    if (is_against || !are_bits_in_order<Bits>(keys + begin, end - begin))
      return Monotonicity::none;
  }
  return monotonicity;
}

// It takes several keys of a class at a time, so that the best so far are seldom loaded and stored.
template <class Bits, class OrderedBitsOf>
[[gnu::always_inline]] inline void strided_maxima_by(Stored<Bits> const* keys, int count,
                                                     OrderedBitsOf const& ordered_bits_of,
                                                     int classes, Bits* best) {
  constexpr int rows = 4;
  Bits most[most_strided_maxima] = {};
  auto const better = [](Bits a, Bits b) { return a > b ? a : b; };
  int first = 0;
  for (; first + rows * classes <= count; first += rows * classes) {
    Stored<Bits> const *const one = keys + first, *const two = one + classes,
                              *const three = two + classes, *const four = three + classes;
    for (int c = 0; c < classes; ++c)
      most[c] =
          better(most[c], better(better(ordered_bits_of(one[c]), ordered_bits_of(two[c])),
                                 better(ordered_bits_of(three[c]), ordered_bits_of(four[c]))));
  }
  for (; first < count; first += classes)
    for (int c = 0; c < classes && first + c < count; ++c)
      most[c] = better(most[c], ordered_bits_of(keys[first + c]));
  for (int c = 0; c < classes; ++c) best[c] = most[c];
}

template <class Bits>
[[gnu::always_inline]] inline void strided_maxima_plain(Stored<Bits> const* keys, int count,
                                                        OrderedBitsMap<Bits> const& rank,
                                                        int classes, Bits* best) {
  OrderedBitsMap<Bits> const map = rank;
  if (map.is_flip())
    strided_maxima_by<Bits>(keys, count, [&](Bits key) { return map.flipped(key); }, classes, best);
  else
    strided_maxima_by<Bits>(keys, count, [&](Bits key) { return map(key); }, classes, best);
}

KTOPK_HOST_FILTERS(BaselineFilters, , PlainChunk)
#if defined(KTOPK_HOST_TARGETS)
KTOPK_HOST_FILTERS(Avx2Filters, KTOPK_AVX2, Avx2Chunk)
KTOPK_HOST_FILTERS(Avx512Filters, KTOPK_AVX512, PlainChunk)
KTOPK_HOST_FILTERS(Vbmi2Filters, KTOPK_VBMI2, Vbmi2Chunk)
#endif
#undef KTOPK_HOST_FILTERS

template <class Target, class Filters, class Bits>
HostLoops<Bits> loops_for() {
  return {gains_by_fetching() ? filter<Filters, true, Bits> : filter<Filters, false, Bits>,
          filter_streams<Filters, Bits>,
          Target::template run<digits_plain<Bits>>,
          Target::template run<ranks_plain<Bits>>,
          Target::template run<kth_plain<Bits>>,
          Target::template run<slots_plain<Bits>>,
          Target::template run<reaching_plain<Bits>>,
          Target::template run<best_plain<Bits>>,
          Target::template run<monotonicity_plain<Bits>>,
          Target::template run<strided_maxima_plain<Bits>>,
          gains_by_streams()};
}

template <class Bits>
std::vector<HostLoops<Bits>> all_host_loops() {
  std::vector<HostLoops<Bits>> all{loops_for<BaselineTarget, BaselineFilters, Bits>()};
#if defined(KTOPK_HOST_TARGETS)
  if (runs_avx2()) all.push_back(loops_for<Avx2Target, Avx2Filters, Bits>());
  if (runs_avx512()) all.push_back(loops_for<Avx512Target, Avx512Filters, Bits>());
  if (runs_vbmi2()) all.push_back(loops_for<Avx512Target, Vbmi2Filters, Bits>());
#endif
  return all;
}

template <class Bits>
HostLoops<Bits> pick_host_loops() {
#if defined(KTOPK_HOST_TARGETS)
  if (runs_vbmi2()) return loops_for<Avx512Target, Vbmi2Filters, Bits>();
  if (runs_avx512()) return loops_for<Avx512Target, Avx512Filters, Bits>();
  if (runs_avx2()) return loops_for<Avx2Target, Avx2Filters, Bits>();
#endif
  return loops_for<BaselineTarget, BaselineFilters, Bits>();
}

#if !defined(KTOPK_HEADER_ONLY)
#define KTOPK_LOOPS_FOR(Bits)                             \
  template std::vector<HostLoops<Bits>> all_host_loops(); \
  template HostLoops<Bits> pick_host_loops();
KTOPK_LOOPS_FOR(std::uint8_t)
KTOPK_LOOPS_FOR(std::uint16_t)
KTOPK_LOOPS_FOR(std::uint32_t)
KTOPK_LOOPS_FOR(std::uint64_t)
#undef KTOPK_LOOPS_FOR
#endif

}  // namespace ktopk::detail
