// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/positions.hpp>
#include <ktopk/core/selected.hpp>

// The arithmetic of radix: which interval holds the k-th composite key of a row, which digit divides the interval, and
// what a bin leaves of it. Nothing here reads a key.

namespace ktopk::detail {

/// The state of the search in a row. A pass counts digits: the digit of a composite key is its distance above `base` in
/// units of 2^shift; it is 0 below `base` and at most `last`. So every bin is an interval of 2^shift composite keys, but
/// for the two outer ones, which hold what is left on their sides.
template <class CompositeKey>
struct RadixRow {
  CompositeKey low, high;  // the k-th composite key is one of low .. high
  CompositeKey base;       // of the digit that the next pass counts
  int shift;
  bool settled;        // every composite key from low on is selected
  bool in_buffer;      // what may still be selected is in the buffer; what is selected was written
  std::uint16_t last;  // digit
  std::int64_t need;   // selected keys still to be found among low .. high
  std::int64_t left;   // how many composite keys those are
  std::int64_t slot;   // of the histogram that groups share
  Range buffer_range;  // of the row in the buffer
  unsigned arrived;    // groups done with the pass
  Count64 filled;      // composite keys in the buffer
  Count64 emitted;     // selected keys written
};

/// The bounds between which all composite keys of a row lie.
template <class CompositeKey>
struct Bounds {
  CompositeKey least, most;
};

/// The width of a composite key, of at most 128 bits.
template <class CompositeKey>
KOKKOS_INLINE_FUNCTION int bit_width(CompositeKey composite) {
  auto const low = static_cast<std::uint64_t>(composite);
  if constexpr (sizeof(CompositeKey) > sizeof(std::uint64_t)) {
    auto const high = static_cast<std::uint64_t>(composite >> 64);
    if (high != 0) return 128 - Kokkos::countl_zero(high);
  }
  return 64 - Kokkos::countl_zero(low);
}

/// The digits of a row's search.
/// \tparam OfKeys     whether a row holds keys; then no digit holds bits of both ordered bits and position
/// \tparam BlockBits  if it is not 0, a digit of the positions of 2^BlockBits equal keys or more ends no lower, so that
///                    whole blocks of so many keys are counted
template <class Bits, class CompositeKey, bool OfKeys, int BlockBits = 0>
struct RadixDigits {
  CompositeKeyMap<Bits, CompositeKey> map;
  int digit_bits;

  static constexpr bool by_blocks = OfKeys && BlockBits > 0;

  KOKKOS_FUNCTION int bins() const { return 1 << digit_bits; }
  KOKKOS_FUNCTION int bits_below_rank() const { return OfKeys ? map.position_bits : 0; }

  KOKKOS_FORCEINLINE_FUNCTION static unsigned digit_of(CompositeKey composite, CompositeKey base,
                                                       int shift, unsigned last) {
    CompositeKey const place = composite > base ? (composite - base) >> shift : CompositeKey{0};
    return place < last ? static_cast<unsigned>(place) : last;
  }

  /// Lays the digit that divides low .. high.
  KOKKOS_FUNCTION void next(RadixRow<CompositeKey>& state) const {
    int const bits = bit_width(state.high - state.low);
    state.base = state.low;
    state.last = static_cast<std::uint16_t>(bins() - 1);
    bool const many_equal = by_blocks && state.left >= std::int64_t{1} << BlockBits;
    state.shift = next_low(bits, many_equal);
  }
  KOKKOS_FUNCTION int next_low(int low, bool many_equal) const {
    int const ranks_end = bits_below_rank();
    int const least = low > ranks_end ? ranks_end : many_equal && low > BlockBits ? BlockBits : 0;
    return low - least > digit_bits ? low - digit_bits : least;
  }

  /// The most passes of a search: one for each digit, and those whose aim failed.
  int most_passes(int aimed_in_vain) const {
    int passes = aimed_in_vain;
    for (int low = map.width(); low > 0; low = next_low(low, by_blocks)) ++passes;
    return passes;
  }

  /// Keeps the interval of a bin; of an outer bin, what is left on its side.
  KOKKOS_FUNCTION void keep_bin(RadixRow<CompositeKey>& state, int bin) const {
    CompositeKey const from = state.base + (static_cast<CompositeKey>(bin) << state.shift);
    CompositeKey const span = (CompositeKey{1} << state.shift) - 1;
    if (bin < state.last && state.high - from > span) state.high = from + span;
    if (bin > 0) state.low = from;
    next(state);
  }

  KOKKOS_FUNCTION bool is_one_rank(RadixRow<CompositeKey> const& state) const {
    return map.ordered_bits_of(state.low) == map.ordered_bits_of(state.high);
  }

  /// Lays the digit around an interval, which fills the inner bins: of ordered bits, or in a list of composite keys.
  template <class Sample>
  KOKKOS_FUNCTION void lay_around(RadixRow<CompositeKey>& state, Sample least_expected,
                                  Sample most_expected) const {
    CompositeKey const width = static_cast<Sample>(most_expected - least_expected);
    int const bits = bit_width(width);
    int shift = bits > digit_bits ? bits - digit_bits : 0;
    if ((width >> shift) + 3 > static_cast<CompositeKey>(bins())) ++shift;
    CompositeKey const bin = CompositeKey{1} << shift, least = least_expected;
    state.base = (least > bin ? least - bin : CompositeKey{0}) << bits_below_rank();
    state.shift = shift + bits_below_rank();
  }

  /// Ends the inner bins with the one that holds `most`.
  KOKKOS_FUNCTION static void end_inner_bins(RadixRow<CompositeKey>& state, CompositeKey most) {
    state.last = static_cast<std::uint16_t>(((most - state.base) >> state.shift) + 1);
  }

  /// Ends the search: the k-th is known.
  KOKKOS_FUNCTION static void settle_at(RadixRow<CompositeKey>& state, CompositeKey kth) {
    state.low = kth;
    state.left = state.need;
    state.settled = true;
  }
  /// Ends the search of a row whose keys are all equal: positions give the k-th.
  KOKKOS_FUNCTION void settle_equal(RadixRow<CompositeKey>& state, std::int64_t size) const {
    std::int64_t const position = map.flip != 0 ? state.need - 1 : size - state.need;
    settle_at(state,
              map.join(map.ordered_bits_of(state.low), static_cast<std::uint64_t>(position)));
  }
};

/// The places of an ordered sample of `count` between which the k-th should lie; they may be beyond the sample's ends.
struct AimedPlaces {
  template <class CompositeKey>
  KOKKOS_FUNCTION AimedPlaces(RadixRow<CompositeKey> const& state, int count_) : count(count_) {
    double const share = static_cast<double>(state.need) / static_cast<double>(state.left);
    double const expected = share * count;
    auto const margin = 4 + static_cast<int>(4 * Kokkos::sqrt(expected * (1 - share)));
    first = static_cast<int>(expected) - margin;
    last = static_cast<int>(expected) + margin;
  }
  KOKKOS_FUNCTION int upper() const { return first > 0 ? first : 0; }
  KOKKOS_FUNCTION int lower() const { return last < count ? last : count - 1; }
  KOKKOS_FUNCTION bool may_be_above() const { return first <= 0; }
  KOKKOS_FUNCTION bool may_be_below() const { return last >= count - 1; }

  int count, first, last;
};

/// The interval in which the k-th is expected.
template <class Sample>
struct AimedInterval {
  Sample least, most;

  /// \param lower, upper  the samples at both places. Beyond an end of the sample the k-th is expected no further away
  ///                      than four times the distance between them.
  KOKKOS_FUNCTION AimedInterval(AimedPlaces const& places, Sample lower, Sample upper) {
    constexpr auto greatest = static_cast<Sample>(~Sample{0});
    auto const width = static_cast<Sample>(upper - lower);
    auto const further = static_cast<Sample>(width < greatest / 4 ? 4 * width : greatest);
    auto const room = static_cast<Sample>(greatest - upper);
    Sample const up = places.may_be_above() ? (further < room ? further : room) : Sample{0};
    Sample const down = places.may_be_below() ? (further < lower ? further : lower) : Sample{0};
    least = static_cast<Sample>(lower - down);
    most = static_cast<Sample>(upper + up);
  }
};

}  // namespace ktopk::detail
