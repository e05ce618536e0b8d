// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "../appender.hpp"
#include "../bulk_sink.hpp"
#include "select.hpp"

// What a thread does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the output (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail::host {

template <class Bits, class CompositeKey, bool OfKeys>
using HostDigits =
    RadixDigits<Bits, CompositeKey, OfKeys, std::countr_zero(static_cast<unsigned>(filter_block))>;

/// Whether only equal keys are left, and so many that SIMD counts them in place faster than composite keys are written
/// and read.
template <class Digits, class CompositeKey>
bool counts_places(Digits const& digits, RadixRow<CompositeKey> const& state) {
  return digits.is_one_rank(state) && (std::int64_t{1} << state.shift) >= filter_block;
}

/// The part of a range of positions that low .. high holds, which have one rank.
template <class Digits, class CompositeKey>
Range places_left(Digits const& digits, RadixRow<CompositeKey> const& state, Range range) {
  auto const one = static_cast<std::int64_t>(digits.map.position(state.low));
  auto const other = static_cast<std::int64_t>(digits.map.position(state.high));
  std::int64_t const begin = std::max(range.begin, std::min(one, other));
  return {begin, std::max(begin, std::min(range.end, std::max(one, other) + 1))};
}

template <class Bits, class CompositeKey, bool OfKeys>
struct RadixReading {
  RadixRow<CompositeKey>& state;
  std::int64_t row, wanted;
  HostDigits<Bits, CompositeKey, OfKeys> digits;
  BulkSink<Bits, CompositeKey> const& sink;

  /// Counts the digit of the composite keys of low .. high.
  /// \param all  whether all composite keys are in this interval
  template <class Reader>
  void count(Reader const& read, Range range, bool all, unsigned* histogram) const {
    count_in(read.scan(), range, all, histogram);
  }

  /// The same; in the same read it writes selected keys and buffers those that may still be selected.
  template <class Reader>
  void filter(Reader const& read, Range range, unsigned* histogram,
              RadixBuffer<CompositeKey> to) const {
    CompositeKey const low = state.low, high = state.high, span = high - low;
    CompositeKey const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Appender<CompositeKey> buffer({to.composites}, &state.filled, to.capacity);
    Appender<CompositeKey, PutMany<Bits, CompositeKey>> selected({sink, row}, &state.emitted,
                                                                 wanted);
    visit_reaching(read, range, high, [&](CompositeKey composite) {
      selected.add_if(composite > high, composite);
      if (composite - low > span) return;
      buffer.add_if(true, composite);
      ++histogram[digits.digit_of(composite, base, shift, last)];
    });
    buffer.flush();
    selected.flush();
  }

  /// Writes every composite key from `low` upwards.
  template <class Reader>
  void gather(Reader const& read, Range range) const {
    CompositeKey const threshold = state.low;
    Appender<CompositeKey, PutMany<Bits, CompositeKey>> selected({sink, row}, &state.emitted,
                                                                 wanted);
    visit_reaching(read, range, threshold, [&](CompositeKey composite) {
      selected.add_if(composite >= threshold, composite);
    });
    selected.flush();
  }

 private:
  /// Counts in a list.
  void count_in(ListScan<CompositeKey> const& scan, Range range, bool all,
                unsigned* histogram) const {
    OrderedBitsDigits<CompositeKey> const digit{state.base, state.shift,
                                                static_cast<unsigned>(digits.bins() - 1)};
    if (all)
      scan.count_digits(range.begin, range.end, digit, histogram);
    else
      scan.visit_between(range.begin, range.end, state.low, state.high,
                         [&](CompositeKey composite) { ++histogram[digit(composite)]; });
  }

  /// Counts in keys.
  void count_in(KeyScan<Bits, CompositeKey> const& scan, Range range, bool all,
                unsigned* histogram) const {
    auto const& map = digits.map;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    if (counts_places(digits, state)) return count_places(scan, range, histogram);
    if (state.shift >= map.position_bits) {
      OrderedBitsDigits<Bits> const digit{map.ordered_bits_of(state.base),
                                          state.shift - map.position_bits, last};
      if (all) return scan.count_digits(range.begin, range.end, digit, histogram);
      Bits const least = map.ordered_bits_of(state.low), most = map.ordered_bits_of(state.high);
      return scan.count_digits_in(range.begin, range.end, digit,
                                  {least, static_cast<Bits>(most - least)}, histogram);
    }
    scan.visit_between(range.begin, range.end, state.low, state.high, [&](CompositeKey composite) {
      if (composite >= state.low && composite <= state.high)
        ++histogram[digits.digit_of(composite, state.base, state.shift, last)];
    });
  }

  /// The same if all keys that may be selected have one rank.
  void count_places(KeyScan<Bits, CompositeKey> const& scan, Range range,
                    unsigned* histogram) const {
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Bits const rank = digits.map.ordered_bits_of(state.low);
    Range const left = places_left(digits, state, range);
    scan.count_places(left.begin, left.end, rank, state.shift, [&](std::int64_t i, int found) {
      CompositeKey const composite = digits.map.join(rank, static_cast<std::uint64_t>(i));
      if (composite >= state.low && composite <= state.high)
        histogram[digits.digit_of(composite, state.base, state.shift, last)] +=
            static_cast<unsigned>(found);
    });
  }

  /// Calls visit(composite) for every composite key from `low` upwards, and maybe for others. Those that are surely
  /// above `high` go to the sink instead, by whole blocks.
  template <class Reader, class Visit>
  void visit_reaching(Reader const& read, Range range, CompositeKey high,
                      Visit const& visit) const {
    read.scan().visit_between(
        range.begin, range.end, state.low, high, visit,
        [&](typename Reader::Block from, std::uint16_t const* hits, int found, auto... first) {
          sink.put_hits(row, slots_for(found), from, hits, found, first...);
          tally(Count::flushes, 1);
        });
  }

  std::int64_t slots_for(int found) const {
    return static_cast<std::int64_t>(
        Kokkos::atomic_fetch_add(&state.emitted, static_cast<Count64>(found)));
  }
};

}  // namespace ktopk::detail::host
