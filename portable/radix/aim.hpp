// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include <ktopk/core/radix_digits.hpp>

#include "../group/group.hpp"
#include "../group/kth_largest.hpp"

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

  static constexpr int most_samples = 16 * 1024 / static_cast<int>(sizeof(CompositeKey));
  static constexpr std::int64_t least_sampled = 2048;
  static constexpr int samples_begin = (kth_largest_bytes + 15) / 16 * 16;
  /// How much shared memory first() needs.
  static constexpr int bytes =
      samples_begin + most_samples * static_cast<int>(sizeof(CompositeKey));

  KOKKOS_FUNCTION bool is_worth_it(RadixRow<CompositeKey> const& state) const {
    bool const is_wide = 8 * static_cast<int>(sizeof(Sample)) > digits.digit_bits;
    return state.left >= least_sampled && is_wide;
  }

  /// Lays the first digit of a row. All threads call it together.
  /// \param shared  `bytes` of the group's shared memory
  template <class Group>
  KOKKOS_FUNCTION void first(Group const& group, RadixRow<CompositeKey>& state, std::int64_t row,
                             std::byte* shared) const {
    int const count = samples_of(state);
    auto* const samples = reinterpret_cast<CompositeKey*>(shared + samples_begin);
    auto const read = source.reader(row);
    Strata const strata(state.left, count);
    copy_composites(group, count, [&](std::int64_t i) { return read(strata.place(i)); }, samples);
    group.barrier();
    AimedPlaces const places(state, count);
    KthLargest<Group, CompositeKey> const kth_largest(group, shared, digits.map.position_bits);
    auto const ordered = [&](int place) {
      return sample_of(kth_largest(count, place + 1, [&](std::int64_t i) { return samples[i]; }));
    };
    Sample const upper = ordered(places.upper()), lower = ordered(places.lower());
    AimedInterval<Sample> const around(places, lower, upper);
    if (group.rank() == 0) {
      digits.lay_around(state, around.least, around.most);
      digits.end_inner_bins(state, greatest_of(around.most));
    }
  }

  /// How many keys are expected in the inner bins of the first digit of a row.
  KOKKOS_FUNCTION double expected_inside(RadixRow<CompositeKey> const& state) const {
    int const count = samples_of(state);
    AimedPlaces const places(state, count);
    return static_cast<double>(state.left) * (places.lower() - places.upper() + 1) / count;
  }

 private:
  KOKKOS_FUNCTION static int samples_of(RadixRow<CompositeKey> const& state) {
    return static_cast<int>(state.left / 64 < most_samples ? state.left / 64 : most_samples);
  }
  KOKKOS_FUNCTION Sample sample_of(CompositeKey composite) const {
    if constexpr (by_rank)
      return digits.map.ordered_bits_of(composite);
    else
      return composite;
  }
  KOKKOS_FUNCTION CompositeKey greatest_of(Sample sample) const {
    if constexpr (by_rank)
      return digits.map.join(sample, 0) | digits.map.below_rank();
    else
      return sample;
  }
};

}  // namespace ktopk::detail
