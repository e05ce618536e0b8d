// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <ktopk/detail/rank.hpp>
#include <ktopk/detail/stored.hpp>

// The inner loops of every host implementation: plain C++ that vectorizes, compiled for the processors of a decade
// and picked at run time, so that a portable build is fast. Their source knows no Kokkos, so the host's
// own compiler translates it even where the implementations are nvcc's.

namespace ktopk::detail {

inline constexpr int filter_block = 2048;
/// How many blocks of a row are read by turns where order does not matter and the processor gains by it: some cores ask
/// memory for more at a time so than front to back, unless they are told to ask ahead.
inline constexpr int streams = 4;
/// Where nothing is learned between blocks, longer ones spend less on beginning.
inline constexpr int long_block = streams * filter_block;

/// The first of the places begin .. end - 1 that is_before(place) no longer tells of, or `end`.
template <class IsBefore>
int first_place_behind(int begin, int end, IsBefore const& is_before) {
  while (begin < end) {
    int const middle = begin + (end - begin) / 2;
    if (is_before(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

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

/// A rank, and how many of some ranks reach it.
template <class Bits>
struct Reached {
  Bits rank;
  int count;
};

inline constexpr int most_counted_slots = 128;

/// Which way the ranks of neighbors differ, if all do the same way or not at all.
enum class Monotonicity { rises, falls, none };

/// Of how many classes of a row's places the best can be told at most.
inline constexpr int most_strided_maxima = 512;

/// The least and the greatest of some ranks.
template <class Bits>
struct Extremes {
  Bits least = std::numeric_limits<Bits>::max(), most = 0;
};

/// The loops as compiled for one kind of processor.
template <class Bits>
struct HostLoops {
  /// Writes to `hits` the places of the keys whose rank is in `range`; returns how many.
  /// \param count  at most long_block
  /// \param hits   room for count + 1
  int (*filter)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank,
                RankRange<Bits> range, std::uint16_t* hits);
  /// The same in `streams` blocks at `keys` and `apart` from each other, as if the s-th were at
  /// s * filter_block; not in order.
  int (*filter_streams)(Stored<Bits> const* keys, std::int64_t apart, RankMap<Bits> const& rank,
                        RankRange<Bits> range, std::uint16_t* hits);
  /// The digit of each key's rank.
  void (*digits)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank,
                 RankDigits<Bits> const& digit, std::uint16_t* digits);
  /// The rank of each key.
  void (*ranks)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank, Bits* ranks);
  /// The k-th best of `count` ranks, or a rank that exactly k reach. 1 <= k <= count.
  Reached<Bits> (*kth)(Bits const* ranks, int count, int k);
  /// Sorts by counting, without a branch: slots[i] is how many of the ranks come before ranks[i], larger
  /// ones and equal ones further forward. \param count  at most most_counted_slots
  void (*slots)(Bits const* ranks, int count, Bits* slots);
  /// How many ranks reach `least`.
  int (*reaching)(Bits const* ranks, int count, Bits least);
  /// The place of the key of the best rank, the first of equals or, if `late`, the last. count > 0
  /// \param from_memory  whether the keys are in no cache, as far as one can tell
  int (*best)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank, bool late,
              bool from_memory);
  /// The monotonicity of count > 0 keys. Little is read of those that have none from early on.
  Monotonicity (*monotonicity)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank);
  /// Of each class of places, those that are the same modulo `classes`, the rank of its best key.
  /// \param count  no fewer than classes, of which there are no more than most_strided_maxima
  void (*strided_maxima)(Stored<Bits> const* keys, int count, RankMap<Bits> const& rank,
                         int classes, Bits* best);
  /// Whether long rows are read faster by filter_streams than by filter.
  bool by_streams;
};

/// Those that this processor runs, the fastest last.
template <class Bits>
std::vector<HostLoops<Bits>> all_host_loops();

/// The fastest of them.
template <class Bits>
HostLoops<Bits> pick_host_loops();

}  // namespace ktopk::detail
