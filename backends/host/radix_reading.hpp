// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "appender.hpp"
#include "bulk_sink.hpp"
#include "radix_select.hpp"

// What a thread does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the output (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail::host {

template <class Bits, class Item, bool OfKeys>
using HostDigits =
    RadixDigits<Bits, Item, OfKeys, std::countr_zero(static_cast<unsigned>(filter_block))>;

/// Whether only equal keys are left, and so many that SIMD counts them in place faster than composite keys are written
/// and read.
template <class Digits, class Item>
bool counts_places(Digits const& digits, RadixRow<Item> const& state) {
  return digits.is_one_rank(state) && (std::int64_t{1} << state.shift) >= filter_block;
}

/// The part of a range of positions that floor .. ceiling holds, which have one rank.
template <class Digits, class Item>
Range places_left(Digits const& digits, RadixRow<Item> const& state, Range range) {
  auto const one = static_cast<std::int64_t>(digits.map.position(state.floor));
  auto const other = static_cast<std::int64_t>(digits.map.position(state.ceiling));
  std::int64_t const begin = std::max(range.begin, std::min(one, other));
  return {begin, std::max(begin, std::min(range.end, std::max(one, other) + 1))};
}

template <class Bits, class Item, bool OfKeys>
struct RadixReading {
  RadixRow<Item>& state;
  std::int64_t row, wanted;
  HostDigits<Bits, Item, OfKeys> digits;
  BulkSink<Bits, Item> const& sink;

  /// Counts the digit of the composite keys of floor .. ceiling; `all` tells that all of them are in this interval.
  template <class Reader>
  void count(Reader const& read, Range range, bool all, unsigned* histogram) const {
    count_in(read.scan(), range, all, histogram);
  }

  /// The same; in the same read it writes selected keys and buffers those that may still be selected.
  template <class Reader>
  void filter(Reader const& read, Range range, unsigned* histogram, RadixBuffer<Item> to) const {
    Item const floor = state.floor, ceiling = state.ceiling, span = ceiling - floor;
    Item const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Appender<Item> buffer({to.items}, &state.filled, to.capacity);
    Appender<Item, PutMany<Bits, Item>> selected({sink, row}, &state.emitted, wanted);
    visit_reaching(read, range, ceiling, [&](Item item) {
      selected.add_if(item > ceiling, item);
      if (item - floor > span) return;
      buffer.add_if(true, item);
      ++histogram[digits.digit_of(item, base, shift, last)];
    });
    buffer.flush();
    selected.flush();
  }

  /// Writes every composite key from the floor upwards.
  template <class Reader>
  void gather(Reader const& read, Range range) const {
    if constexpr (Reader::reads_keys) {
      Item const threshold = state.floor;
      Appender<Item, PutMany<Bits, Item>> selected({sink, row}, &state.emitted, wanted);
      visit_reaching(read, range, threshold,
                     [&](Item item) { selected.add_if(item >= threshold, item); });
      selected.flush();
    } else {
      gather_list(read.scan(), range);
    }
  }

 private:
  /// Counts in a list.
  void count_in(ListScan<Item> const& scan, Range range, bool all, unsigned* histogram) const {
    RankDigits<Item> const digit{state.base, state.shift, static_cast<unsigned>(digits.bins() - 1)};
    if (all)
      scan.count_digits(range.begin, range.end, digit, histogram);
    else
      scan.visit_between(range.begin, range.end, state.floor, state.ceiling,
                         [&](Item item) { ++histogram[digit(item)]; });
  }

  /// Counts in keys.
  void count_in(KeyScan<Bits, Item> const& scan, Range range, bool all, unsigned* histogram) const {
    auto const& map = digits.map;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    if (counts_places(digits, state)) return count_places(scan, range, histogram);
    if (state.shift >= map.position_bits) {
      RankDigits<Bits> const digit{map.rank_of(state.base), state.shift - map.position_bits, last};
      if (all) return scan.count_digits(range.begin, range.end, digit, histogram);
      Bits const least = map.rank_of(state.floor), most = map.rank_of(state.ceiling);
      return scan.count_digits_in(range.begin, range.end, digit,
                                  {least, static_cast<Bits>(most - least)}, histogram);
    }
    scan.visit_between(range.begin, range.end, state.floor, state.ceiling, [&](Item item) {
      if (item >= state.floor && item <= state.ceiling)
        ++histogram[digits.digit_of(item, state.base, state.shift, last)];
    });
  }

  /// The same if all keys that may be selected have one rank.
  void count_places(KeyScan<Bits, Item> const& scan, Range range, unsigned* histogram) const {
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Bits const rank = digits.map.rank_of(state.floor);
    Range const left = places_left(digits, state, range);
    scan.count_places(left.begin, left.end, rank, state.shift, [&](std::int64_t i, int found) {
      Item const item = digits.map.join(rank, static_cast<std::uint64_t>(i));
      if (item >= state.floor && item <= state.ceiling)
        histogram[digits.digit_of(item, state.base, state.shift, last)] +=
            static_cast<unsigned>(found);
    });
  }

  /// Calls visit(item) for every composite key from the floor upwards, and maybe for others. Those that are surely
  /// above `ceiling` go to the sink instead, by whole blocks.
  template <class Reader, class Visit>
  void visit_reaching(Reader const& read, Range range, Item ceiling, Visit const& visit) const {
    read.scan().visit_between(
        range.begin, range.end, state.floor, ceiling, visit,
        [&](typename Reader::Block from, std::uint16_t const* hits, int found, auto... first) {
          sink.put_hits(row, slots_for(found), from, hits, found, first...);
          tally(Count::flushes, 1);
        });
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

}  // namespace ktopk::detail::host
