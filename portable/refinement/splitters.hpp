// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../bitonic/network.hpp"
#include "../group/group.hpp"
#include "key_numbers.hpp"

// The state of a row's partition refinement, and the splitters that divide the interval of its k-th composite key:
// at equal distances of composite keys or of their keys' numbers, or at the composite keys of a sample.

namespace ktopk::detail {

/// The state of a row. A pass reads the source, or one of two lists.
template <class CompositeKey>
struct RefinementState {
  CompositeKey low, high;  // the k-th composite key is one of low .. high
  std::int64_t want;       // how many of them are still to be selected
  std::int64_t size;       // composite keys to read
  std::int64_t reaching;   // how many of them reach low ...
  std::int64_t above;      // ... and are above high
  int list;                // 0 or 1: what a pass reads; -1: the source
  int pass;                // how many are over
  bool settled;            // all that reach low are selected
  bool moves;              // the pass moves the interval to the other list
  unsigned arrived;        // groups done with the pass
  Count64 moved;           // composite keys in the other list
  Count64 taken;           // selected keys stored
  Count64 least, most;     // ordered bits of the row, where the splitters need them
};

/// Divides low .. high into equal parts; some splitter is above `low` and none above `high`.
template <class CompositeKey>
KOKKOS_FUNCTION void split_equally(CompositeKey low, CompositeKey high, int ways,
                                   CompositeKey* splitters) {
  CompositeKey const width = high - low;
  auto const parts = static_cast<CompositeKey>(ways);
  CompositeKey const step = width / parts, rest = width % parts;
  for (int s = 1; s < ways; ++s) {
    auto const here = static_cast<CompositeKey>(s);
    splitters[s] = low + step * here + (here < rest ? here : rest);
  }
}

/// Divides low .. high into equal parts of the numbers that its keys stand for; returns false if that is impossible.
template <class Bits, class CompositeKey>
KOKKOS_FUNCTION bool split_numbers(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey low,
                                   CompositeKey high, int ways, CompositeKey* splitters) {
  KeyNumbers<Bits> const numbers{map.rank};
  double const first = numbers(map.ordered_bits_of(low));
  double const width = numbers(map.ordered_bits_of(high)) - first;
  if (!numbers.floating() || !KeyNumbers<Bits>::is_finite(width)) return false;
  for (int s = 1; s < ways; ++s) {
    Bits const bits = numbers.ordered_bits_of(first + width * s / ways);
    CompositeKey const splitter = static_cast<CompositeKey>(bits) << map.position_bits;
    splitters[s] = splitter < low ? low : splitter > high ? high : splitter;
  }
  return splitters[ways - 1] > low;
}

/// Makes quantiles of those samples that are not 0 the splitters; returns false if all are 0.
/// \param samples  `length` of them, a power of two, in the group's shared memory
template <class Group, class CompositeKey>
KOKKOS_FUNCTION bool split_at_samples(Group const& group, CompositeKey* samples, int length,
                                      int ways, CompositeKey* splitters) {
  local_sort(TeamSteps<Group>{group}, Runs<CompositeKey>{samples, length, 1});
  int valid = 0;
  for (int half = length; half > 0; half /= 2)
    if (valid + half <= length && samples[valid + half - 1] != 0) valid += half;
  each(group, 1, valid > 0 ? ways : 1,
       [&](std::int64_t s) { splitters[s] = samples[valid - 1 - s * valid / ways]; });
  return valid > 0;
}

/// The labels of an implementation's kernels.
struct RefinementLabels {
  char const *begin, *start, *pass, *finish, *rows;
};

/// The splitters of bucket: equal parts of the keys' numbers. If numbers left more than half of the source, and from
/// the sixth pass on, they are equal parts of composite keys, which follow the keys' exponents and differ for equal
/// keys.
struct EqualParts {
  static constexpr int ways = 16;
  static constexpr int passes = 8;
  static constexpr int most_samples = 0;
  static constexpr bool needs_extremes = true;
  static constexpr RefinementLabels labels{"ktopk::bucket::begin", "ktopk::bucket::ends",
                                           "ktopk::bucket::pass", "ktopk::bucket::finish",
                                           "ktopk::bucket::rows"};

  template <class Group, class Reader, class Bits, class CompositeKey>
  KOKKOS_FUNCTION static void choose(Group const& group, RefinementState<CompositeKey> const& state,
                                     Reader const&, CompositeKeyMap<Bits, CompositeKey> const& map,
                                     CompositeKey* splitters, CompositeKey*) {
    if (group.rank() != 0) return;
    bool const stuck = state.pass > 0 && 2 * (state.reaching - state.above) > state.size;
    bool const by_numbers = !stuck && state.pass < 5;
    if (by_numbers && split_numbers(map, state.low, state.high, ways, splitters)) return;
    split_equally(state.low, state.high, ways, splitters);
  }
};

/// Quantiles of a sample of the source, or equal parts if no sample lies in the interval.
template <int Ways, int MostSamples>
struct SplittersFromSample {
  static constexpr int ways = Ways;
  static constexpr int most_samples = MostSamples;
  static_assert((MostSamples & (MostSamples - 1)) == 0);
  static constexpr bool needs_extremes = false;

  template <class Group, class Reader, class Bits, class CompositeKey>
  KOKKOS_FUNCTION static void choose(Group const& group, RefinementState<CompositeKey> const& state,
                                     Reader const& read, CompositeKeyMap<Bits, CompositeKey> const&,
                                     CompositeKey* splitters, CompositeKey* samples) {
    int const count = sample_count(state.size);
    Strata const strata(state.size, count);
    int length = 1;
    while (length < count) length *= 2;
    each(group, 0, length, [&](std::int64_t i) {
      CompositeKey const sample = i < count ? read(strata.place(i, state.pass)) : CompositeKey{0};
      samples[i] = sample > state.low && sample <= state.high ? sample : CompositeKey{0};
    });
    group.barrier();
    if (!split_at_samples(group, samples, length, ways, splitters) && group.rank() == 0)
      split_equally(state.low, state.high, ways, splitters);
  }

  /// The size of the sample: a sixteenth of a short source, and all of a very short one, in which every composite key
  /// may be a splitter.
  KOKKOS_FUNCTION static int sample_count(std::int64_t size) {
    std::int64_t const part = size / 16 > 64 ? size / 16 : 64;
    std::int64_t const most = part < most_samples ? part : most_samples;
    return static_cast<int>(most < size ? most : size);
  }
};

/// The splitters of sample.
struct FifteenSplitters : SplittersFromSample<16, 256> {
  static constexpr int passes = 8;
  static constexpr RefinementLabels labels{"ktopk::sample::begin", "ktopk::sample::start",
                                           "ktopk::sample::pass", "ktopk::sample::finish",
                                           "ktopk::sample::rows"};
};

/// The splitter of quick.
struct OnePivot : SplittersFromSample<2, 32> {
  static constexpr int passes = 32;
  static constexpr RefinementLabels labels{"ktopk::quick::begin", "ktopk::quick::start",
                                           "ktopk::quick::pass", "ktopk::quick::finish",
                                           "ktopk::quick::rows"};
};

}  // namespace ktopk::detail
