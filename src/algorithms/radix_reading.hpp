// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../group.hpp"
#include "../host_scan.hpp"
#include "radix_digits.hpp"

// What a group does with part of a row in a pass of radix: it counts digits, or in the same read moves what
// may still win to a buffer and what has won to the winners (AIR Top-K, Zhang et al., SC '23, 3.2), or
// takes all that reach a threshold.

namespace ktopk::detail {

/// What a group shares: a histogram, then the sums of slices with a flag, then the buffers of two
/// Appenders, then the counts of rows that are too long for those of the histogram. A sample lies there before them.
inline constexpr int radix_sums_bytes = (team_size + 2) * static_cast<int>(sizeof(std::int64_t));
template <class Item>
KOKKOS_FUNCTION constexpr int radix_totals_begin(int digit_bits) {
  return (static_cast<int>(sizeof(unsigned)) << digit_bits) + radix_sums_bytes +
         2 * appender_bytes<Item>();
}
template <class Item>
int radix_shared_bytes(RadixScratch<Item> const& scratch) {
  int const totals =
      scratch.has_totals ? static_cast<int>(sizeof(Count64)) << scratch.digit_bits : 0;
  return radix_totals_begin<Item>(scratch.digit_bits) + totals;
}

/// The items of a row that the buffer holds, and how many it could.
template <class Item>
struct RadixBuffer {
  Item* items;
  std::int64_t capacity;
};

template <class Bits, class Item, bool OfKeys>
struct RadixReading {
  RadixRow<Item>& state;
  std::int64_t row, winners;
  RadixDigits<Bits, Item, OfKeys> digits;
  WinnerSink<Bits, Item> const& sink;

  /// Histograms the digit of the items of floor .. ceiling; `all` tells that those are all items. A
  /// team's threads count the outer bins, the fullest of a digit that was aimed, each for itself.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, Reader const& read, Range range, bool all,
                             unsigned* histogram) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((count_alone(read.scan(), range, all, histogram);))
      return;
    }
    Item const floor = state.floor, span = state.ceiling - floor, base = state.base;
    int const shift = state.shift;
    unsigned const last = static_cast<unsigned>(digits.bins() - 1);
    std::int64_t const lead = read.lead(range.begin);
    unsigned below = 0, above = 0;
    each(group, range.begin - lead, range.end, [&](std::int64_t i) {
      if (i < range.begin) return;
      Item const item = read(i);
      if (!all && item - floor > span) return;  // one test, that few pass: two would be a toss each
      unsigned const digit = digits.digit_of(item, base, shift, last);
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

  /// The same, and in the same read writes what has won and buffers what may still win.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, Reader const& read, Range range,
                              unsigned* histogram, RadixBuffer<Item> to) const {
    Item const floor = state.floor, ceiling = state.ceiling, span = ceiling - floor;
    Item const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Appender<Item, Group> buffer(group, append_memory(group, 0), {to.items}, &state.filled,
                                 to.capacity);
    Appender<Item, Group, PutWinner<Bits, Item>> winner(group, append_memory(group, 1), {sink, row},
                                                        &state.emitted, winners);
    auto const visit = [&](Item item) {
      winner.add_if(item > ceiling, item);
      if (item - floor > span) return;
      buffer.add_if(true, item);
      group.fetch_add(&histogram[digits.digit_of(item, base, shift, last)], 1u);
    };
    read_from(group, read, range, ceiling, visit, [&] { flush_fuller(group, buffer, winner); });
    buffer.flush();
    winner.flush();
  }

  /// Writes every item from the floor upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather(Group const& group, Reader const& read, Range range) const {
    if constexpr (Group::is_host && !Reader::reads_keys) {
      KOKKOS_IF_ON_HOST((gather_list(read.scan(), range);))
      return;
    }
    Item const threshold = state.floor;
    Appender<Item, Group, PutWinner<Bits, Item>> winner(group, append_memory(group, 0), {sink, row},
                                                        &state.emitted, winners);
    read_from(
        group, read, range, threshold, [&](Item item) { winner.add_if(item >= threshold, item); },
        [&] { flush_fuller(group, winner); });
    winner.flush();
  }

 private:
  /// Of a host's list.
  void count_alone(ListScan<Item> const& scan, Range range, bool all, unsigned* histogram) const {
    RankDigits<Item> const digit{state.base, state.shift, static_cast<unsigned>(digits.bins() - 1)};
    if (all)
      scan.count_digits(range.begin, range.end, digit, histogram);
    else
      scan.visit_edge(range.begin, range.end, state.floor, state.ceiling,
                      [&](Item item) { ++histogram[digit(item)]; });
  }

  /// Of a host's keys.
  void count_alone(KeyScan<Bits, Item> const& scan, Range range, bool all,
                   unsigned* histogram) const {
    auto const& map = digits.map;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    if (digits.counts_places(state)) return count_places(scan, range, histogram);
    if (state.shift >= map.position_bits) {
      RankDigits<Bits> const digit{map.rank_of(state.base), state.shift - map.position_bits, last};
      if (all) return scan.count_digits(range.begin, range.end, digit, histogram);
      Bits const least = map.rank_of(state.floor), most = map.rank_of(state.ceiling);
      return scan.count_digits_in(range.begin, range.end, digit,
                                  {least, static_cast<Bits>(most - least)}, histogram);
    }
    scan.visit_edge(range.begin, range.end, state.floor, state.ceiling, [&](Item item) {
      if (item >= state.floor && item <= state.ceiling)
        ++histogram[digits.digit_of(item, state.base, state.shift, last)];
    });
  }

  /// The same where all that may win is of one rank.
  void count_places(KeyScan<Bits, Item> const& scan, Range range, unsigned* histogram) const {
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Bits const rank = digits.map.rank_of(state.floor);
    Range const left = digits.places_left(state, range);
    scan.count_places(left.begin, left.end, rank, state.shift, [&](std::int64_t i, int found) {
      Item const item = digits.map.join(rank, static_cast<std::uint64_t>(i));
      if (item >= state.floor && item <= state.ceiling)
        histogram[digits.digit_of(item, state.base, state.shift, last)] +=
            static_cast<unsigned>(found);
    });
  }

  /// Memory of one of two Appenders, behind a histogram, sums and a flag.
  template <class Group>
  KOKKOS_FUNCTION std::byte* append_memory(Group const& group, int which) const {
    return group.template shared<std::byte>(sizeof(unsigned) * digits.bins() + radix_sums_bytes +
                                            which * appender_bytes<Item>());
  }

  /// Calls visit(item) for every item from the floor upwards, and maybe for others; a host puts what is
  /// surely above `ceiling` into the sink instead, by whole blocks. settle() ends each stride of a team.
  template <class Group, class Reader, class Visit, class Settle>
  KOKKOS_FUNCTION void read_from(Group const& group, Reader const& read, Range range,
                                 [[maybe_unused]] Item ceiling, Visit const& visit,
                                 Settle const& settle) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((read.scan().split(
          range.begin, range.end, state.floor, ceiling, visit,
          [&](typename Reader::Block from, std::uint16_t const* hits, int found, auto... first) {
            sink.put_hits(row, slots_for(found), from, hits, found, first...);
            tally(Count::flushes, 1);
          });))
    } else {
      each_together(group, range, read.lead(range.begin), read, visit, settle);
    }
  }

  void gather_list(ListScan<Item> const& scan, Range range) const {
    scan.pack_reaching(range.begin, range.end, state.floor, [&](Item const* best, int found) {
      sink.put_items(row, slots_for(found), best, found);
      tally(Count::flushes, 1);
    });
  }

  std::int64_t slots_for(int found) const {
    return static_cast<std::int64_t>(
        Kokkos::atomic_fetch_add(&state.emitted, static_cast<Count64>(found)));
  }
};

}  // namespace ktopk::detail
