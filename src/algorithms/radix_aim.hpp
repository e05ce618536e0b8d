// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <ktopk/detail/radix_digits.hpp>

#include "../group.hpp"

// Lays a digit of radix around the samples between which the k-th should lie, so that clustered keys do not
// meet in one bin. RadiK (Li et al., ICS '24, 4.3) subtracts a sample from the keys, which rounds. Ordered bits are
// subtracted without rounding, and the outer bins hold what the sample does not cover.

namespace ktopk::detail {

template <class Source, class Bits, class CompositeKey>
struct RadixAim {
  /// A sample by which a digit is aimed: the ordered bits of a key, or in a list the composite key.
  static constexpr bool by_rank = Source::Reader::reads_keys;
  using Sample = std::conditional_t<by_rank, Bits, CompositeKey>;

  Source const& source;
  RadixDigits<Bits, CompositeKey, by_rank> digits;

  static constexpr int most_samples = team_size;
  static constexpr std::int64_t least_sampled = 2048;

  KOKKOS_FUNCTION bool is_worth_it(RadixRow<CompositeKey> const& state) const {
    bool const is_wide = 8 * static_cast<int>(sizeof(Sample)) > digits.digit_bits;
    return state.left >= least_sampled && is_wide;
  }

  /// Lays the first digit of a row. All threads call it together. `samples` holds most_samples + 1.
  template <class Group>
  KOKKOS_FUNCTION void first(Group const& group, RadixRow<CompositeKey>& state, std::int64_t row,
                             Sample* samples) const {
    std::int64_t const size = state.left;
    int const count = static_cast<int>(size / 64 < most_samples ? size / 64 : most_samples);
    auto const read = source.reader(row);
    Strata const strata(size, count);
    each(group, 0, count, [&](std::int64_t i) { samples[i] = sample_of(read(strata.place(i))); });
    group.barrier();
    lay_around(group, state, samples, count);
  }

 private:
  KOKKOS_FUNCTION Sample sample_of(CompositeKey composite) const {
    if constexpr (by_rank)
      return digits.map.ordered_bits_of(composite);
    else
      return composite;
  }

  /// All threads call it together.
  template <class Group>
  KOKKOS_FUNCTION void lay_around(Group const& group, RadixRow<CompositeKey>& state,
                                  Sample* samples, int count) const {
    AimedPlaces const places(state, count);
    Sample const upper = ordered(group, samples, count, places.upper());
    Sample const lower = ordered(group, samples, count, places.lower());
    AimedInterval<Sample> const around(places, lower, upper);
    if (group.rank() == 0) digits.lay_around(state, around.least, around.most);
  }

  /// Returns the sample that has `place` others before it.
  template <class Group>
  KOKKOS_FUNCTION Sample ordered(Group const& group, Sample* samples, int count, int place) const {
    each(group, 0, count, [&](std::int64_t i) {
      int before = 0;
      for (int j = 0; j < count; ++j)
        before += samples[j] > samples[i] || (samples[j] == samples[i] && j < i);
      if (before == place) samples[most_samples] = samples[i];
    });
    group.barrier();
    Sample const found = samples[most_samples];
    group.barrier();
    return found;
  }
};

}  // namespace ktopk::detail
