// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "../group.hpp"
#include "radix_digits.hpp"

// Lays a digit of radix around the samples between which the k-th should lie, so that clustered keys do not
// meet in one bin. RadiK (Li et al., ICS '24, 4.3) subtracts a sample from the keys, which rounds; from ranks it
// does not, and what the sample knows nothing of is in one of the outer bins.

namespace ktopk::detail {

template <class Source, class Bits, class Item>
struct RadixAim {
  /// What a digit is aimed by: of keys the rank, of items in a list the whole.
  static constexpr bool by_rank = Source::Reader::reads_keys;
  using Sample = std::conditional_t<by_rank, Bits, Item>;

  Source const& source;
  RadixDigits<Bits, Item, by_rank> digits;

  static constexpr int most_samples = team_size;
  static constexpr int most_samples_alone = 4096;
  static constexpr std::int64_t least_sampled = 2048;

  KOKKOS_FUNCTION bool is_worth_it(RadixRow<Item> const& state) const {
    bool const is_wide = 8 * static_cast<int>(sizeof(Sample)) > digits.digit_bits;
    return state.left >= least_sampled && is_wide;
  }

  /// Together: the first digit of a row. `samples` holds most_samples + 1 of them.
  template <class Group>
  KOKKOS_FUNCTION void first(Group const& group, RadixRow<Item>& state, std::int64_t row,
                             Sample* samples) const {
    if constexpr (Group::is_host && by_rank) {
      KOKKOS_IF_ON_HOST((alone(group, state, row);))
      return;
    }
    std::int64_t const size = state.left;
    int const count = static_cast<int>(size / 64 < most_samples ? size / 64 : most_samples);
    auto const read = source.reader(row);
    Strata const strata(size, count);
    each(group, 0, count, [&](std::int64_t i) { samples[i] = sample_of(read(strata.place(i))); });
    group.barrier();
    lay_around(group, state, samples, count);
  }

  /// Where a pass has left most of a host's keys, as of a row whose few others spread the first digit.
  template <class Group>
  void again(Group const& group, RadixRow<Item>& state, std::int64_t row) const {
    bool const is_coarse = !state.settled && !state.in_buffer && !digits.is_one_rank(state) &&
                           state.left > source.size(row) / 2;
    if (!is_coarse || state.aimed_again || !is_worth_it(state)) return;
    state.aimed_again = true;
    alone(group, state, row);
  }

 private:
  /// Among those of a host's keys that are left, of which a larger sample is cheap.
  template <class Group>
  void alone(Group const& group, RadixRow<Item>& state, std::int64_t row) const {
    std::int64_t const size = source.size(row);
    auto const many = std::min<std::int64_t>(size / 128, most_samples_alone);
    auto const looks =
        static_cast<int>(std::max(many, std::min<std::int64_t>(size / 64, most_samples)));
    auto const read = source.reader(row);
    Strata const strata(size, looks);
    ThreadArray<Sample> const memory(looks);
    Sample* const samples = memory.get();
    int count = 0;
    for (int i = 0; i < looks; ++i) {
      Item const item = read(strata.place(i));
      samples[count] = sample_of(item);
      count += item >= state.floor && item <= state.ceiling;
    }
    if (count > 0) lay_around(group, state, samples, count);
  }

  KOKKOS_FUNCTION Sample sample_of(Item item) const {
    if constexpr (by_rank)
      return digits.map.rank_of(item);
    else
      return item;
  }

  /// Together.
  template <class Group>
  KOKKOS_FUNCTION void lay_around(Group const& group, RadixRow<Item>& state, Sample* samples,
                                  int count) const {
    double const share = static_cast<double>(state.need) / static_cast<double>(state.left);
    double const expected = share * count;
    auto const margin = 4 + static_cast<int>(4 * Kokkos::sqrt(expected * (1 - share)));
    int const first = static_cast<int>(expected) - margin,
              last = static_cast<int>(expected) + margin;
    Sample const upper = ordered(group, samples, count, first > 0 ? first : 0);
    Sample const lower = ordered(group, samples, count, last < count ? last : count - 1);
    if (group.rank() == 0) lay(state, beyond(lower, upper, first <= 0, last >= count - 1));
  }

  struct Interval {
    Sample least, most;
  };

  /// A k-th beyond the sample's ends is expected no further off than four times what is between.
  KOKKOS_FUNCTION static Interval beyond(Sample least, Sample most, bool above, bool below) {
    constexpr auto greatest = static_cast<Sample>(~Sample{0});
    auto const width = static_cast<Sample>(most - least);
    auto const further = static_cast<Sample>(width < greatest / 4 ? 4 * width : greatest);
    auto const room = static_cast<Sample>(greatest - most);
    Sample const up = above ? (further < room ? further : room) : Sample{0};
    Sample const down = below ? (further < least ? further : least) : Sample{0};
    return {static_cast<Sample>(least - down), static_cast<Sample>(most + up)};
  }

  /// The interval fills the inner bins.
  KOKKOS_FUNCTION void lay(RadixRow<Item>& state, Interval around) const {
    Item const width = static_cast<Sample>(around.most - around.least);
    int const bits = digits.bit_width(width);
    int shift = bits > digits.digit_bits ? bits - digits.digit_bits : 0;
    if ((width >> shift) + 3 > static_cast<Item>(digits.bins())) ++shift;
    Item const bin = Item{1} << shift, least = around.least;
    state.base = (least > bin ? least - bin : Item{0}) << digits.bits_below_rank();
    state.shift = shift + digits.bits_below_rank();
  }

  /// The sample that `place` others come before; a host's may be a rank that as many samples reach.
  template <class Group>
  KOKKOS_FUNCTION Sample ordered(Group const& group, Sample* samples, int count, int place) const {
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((return ordered_alone(samples, count, place);))
      KOKKOS_IF_ON_DEVICE((return Sample{0};))
    } else {
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
  }
  Sample ordered_alone(Sample* samples, int count, int place) const {
    if constexpr (by_rank) return source.loops.kth(samples, count, place + 1).rank;
    std::nth_element(samples, samples + place, samples + count, std::greater<Sample>());
    return samples[place];
  }
};

}  // namespace ktopk::detail
