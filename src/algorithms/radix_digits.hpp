// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "../host_scan.hpp"
#include "radix.hpp"

// The arithmetic of radix: in which interval of items the k-th of a row lies, which digit cuts it, and what
// a bin leaves of it. Nothing here reads a key.

namespace ktopk::detail {

/// \tparam OfKeys  whether a row holds keys, of which rank and position are cut one after the other
template <class Bits, class Item, bool OfKeys>
struct RadixDigits {
  ItemMap<Bits, Item> map;
  int digit_bits;

  static constexpr int block_bits = std::countr_zero(static_cast<unsigned>(filter_block));

  KOKKOS_FUNCTION int bins() const { return 1 << digit_bits; }
  KOKKOS_FUNCTION int bits_below_rank() const { return OfKeys ? map.position_bits : 0; }

  /// Of an item of at most 128 bits.
  KOKKOS_FUNCTION static int bit_width(Item item) {
    auto const low = static_cast<std::uint64_t>(item);
    if constexpr (sizeof(Item) > sizeof(std::uint64_t)) {
      auto const high = static_cast<std::uint64_t>(item >> 64);
      if (high != 0) return 128 - Kokkos::countl_zero(high);
    }
    return 64 - Kokkos::countl_zero(low);
  }

  KOKKOS_FORCEINLINE_FUNCTION static unsigned digit_of(Item item, Item base, int shift,
                                                       unsigned last) {
    Item const place = item > base ? (item - base) >> shift : Item{0};
    return place < last ? static_cast<unsigned>(place) : last;
  }

  /// Lays the digit that cuts floor .. ceiling. Of keys none holds bits of both rank and position.
  KOKKOS_FUNCTION void next(RadixRow<Item>& state) const {
    int const bits = bit_width(state.ceiling - state.floor);
    state.base = state.floor;
    bool many_equal = false;
    KOKKOS_IF_ON_HOST((many_equal = OfKeys && state.left >= filter_block;))
    state.shift = next_low(bits, many_equal);
  }
  /// Where a host looks for one of many equal keys, a digit of their positions ends no lower than blocks do, so that
  /// whole blocks are counted.
  KOKKOS_FUNCTION int next_low(int low, bool many_equal) const {
    int const ranks_end = bits_below_rank();
    int const least = low > ranks_end ? ranks_end : many_equal && low > block_bits ? block_bits : 0;
    return low - least > digit_bits ? low - digit_bits : least;
  }

  /// As many as there are digits, and those that were aimed in vain.
  int most_passes(bool on_host) const {
    int passes = on_host ? 2 : 1;
    for (int low = map.width(); low > 0; low = next_low(low, on_host && OfKeys)) ++passes;
    return passes;
  }

  /// The interval of a bin; of the outer bins, what is left on their side.
  KOKKOS_FUNCTION void keep_bin(RadixRow<Item>& state, int bin) const {
    Item const from = state.base + (static_cast<Item>(bin) << state.shift);
    Item const span = (Item{1} << state.shift) - 1;
    if (bin < bins() - 1 && state.ceiling - from > span) state.ceiling = from + span;
    if (bin > 0) state.floor = from;
    next(state);
  }

  KOKKOS_FUNCTION bool is_one_rank(RadixRow<Item> const& state) const {
    return map.rank_of(state.floor) == map.rank_of(state.ceiling);
  }
  /// Whether only equal keys are left, so many that a host counts them faster where they stand, by SIMD,
  /// than it writes and reads items.
  KOKKOS_FUNCTION bool counts_places(RadixRow<Item> const& state) const {
    return is_one_rank(state) && (std::int64_t{1} << state.shift) >= filter_block;
  }
  /// Of a range of positions those of floor .. ceiling, which have one rank.
  Range places_left(RadixRow<Item> const& state, Range range) const {
    auto const one = static_cast<std::int64_t>(map.position(state.floor));
    auto const other = static_cast<std::int64_t>(map.position(state.ceiling));
    std::int64_t const begin = std::max(range.begin, std::min(one, other));
    return {begin, std::max(begin, std::min(range.end, std::max(one, other) + 1))};
  }

  /// The k-th is known.
  KOKKOS_FUNCTION static void settle_at(RadixRow<Item>& state, Item kth) {
    state.floor = kth;
    state.left = state.need;
    state.settled = true;
  }
  /// All keys of the row are equal, so that the k-th is known by its position.
  KOKKOS_FUNCTION void settle_equal(RadixRow<Item>& state, std::int64_t size) const {
    std::int64_t const position = map.flip != 0 ? state.need - 1 : size - state.need;
    settle_at(state, map.join(map.rank_of(state.floor), static_cast<std::uint64_t>(position)));
  }
};

}  // namespace ktopk::detail
