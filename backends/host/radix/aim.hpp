// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "reading.hpp"

// Lays a digit of radix around the samples between which the k-th should lie, so that clustered keys do not
// meet in one bin. RadiK (Li et al., ICS '24, 4.3) subtracts a sample from the keys, which rounds. Ordered bits are
// subtracted without rounding, and the outer bins hold what the sample does not cover.

namespace ktopk::detail::host {

template <class Source, class Bits, class CompositeKey>
struct RadixAim {
  /// A sample by which a digit is aimed: the ordered bits of a key, or in a list the composite key.
  static constexpr bool by_rank = Source::Reader::reads_keys;
  using Sample = std::conditional_t<by_rank, Bits, CompositeKey>;

  Source const& source;
  HostDigits<Bits, CompositeKey, by_rank> digits;

  static constexpr std::int64_t most_samples = 256, most_samples_of_keys = 4096;
  static constexpr std::int64_t least_sampled = 2048;

  bool is_worth_it(RadixRow<CompositeKey> const& state) const {
    bool const is_wide = 8 * static_cast<int>(sizeof(Sample)) > digits.digit_bits;
    return state.left >= least_sampled && is_wide;
  }

  /// Lays the first digit of a row.
  void first(RadixRow<CompositeKey>& state, std::int64_t row) const {
    std::int64_t const size = source.size(row);
    std::int64_t const many = by_rank ? std::min(size / 128, most_samples_of_keys) : 0;
    auto const count = static_cast<int>(std::max(many, std::min(size / 64, most_samples)));
    auto const read = source.reader(row);
    Strata const strata(size, count);
    ThreadArray<Sample> const memory(count);
    Sample* const samples = memory.get();
    for (int i = 0; i < count; ++i) samples[i] = sample_of(read(strata.place(i)));
    lay_around(state, samples, count);
  }

 private:
  Sample sample_of(CompositeKey composite) const {
    if constexpr (by_rank)
      return digits.map.ordered_bits_of(composite);
    else
      return composite;
  }

  void lay_around(RadixRow<CompositeKey>& state, Sample* samples, int count) const {
    AimedPlaces const places(state, count);
    Sample const upper = ordered(samples, count, places.upper());
    Sample const lower = ordered(samples, count, places.lower());
    AimedInterval<Sample> const around(places, lower, upper);
    digits.lay_around(state, around.least, around.most);
  }

  /// Returns the sample that has `place` others before it, or a rank that exactly place + 1 samples reach.
  Sample ordered(Sample* samples, int count, int place) const {
    if constexpr (by_rank) return source.loops.kth(samples, count, place + 1).rank;
    std::nth_element(samples, samples + place, samples + count, std::greater<Sample>());
    return samples[place];
  }
};

}  // namespace ktopk::detail::host
