// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "radix.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <utility>

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../instantiate.hpp"
#include "../short_rows.hpp"
#include "radix_passes.hpp"

namespace ktopk::detail {

/// What a group shares: a histogram, then the sums of slices with a flag, then the buffers of two
/// Appenders. A sample lies there before them.
inline constexpr int radix_sums_bytes = (team_size + 2) * static_cast<int>(sizeof(std::int64_t));
template <class Item>
int radix_shared_bytes(int digit_bits) {
  return (static_cast<int>(sizeof(unsigned)) << digit_bits) + radix_sums_bytes +
         2 * appender_bytes<Item>();
}

template <class Source, class Bits, class Item>
struct RadixSelection {
  Source source;
  RadixScratch<Item> scratch;
  WinnerSink<Bits, Item> sink;

  KOKKOS_FUNCTION int bins() const { return 1 << scratch.digit_bits; }

  /// As many keys are read in the time in which a bin is added to that of the other groups.
  static constexpr std::int64_t keys_worth_a_merge = 8;

  /// Has no more bins than are worth their while where a group reads so many items.
  void suit_digits(std::int64_t items) {
    scratch.digit_bits = std::min(scratch.digit_bits, scratch.digit_bits_for(items));
  }

  /// Whether groups share the row.
  KOKKOS_FUNCTION bool is_shared(std::int64_t row) const {
    return source.size(row) >= scratch.shared_from;
  }

  /// Together: the state of a row before its first pass. `shared` holds most_samples + 1 items.
  template <class Group>
  KOKKOS_FUNCTION void begin(Group const& group, std::int64_t row, void* shared) const {
    RadixRow<Item>& state = scratch.row_states[row];
    if (group.rank() == 0) start(state, row);
    group.barrier();
    if (!state.settled && is_worth_a_sample(state))
      aim(group, state, row, static_cast<Sample*>(shared));
    group.barrier();
  }

  KOKKOS_FUNCTION bool is_worth_a_sample(RadixRow<Item> const& state) const {
    bool const is_wide = 8 * static_cast<int>(sizeof(Sample)) > scratch.digit_bits;
    return state.left >= least_sampled && is_wide;
  }

  /// What a digit is aimed by: of keys the rank, of items in a list the whole.
  static constexpr bool aims_by_rank = Source::Reader::reads_keys;
  using Sample = std::conditional_t<aims_by_rank, Bits, Item>;
  KOKKOS_FUNCTION Sample sample_of(Item item) const {
    if constexpr (aims_by_rank)
      return sink.map.rank_of(item);
    else
      return item;
  }
  KOKKOS_FUNCTION int bits_below_sample() const {
    return aims_by_rank ? sink.map.position_bits : 0;
  }

  static constexpr int block_bits = std::countr_zero(static_cast<unsigned>(filter_block));
  static constexpr int most_samples = team_size;
  static constexpr int most_samples_alone = 4096;
  static constexpr std::int64_t least_sampled = 2048;

  KOKKOS_FUNCTION void start(RadixRow<Item>& state, std::int64_t row) const {
    bool const active = source.active(row);
    std::int64_t const size = active ? source.size(row) : 0;
    std::int64_t const need = active ? source.wanted(row) : 0;
    Bounds<Item> const bounds = active ? source.bounds(row) : Bounds<Item>{0, ~Item{0}};
    Item const places = static_cast<Item>(sink.map.position_mask);
    Item const greatest = sink.map.join(std::numeric_limits<Bits>::max(), 0) | places;
    Item const most = bounds.most < greatest ? bounds.most : greatest;
    bool const all = need == 0 || need >= size;
    Item const least = all ? Item{0} : bounds.least & ~places;
    auto const written = static_cast<Count64>(active ? source.problem.winners(row) - need : 0);
    state = {least, most | places, 0, 0, all, false, false, need, size, 0, 0, 0, written};
    next_digit(state);
  }

  /// Lays the first digit around the samples between which the k-th should lie. RadiK 4.3 subtracts a
  /// sample from the keys, which rounds; from ranks it does not, and what the sample knows nothing of is
  /// in one of the outer bins.
  template <class Group>
  KOKKOS_FUNCTION void aim(Group const& group, RadixRow<Item>& state, std::int64_t row,
                           Sample* samples) const {
    if constexpr (Group::is_host && aims_by_rank) {
      KOKKOS_IF_ON_HOST((aim_alone(group, state, row);))
      return;
    }
    std::int64_t const size = state.left;
    int const count = static_cast<int>(size / 64 < most_samples ? size / 64 : most_samples);
    auto const read = source.reader(row);
    Strata const strata(size, count);
    each(group, 0, count, [&](std::int64_t i) { samples[i] = sample_of(read(strata.place(i))); });
    group.barrier();
    lay_around(group, state, samples, count);
  }

  /// The same among those of a host's keys that are left, of which a larger sample is cheap.
  template <class Group>
  void aim_alone(Group const& group, RadixRow<Item>& state, std::int64_t row) const {
    Sample samples[most_samples_alone];
    std::int64_t const size = source.size(row);
    auto const many = std::min<std::int64_t>(size / 128, most_samples_alone);
    auto const looks =
        static_cast<int>(std::max(many, std::min<std::int64_t>(size / 64, most_samples)));
    auto const read = source.reader(row);
    Strata const strata(size, looks);
    int count = 0;
    for (int i = 0; i < looks; ++i) {
      Item const item = read(strata.place(i));
      samples[count] = sample_of(item);
      count += item >= state.floor && item <= state.ceiling;
    }
    if (count > 0) lay_around(group, state, samples, count);
  }

  /// Where a pass has left most of a host's keys, as of a row whose few others spread the first digit.
  template <class Group>
  void aim_again(Group const& group, RadixRow<Item>& state, std::int64_t row) const {
    bool const is_coarse = !state.settled && !state.in_buffer && !is_one_rank(state) &&
                           state.left > source.size(row) / 2;
    if (!is_coarse || state.aimed_again || !is_worth_a_sample(state)) return;
    state.aimed_again = true;
    aim_alone(group, state, row);
  }

  /// Together.
  template <class Group>
  KOKKOS_FUNCTION void lay_around(Group const& group, RadixRow<Item>& state, Sample* samples,
                                  int count) const {
    double const share = static_cast<double>(state.need) / static_cast<double>(state.left);
    double const expected = share * count;
    auto const margin = 4 + static_cast<int>(4 * Kokkos::sqrt(expected * (1 - share)));
    int const first = static_cast<int>(expected) - margin,
              last = static_cast<int>(expected) + margin;
    Sample const upper = ordered(group, samples, count, first > 0 ? first : 0);
    Sample const lower = ordered(group, samples, count, last < count ? last : count - 1);
    if (group.rank() == 0) lay_digit(state, beyond(lower, upper, first <= 0, last >= count - 1));
  }

  struct Interval {
    Sample least, most;
  };

  /// A k-th beyond the sample's ends is expected no further off than four times what is between.
  KOKKOS_FUNCTION static Interval beyond(Sample least, Sample most, bool above, bool below) {
    constexpr auto greatest = static_cast<Sample>(~Sample{0});
    auto const width = static_cast<Sample>(most - least);
    auto const further = static_cast<Sample>(width < greatest / 4 ? 4 * width : greatest);
    auto const room = static_cast<Sample>(greatest - most);
    Sample const up = above ? (further < room ? further : room) : Sample{0};
    Sample const down = below ? (further < least ? further : least) : Sample{0};
    return {static_cast<Sample>(least - down), static_cast<Sample>(most + up)};
  }

  /// The interval fills the inner bins.
  KOKKOS_FUNCTION void lay_digit(RadixRow<Item>& state, Interval around) const {
    Item const width = static_cast<Sample>(around.most - around.least);
    int const bits = bit_width(width);
    int shift = bits > scratch.digit_bits ? bits - scratch.digit_bits : 0;
    if ((width >> shift) + 3 > static_cast<Item>(bins())) ++shift;
    Item const bin = Item{1} << shift, least = around.least;
    state.base = (least > bin ? least - bin : Item{0}) << bits_below_sample();
    state.shift = shift + bits_below_sample();
  }

  /// The sample that `place` others come before; a host's may be a rank that as many samples reach.
  template <class Group>
  KOKKOS_FUNCTION Sample ordered(Group const& group, Sample* samples, int count, int place) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((return ordered_alone(samples, count, place);))
      KOKKOS_IF_ON_DEVICE((return Sample{0};))
    } else {
      each(group, 0, count, [&](std::int64_t i) {
        int before = 0;
        for (int j = 0; j < count; ++j)
          before += samples[j] > samples[i] || (samples[j] == samples[i] && j < i);
        if (before == place) samples[most_samples] = samples[i];
      });
      group.barrier();
      Sample const found = samples[most_samples];
      group.barrier();
      return found;
    }
  }
  Sample ordered_alone(Sample* samples, int count, int place) const {
    if constexpr (aims_by_rank) return source.loops.kth(samples, count, place + 1).rank;
    std::nth_element(samples, samples + place, samples + count, std::greater<Sample>());
    return samples[place];
  }

  /// Of an item of at most 128 bits.
  KOKKOS_FUNCTION static int bit_width(Item item) {
    auto const low = static_cast<std::uint64_t>(item);
    if constexpr (sizeof(Item) > sizeof(std::uint64_t)) {
      auto const high = static_cast<std::uint64_t>(item >> 64);
      if (high != 0) return 128 - Kokkos::countl_zero(high);
    }
    return 64 - Kokkos::countl_zero(low);
  }

  /// Where the row's part of the buffer begins, and how much of it there is.
  KOKKOS_FUNCTION Range buffer_of(std::int64_t row) const {
    if (scratch.buffer == nullptr) return {0, 0};
    std::int64_t const first = source.first(row);
    constexpr std::int64_t share = RadixScratch<Item>::buffer_share;
    return {first / share, (first + source.size(row)) / share};
  }

  /// The digit that cuts floor .. ceiling. Of keys none holds bits of both rank and position.
  KOKKOS_FUNCTION void next_digit(RadixRow<Item>& state) const {
    int const bits = bit_width(state.ceiling - state.floor);
    state.base = state.floor;
    bool many_equal = false;
    KOKKOS_IF_ON_HOST((many_equal = aims_by_rank && state.left >= filter_block;))
    state.shift = next_low(bits, many_equal);
  }
  /// Where a host looks for one of many equal keys, a digit of their positions ends no lower than blocks do, so that
  /// whole blocks are counted.
  KOKKOS_FUNCTION int next_low(int low, bool many_equal) const {
    int const ranks_end = bits_below_sample();
    int const least = low > ranks_end ? ranks_end : many_equal && low > block_bits ? block_bits : 0;
    return low - least > scratch.digit_bits ? low - scratch.digit_bits : least;
  }

  /// As many as there are digits, and those that were aimed in vain.
  int most_passes(bool on_host) const {
    int passes = on_host ? 2 : 1;
    for (int low = sink.map.width(); low > 0; low = next_low(low, on_host && aims_by_rank))
      ++passes;
    return passes;
  }

  KOKKOS_FORCEINLINE_FUNCTION static unsigned digit_of(Item item, Item base, int shift,
                                                       unsigned last) {
    Item const place = item > base ? (item - base) >> shift : Item{0};
    return place < last ? static_cast<unsigned>(place) : last;
  }

  /// Histograms the digit of the items of floor .. ceiling; `all` tells that those are all items. A
  /// team's threads count the outer bins, the fullest of a digit that was aimed, each for itself.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, RadixRow<Item> const& state, Reader const& read,
                             Range range, bool all, unsigned* histogram) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((count_alone(state, read.scan(), range, all, histogram);))
      return;
    }
    Item const floor = state.floor, span = state.ceiling - floor, base = state.base;
    int const shift = state.shift;
    unsigned const last = static_cast<unsigned>(bins() - 1);
    std::int64_t const lead = read.lead(range.begin);
    unsigned below = 0, above = 0;
    each(group, range.begin - lead, range.end, [&](std::int64_t i) {
      if (i < range.begin) return;
      Item const item = read(i);
      if (!all && item - floor > span) return;  // one test, that few pass: two would be a toss each
      unsigned const digit = digit_of(item, base, shift, last);
      if (digit == 0)
        ++below;
      else if (digit == last)
        ++above;
      else
        group.fetch_add(&histogram[digit], 1u);
    });
    if (below != 0) group.fetch_add(&histogram[0], below);
    if (above != 0) group.fetch_add(&histogram[last], above);
  }

  /// The same of a host's list.
  void count_alone(RadixRow<Item> const& state, ListScan<Item> const& scan, Range range, bool all,
                   unsigned* histogram) const {
    RankDigits<Item> const digit{state.base, state.shift, static_cast<unsigned>(bins() - 1)};
    if (all)
      scan.count_digits(range.begin, range.end, digit, histogram);
    else
      scan.visit_edge(range.begin, range.end, state.floor, state.ceiling,
                      [&](Item item) { ++histogram[digit(item)]; });
  }

  /// The same on a host's keys.
  void count_alone(RadixRow<Item> const& state, KeyScan<Bits, Item> const& scan, Range range,
                   bool all, unsigned* histogram) const {
    auto const last = static_cast<unsigned>(bins() - 1);
    if (counts_places(state)) return count_places(state, scan, range, histogram);
    if (state.shift >= sink.map.position_bits) {
      RankDigits<Bits> const digit{sink.map.rank_of(state.base),
                                   state.shift - sink.map.position_bits, last};
      if (all) return scan.count_digits(range.begin, range.end, digit, histogram);
      Bits const least = sink.map.rank_of(state.floor), most = sink.map.rank_of(state.ceiling);
      return scan.count_digits_in(range.begin, range.end, digit,
                                  {least, static_cast<Bits>(most - least)}, histogram);
    }
    scan.visit_edge(range.begin, range.end, state.floor, state.ceiling, [&](Item item) {
      if (item >= state.floor && item <= state.ceiling)
        ++histogram[digit_of(item, state.base, state.shift, last)];
    });
  }

  /// The same where all that may win is of one rank.
  void count_places(RadixRow<Item> const& state, KeyScan<Bits, Item> const& scan, Range range,
                    unsigned* histogram) const {
    auto const last = static_cast<unsigned>(bins() - 1);
    Bits const rank = sink.map.rank_of(state.floor);
    Range const left = places_left(state, range);
    scan.count_places(left.begin, left.end, rank, state.shift, [&](std::int64_t i, int found) {
      Item const item = sink.map.join(rank, static_cast<std::uint64_t>(i));
      if (item >= state.floor && item <= state.ceiling)
        histogram[digit_of(item, state.base, state.shift, last)] += static_cast<unsigned>(found);
    });
  }

  /// Of a range of positions those of floor .. ceiling, which have one rank.
  Range places_left(RadixRow<Item> const& state, Range range) const {
    auto const one = static_cast<std::int64_t>(sink.map.position(state.floor));
    auto const other = static_cast<std::int64_t>(sink.map.position(state.ceiling));
    std::int64_t const begin = std::max(range.begin, std::min(one, other));
    return {begin, std::max(begin, std::min(range.end, std::max(one, other) + 1))};
  }

  KOKKOS_FUNCTION bool is_one_rank(RadixRow<Item> const& state) const {
    return sink.map.rank_of(state.floor) == sink.map.rank_of(state.ceiling);
  }
  /// Whether only equal keys are left, so many that a host counts them faster where they stand, by SIMD,
  /// than it writes and reads items.
  KOKKOS_FUNCTION bool counts_places(RadixRow<Item> const& state) const {
    return is_one_rank(state) && (std::int64_t{1} << state.shift) >= filter_block;
  }

  /// The same, and in the same read writes what has won and buffers what may still win.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, RadixRow<Item>& state, Reader const& read,
                              Range range, unsigned* histogram, std::int64_t row) const {
    Item const floor = state.floor, ceiling = state.ceiling, span = ceiling - floor;
    Item const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(bins() - 1);
    Range const room = buffer_of(row);
    Appender<Item, Group> buffer(group, append_memory(group, 0), {scratch.buffer + room.begin},
                                 &state.filled, room.end - room.begin);
    Appender<Item, Group, PutWinner<Bits, Item>> winner(
        group, append_memory(group, 1), {sink, row}, &state.emitted, source.problem.winners(row));
    auto const visit = [&](Item item) {
      winner.add_if(item > ceiling, item);
      if (item - floor > span) return;
      buffer.add_if(true, item);
      group.fetch_add(&histogram[digit_of(item, base, shift, last)], 1u);
    };
    read_from(group, state, read, range, row, ceiling, visit,
              [&] { flush_fuller(group, buffer, winner); });
    buffer.flush();
    winner.flush();
  }

  /// Memory of one of two Appenders, behind a histogram, sums and a flag.
  template <class Group>
  KOKKOS_FUNCTION std::byte* append_memory(Group const& group, int which) const {
    return group.template shared<std::byte>(sizeof(unsigned) * bins() + radix_sums_bytes +
                                            which * appender_bytes<Item>());
  }

  /// Calls visit(item) for every item from the floor upwards, and maybe for others; a host puts what is
  /// surely above `ceiling` into the sink instead, by whole blocks. settle() ends each stride of a team.
  template <class Group, class Reader, class Visit, class Settle>
  KOKKOS_FUNCTION void read_from(Group const& group, [[maybe_unused]] RadixRow<Item>& state,
                                 Reader const& read, Range range, [[maybe_unused]] std::int64_t row,
                                 [[maybe_unused]] Item ceiling, Visit const& visit,
                                 Settle const& settle) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((read.scan().split(
          range.begin, range.end, state.floor, ceiling, visit,
          [&](auto const* from, std::uint16_t const* hits, int found, auto... first) {
            put_hits(state, row, from, hits, found, first...);
          });))
    } else {
      each_together(group, range, read.lead(range.begin), read, visit, settle);
    }
  }

  template <class From, class... First>
  void put_hits(RadixRow<Item>& state, std::int64_t row, From const* from,
                std::uint16_t const* hits, int found, First... first) const {
    Count64 const slot = Kokkos::atomic_fetch_add(&state.emitted, static_cast<Count64>(found));
    sink.put_hits(row, static_cast<std::int64_t>(slot), from, hits, found, first...);
    tally(Count::flushes, 1);
  }

  /// Whether the pass also moves what may still win to the buffer.
  template <class Group>
  KOKKOS_FUNCTION bool filters(Group const&, RadixRow<Item> const& state, std::int64_t row) const {
    if (Group::is_host && Source::Reader::reads_keys && counts_places(state)) return false;
    Range const room = buffer_of(row);
    return !state.in_buffer && state.left < source.size(row) && state.left <= room.end - room.begin;
  }

  /// How many keys behind a line of memory the row begins. A team's pieces begin where lines do.
  template <class Group, class Reader>
  KOKKOS_FUNCTION static std::int64_t lead_of(Group const&, Reader const& read) {
    return Group::is_host ? 0 : read.lead(0);
  }

  /// What a pass has to read of a row.
  template <class Group>
  KOKKOS_FUNCTION std::int64_t lines_left(Group const& group, std::int64_t row) const {
    RadixRow<Item> const& state = scratch.row_states[row];
    if (state.in_buffer) return lines_of(static_cast<std::int64_t>(state.filled));
    return lines_of(source.size(row) + lead_of(group, source.reader(row)));
  }

  template <class Group>
  KOKKOS_FUNCTION static void tally_read(Group const& group, Count what, Range range) {
    if (group.rank() == 0) tally(what, range.end - range.begin);
  }
  static constexpr Count source_reads =
      decltype(std::declval<Source const&>().reader(0))::reads_keys ? Count::keys_read
                                                                    : Count::items_read;

  template <class Group>
  KOKKOS_FUNCTION void count_part(Group const& group, RadixRow<Item>& state,
                                  RadixPiece const& piece, unsigned* histogram) const {
    std::int64_t const row = piece.row;
    if (state.in_buffer) {
      typename ListReader::Reader const read{scratch.buffer + buffer_of(row).begin};
      Range const held = keys_in(piece.lines, static_cast<std::int64_t>(state.filled), 0);
      bool const all = state.left == static_cast<std::int64_t>(state.filled);
      count(group, state, read, held, all, histogram);
      tally_read(group, Count::items_read, held);
      return;
    }
    auto const read = source.reader(row);
    Range const range = keys_in(piece.lines, source.size(row), lead_of(group, read));
    tally_read(group, source_reads, range);
    if (filters(group, state, row))
      filter(group, state, read, range, histogram, row);
    else
      count(group, state, read, range, state.left == source.size(row), histogram);
  }

  /// Finds the digit of the k-th item in the histogram and settles it.
  template <class Group, class Count>
  KOKKOS_FUNCTION void choose(Group const& group, RadixRow<Item>& state, Count const* histogram,
                              bool filtered, std::int64_t row, std::int64_t* sums) const {
    int const digits = bins();
    int const slice = (digits + group.size() - 1) / group.size();
    std::int64_t sum = 0;
    for (int d = group.rank() * slice; d < (group.rank() + 1) * slice && d < digits; ++d)
      sum += static_cast<std::int64_t>(histogram[digits - 1 - d]);
    sums[group.rank()] = sum;
    group.barrier();
    if (group.rank() == 0) {
      std::int64_t above = 0;
      int s = 0;
      while (above + sums[s] < state.need) above += sums[s++];
      int d = s * slice;
      std::int64_t here = static_cast<std::int64_t>(histogram[digits - 1 - d]);
      while (above + here < state.need) {
        above += here;
        here = static_cast<std::int64_t>(histogram[digits - 1 - ++d]);
      }
      state.need -= above;
      state.left = here;
      keep_bin(state, digits - 1 - d);
      state.settled = state.left == state.need;
      if constexpr (Source::Reader::reads_keys)
        if (!state.in_buffer && state.left == source.size(row) && is_one_rank(state))
          settle_equal(state, state.left);
      tally(detail::Count::passes, 1);
      if (filtered) tally(detail::Count::items_written, static_cast<std::int64_t>(state.filled));
      state.in_buffer = state.in_buffer || filtered;
      if constexpr (Group::is_host) {
        KOKKOS_IF_ON_HOST((finish_alone(state, row);))
        if constexpr (aims_by_rank)
          KOKKOS_IF_ON_HOST((settle_tie(state, row); aim_again(group, state, row);))
      }
    }
    group.barrier();
  }

  /// Few items in the buffer are ordered in less time than it takes to launch a pass.
  void finish_alone(RadixRow<Item>& state, std::int64_t row) const {
    constexpr std::int64_t most = 2048;
    auto const filled = static_cast<std::int64_t>(state.filled);
    if (state.settled || !state.in_buffer || state.left > most || filled > 8 * most) return;
    Item const *const begin = scratch.buffer + buffer_of(row).begin, *const end = begin + filled;
    alignas(64) Item items[most];
    auto const is_left = [&](Item item) { return item >= state.floor && item <= state.ceiling; };
    auto const count = static_cast<int>(std::copy_if(begin, end, items, is_left) - items);
    settle_at(state, best_of(items, count, static_cast<int>(state.need)));
  }
  /// The k-th best of items that are all distinct, of which the order is lost.
  static Item best_of(Item* items, int count, int k) {
    if constexpr (ListScan<Item>::by_loops) {
      return pick_host_loops<Item>().kth(items, count, k).rank;
    } else {
      std::nth_element(items, items + k - 1, items + count, std::greater<Item>());
      return items[k - 1];
    }
  }

  /// The interval of a bin; of the outer bins, what is left on their side.
  KOKKOS_FUNCTION void keep_bin(RadixRow<Item>& state, int bin) const {
    Item const from = state.base + (static_cast<Item>(bin) << state.shift);
    Item const span = (Item{1} << state.shift) - 1;
    if (bin < bins() - 1 && state.ceiling - from > span) state.ceiling = from + span;
    if (bin > 0) state.floor = from;
    next_digit(state);
  }

  /// The k-th is known.
  KOKKOS_FUNCTION static void settle_at(RadixRow<Item>& state, Item kth) {
    state.floor = kth;
    state.left = state.need;
    state.settled = true;
  }

  /// All keys of the row are equal, so that the k-th is known by its position.
  KOKKOS_FUNCTION void settle_equal(RadixRow<Item>& state, std::int64_t size) const {
    std::int64_t const position = sink.map.flip != 0 ? state.need - 1 : size - state.need;
    settle_at(state,
              sink.map.join(sink.map.rank_of(state.floor), static_cast<std::uint64_t>(position)));
  }

  /// The same of keys that share a rank, where few have to be looked at until the k-th is found.
  void settle_tie(RadixRow<Item>& state, std::int64_t row) const {
    constexpr std::int64_t most = 32'768;
    if (state.settled || state.in_buffer || !is_one_rank(state)) return;
    Range const places = places_left(state, {0, source.size(row)});
    std::int64_t const length = places.end - places.begin;
    double const share = static_cast<double>(state.need) / static_cast<double>(state.left);
    if (share * static_cast<double>(length) > static_cast<double>(most)) return;
    bool const from_end = sink.map.flip == 0;
    std::int64_t const looks = std::min(2 * most, length);
    std::int64_t const begin = from_end ? places.end - looks : places.begin;
    Bits const rank = sink.map.rank_of(state.floor);
    std::int64_t const place =
        source.reader(row).scan().place_of_tie(begin, begin + looks, rank, state.need, from_end);
    if (place >= 0) settle_at(state, sink.map.join(rank, static_cast<std::uint64_t>(place)));
  }

  /// Writes every item from the threshold upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather_from(Group const& group, RadixRow<Item>& state, Reader const& read,
                                   Range range, std::int64_t row) const {
    if constexpr (Group::is_host && !Reader::reads_keys) {
      KOKKOS_IF_ON_HOST((gather_list(state, read.scan(), range, row);))
      return;
    }
    Item const threshold = state.floor;
    Appender<Item, Group, PutWinner<Bits, Item>> winner(
        group, append_memory(group, 0), {sink, row}, &state.emitted, source.problem.winners(row));
    read_from(
        group, state, read, range, row, threshold,
        [&](Item item) { winner.add_if(item >= threshold, item); },
        [&] { flush_fuller(group, winner); });
    winner.flush();
  }

  void gather_list(RadixRow<Item>& state, ListScan<Item> const& scan, Range range,
                   std::int64_t row) const {
    scan.pack_reaching(range.begin, range.end, state.floor, [&](Item const* winners, int found) {
      Count64 const slot = Kokkos::atomic_fetch_add(&state.emitted, static_cast<Count64>(found));
      sink.put_items(row, static_cast<std::int64_t>(slot), winners, found);
      tally(Count::flushes, 1);
    });
  }

  template <class Group>
  KOKKOS_FUNCTION void gather_part(Group const& group, RadixPiece const& piece) const {
    std::int64_t const row = piece.row;
    RadixRow<Item>& state = scratch.row_states[row];
    if (state.need == 0) return;
    if (state.in_buffer) {
      typename ListReader::Reader const read{scratch.buffer + buffer_of(row).begin};
      Range const held = keys_in(piece.lines, static_cast<std::int64_t>(state.filled), 0);
      gather_from(group, state, read, held, row);
      tally_read(group, Count::items_read, held);
    } else {
      auto const read = source.reader(row);
      Range const range = keys_in(piece.lines, source.size(row), lead_of(group, read));
      gather_from(group, state, read, range, row);
      tally_read(group, source_reads, range);
    }
    if (group.rank() == 0 && piece.lines.begin == 0) tally(Count::passes, 1);
  }

  /// A row of keys that a host's thread does at once; false where it is too long or the source has none.
  bool select_short(std::int64_t row) const {
    if constexpr (Source::Reader::reads_keys) {
      std::int64_t const size = source.size(row);
      if (size > longest_row_in_cache) return false;
      auto const k = static_cast<int>(source.active(row) ? source.wanted(row) : 0);
      if (k == 0) return true;
      return ShortRows<Bits, Item>{sink, source.loops, Sorted::no}.put(row, size, k);
    }
    return false;
  }

  using ListReader = ListSource<std::uint8_t, Item>;
};

/// Whether no row is left for a pass, where the host may know.
template <class Exec, class Item>
bool all_settled(RadixScratch<Item> const& scratch, RadixTaskList const& list) {
  if constexpr (runs_at_once<Exec>)
    return scratch.rows == 1 ? scratch.row_states[0].settled : list.empty();
  else
    return false;
}

template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  WinnerSink<Bits, Item> const& sink) {
  if constexpr (runs_at_once<Exec>)
    if (!any_active(source, scratch.rows)) return;
  using Selection = RadixSelection<Source, Bits, Item>;
  Selection selection{source, scratch, sink};
  if constexpr (runs_at_once<Exec>)
    if (scratch.rows == 1)
      selection.suit_digits(source.size(0) / scratch.parts / Selection::keys_worth_a_merge);
  RadixSchedule const& schedule = scratch.schedule;
  RadixTaskList const gather = schedule.of_gather();
  int const shared = radix_shared_bytes<Item>(selection.scratch.digit_bits);
  if (schedule.capacity > 0) schedule.clear(exec);
  launch("ktopk::radix::row", exec, scratch.row_groups, shared,
         RadixRows<Selection>{selection, {schedule.of_pass(0), gather}});
  if (scratch.shared_rows == 0) return;
  for (int pass = 0; pass < selection.most_passes(is_host_space<Exec>); ++pass) {
    RadixTaskList const list = schedule.of_pass(pass);
    if (all_settled<Exec>(scratch, list)) break;
    launch("ktopk::radix::digit", exec, scratch.groups(), shared,
           RadixPass<Selection>{selection, list, {schedule.of_pass(pass + 1), gather}});
  }
  if constexpr (runs_at_once<Exec>)
    if (scratch.rows > 1 && gather.empty()) return;
  launch("ktopk::radix::gather", exec, scratch.groups(), shared,
         RadixGather<Selection>{selection, gather});
}

template <class Item>
struct RadixPieces {
  RadixPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace), winners(pieces, shape, options), scratch(pieces, device, shape, true) {}
  Pieces pieces;
  Winners<Item> winners;
  RadixScratch<Item> scratch;
};

KTOPK_INLINE std::size_t Radix<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                         Options const& options) {
  if (are_short_rows(device, shape)) return 0;
  return bytes_of<RadixPieces>(device, shape, options);
}

template <class Exec, class Bits>
void Radix<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                         void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    if (are_short_rows(device_of(exec), problem.shape)) {
      launch(
          "ktopk::radix::short_rows", exec, problem.shape.rows, 0,
          ShortRows<Bits, Item>{{problem, map, nullptr}, pick_host_loops<Bits>(), options.sorted});
      return;
    }
    RadixPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
    radix_select(exec, KeySource<Bits, Item>{problem, map, nullptr, pick_host_loops<Bits>()},
                 work.scratch, WinnerSink<Bits, Item>{problem, map, work.winners.items});
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_RADIX_SELECT(Space, Bits, Item)                                           \
  template void radix_select(Space const&, KeySource<Bits, Item> const&,                \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&); \
  template void radix_select(Space const&, ListSource<Bits, Item> const&,               \
                             RadixScratch<Item> const&, WinnerSink<Bits, Item> const&);
#define KTOPK_RADIX(Space)            \
  KTOPK_RUN_ON(Radix<Generic>, Space) \
  KTOPK_FOR_EACH_ITEM(KTOPK_RADIX_SELECT, Space)
KTOPK_INSTANTIATE(KTOPK_RADIX)
#undef KTOPK_RADIX
#undef KTOPK_RADIX_SELECT

static_assert(Room<Radix<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
