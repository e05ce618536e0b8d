// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/stored.hpp>

// The inner loops of every host implementation: plain C++ that vectorizes. They are compiled for the processors of a
// decade and selected at run time, so that a portable build is fast. Their source includes no Kokkos, so the host's own
// compiler compiles it even if nvcc compiles the implementations.

namespace ktopk::detail {

inline constexpr int filter_block = 2048;
/// How many blocks of a row are read by turns, if order does not matter and the processor gains by it: without
/// prefetching, some cores have more loads in flight that way than front to back.
inline constexpr int streams = 4;
/// The length of blocks between which nothing is learned: longer blocks begin less often.
inline constexpr int long_block = streams * filter_block;

/// The first of the places begin .. end - 1 for which is_before(place) is false, or `end`.
template <class Place, class IsBefore>
Place first_place_behind(Place begin, Place end, IsBefore const& is_before) {
  while (begin < end) {
    Place const middle = begin + (end - begin) / 2;
    if (is_before(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// The ranks from `least` to `least + span`, which does not overflow.
template <class Bits>
struct OrderedBitsRange {
  Bits least, span;
  constexpr bool has(Bits rank) const { return static_cast<Bits>(rank - least) <= span; }
};

template <class Bits>
constexpr OrderedBitsRange<Bits> ranks_from(Bits least) {
  return {least, static_cast<Bits>(std::numeric_limits<Bits>::max() - least)};
}

/// The digit of a rank: 0 at `base` and below, and at most `last`.
template <class Bits>
struct OrderedBitsDigits {
  Bits base;
  int shift;
  unsigned last;
  constexpr unsigned operator()(Bits rank) const {
    Bits const place = static_cast<Bits>((rank > base ? rank - base : 0) >> shift);
    return place < last ? static_cast<unsigned>(place) : last;
  }
};

/// A rank, and how many of some ranks reach it.
template <class Bits>
struct Reached {
  Bits rank;
  int count;
};

inline constexpr int most_counted_slots = 128;

/// How the ranks of neighbors change: they never fall, they never rise, or neither holds.
enum class Monotonicity { rises, falls, none };

/// The most classes of places of which strided_maxima finds the best.
inline constexpr int most_strided_maxima = 512;

/// The least and the greatest of some ranks.
template <class Bits>
struct Extremes {
  Bits least = std::numeric_limits<Bits>::max(), most = 0;
};

/// The loops, compiled for one kind of processor.
template <class Bits>
struct HostLoops {
  /// Writes to `hits` the places of the keys whose rank is in `range`; returns how many.
  /// \param count  at most long_block
  /// \param hits   an array of count + 1
  int (*filter)(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
                OrderedBitsRange<Bits> range, std::uint16_t* hits);
  /// The same in `streams` blocks, which begin at `keys` and are `apart` from each other. Places count as if the s-th
  /// block began at s * filter_block; they come in no order.
  int (*filter_streams)(Stored<Bits> const* keys, std::int64_t apart,
                        OrderedBitsMap<Bits> const& rank, OrderedBitsRange<Bits> range,
                        std::uint16_t* hits);
  /// Writes the digit of each key's rank.
  void (*digits)(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
                 OrderedBitsDigits<Bits> const& digit, std::uint16_t* digits);
  /// Writes the rank of each key.
  void (*ranks)(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank, Bits* ranks);
  /// Returns the k-th best of `count` ranks, or a rank that exactly k reach. 1 <= k <= count.
  Reached<Bits> (*kth)(Bits const* ranks, int count, int k);
  /// Sorts by counting, without a branch: slots[i] becomes how many ranks come before ranks[i]. These are the larger
  /// ones, and the equal ones further forward.
  /// \param count  at most most_counted_slots
  void (*slots)(Bits const* ranks, int count, Bits* slots);
  /// Returns how many ranks reach `least`.
  int (*reaching)(Bits const* ranks, int count, Bits least);
  /// Returns the place of the best key: the first of equal keys or, if `late`, the last. count > 0
  /// \param from_memory  whether the keys are probably in no cache
  int (*best)(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank, bool late,
              bool from_memory);
  /// Returns the monotonicity of count > 0 keys. It reads little of keys that lose it early.
  Monotonicity (*monotonicity)(Stored<Bits> const* keys, int count,
                               OrderedBitsMap<Bits> const& rank);
  /// Writes the rank of the best key of each class. A class has the places that are equal modulo `classes`.
  /// \param count  at least `classes`, which is at most most_strided_maxima
  void (*strided_maxima)(Stored<Bits> const* keys, int count, OrderedBitsMap<Bits> const& rank,
                         int classes, Bits* best);
  /// Whether long rows are read faster by filter_streams than by filter.
  bool by_streams;
};

/// All loops that this processor can run, the fastest last.
template <class Bits>
std::vector<HostLoops<Bits>> all_host_loops();

/// The loops that this processor runs fastest.
template <class Bits>
HostLoops<Bits> pick_host_loops();

}  // namespace ktopk::detail
