// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../arrange.hpp"
#include "../group.hpp"
#include "../key_batches.hpp"
#include "radix.hpp"

// What a group does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the sink (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail {

/// The shared memory of a group: a histogram, the sums of slices with a flag, the buffers of two Appenders, and the
/// counts of rows that are too long for those of the histogram. Before these, a sample lies there.
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

template <class Bits, class Item, bool OfKeys>
struct RadixReading {
  RadixRow<Item>& state;
  std::int64_t row, winners;
  RadixDigits<Bits, Item, OfKeys> digits;
  WinnerSink<Bits, Item> const& sink;

  /// Counts the digit of the composite keys of floor .. ceiling; `all` tells that all of them are in this interval.
  /// Each thread of a team counts the outer bins for itself, which are the fullest of a digit that was aimed.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, Reader const& read, Range range, bool all,
                             unsigned* histogram) const {
    Item const floor = state.floor, span = state.ceiling - floor, base = state.base;
    int const shift = state.shift;
    unsigned const last = static_cast<unsigned>(digits.bins() - 1);
    unsigned below = 0, above = 0;
    each_ahead(group, read, range, [&](Item item) {
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

  /// The same; in the same read it writes selected keys and buffers those that may still be selected.
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
    each_together(group, range, read.lead(range.begin), read, visit,
                  [&] { flush_fuller(group, buffer, winner); });
    buffer.flush();
    winner.flush();
  }

  /// Writes every composite key from the floor upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather(Group const& group, Reader const& read, Range range) const {
    Item const threshold = state.floor;
    Appender<Item, Group, PutWinner<Bits, Item>> winner(group, append_memory(group, 0), {sink, row},
                                                        &state.emitted, winners);
    each_together(
        group, range, read.lead(range.begin), read,
        [&](Item item) { winner.add_if(item >= threshold, item); },
        [&] { flush_fuller(group, winner); });
    winner.flush();
  }

 private:
  /// Calls visit(item) for a range. Several loads of a thread are under way at once, and the read begins at an address
  /// that is a multiple of 64 keys (RadiK 3.2.2).
  template <class Group, class Reader, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void each_ahead(Group const& group, Reader const& read,
                                                     Range range, Visit const& visit) {
    std::int64_t const lead = read.lead(range.begin);
    std::int64_t const boundary = range.begin + (lead > 0 ? 64 - lead : 0);
    std::int64_t const first = boundary < range.end ? boundary : range.end;
    each(group, range.begin, first, [&](std::int64_t i) { visit(read(i)); });
    each_items<Item>(
        group, range.end - first, [&](std::int64_t i) { return read(first + i); },
        [&](auto const& items, std::uint32_t present) {
          unrolled<items_at_once>([&](auto j) {
            if ((present >> j & 1u) != 0) visit(items[j]);
          });
        });
  }

  /// The memory of one of two Appenders, after a histogram, sums and a flag.
  template <class Group>
  KOKKOS_FUNCTION std::byte* append_memory(Group const& group, int which) const {
    return group.template shared<std::byte>(sizeof(unsigned) * digits.bins() + radix_sums_bytes +
                                            which * appender_bytes<Item>());
  }
};

}  // namespace ktopk::detail
