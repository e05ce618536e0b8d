// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../arrange.hpp"
#include "../group.hpp"
#include "../key_batches.hpp"
#include "radix.hpp"
#include "radix_lists.hpp"

// What a group does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the sink (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail {

/// The shared memory of a group: a histogram, the sums of slices with a flag, RadixLists, and the counts of rows that
/// are too long for those of the histogram. Before the first pass a sample lies there.
inline constexpr int radix_sums_bytes = (team_size + 2) * static_cast<int>(sizeof(std::int64_t));
template <class CompositeKey>
KOKKOS_FUNCTION constexpr int radix_totals_begin(int digit_bits) {
  return (static_cast<int>(sizeof(unsigned)) << digit_bits) + radix_sums_bytes +
         radix_lists_bytes<CompositeKey>;
}
template <class CompositeKey>
int radix_shared_bytes(RadixScratch<CompositeKey> const& scratch) {
  int const totals =
      scratch.has_totals ? static_cast<int>(sizeof(Count64)) << scratch.digit_bits : 0;
  return radix_totals_begin<CompositeKey>(scratch.digit_bits) + totals;
}

template <class Bits, class CompositeKey, bool OfKeys>
struct RadixReading {
  RadixRow<CompositeKey>& state;
  std::int64_t row, selected_count;
  RadixDigits<Bits, CompositeKey, OfKeys> digits;
  SelectedSink<Bits, CompositeKey> const& sink;

  /// Counts the digit of the composite keys of low .. high. Each thread of a team counts the outer bins for itself,
  /// which are the fullest of a digit that was aimed.
  /// \param all  whether all composite keys are in this interval
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, Reader const& read, Range range, bool all,
                             unsigned* histogram) const {
    CompositeKey const low = state.low, span = state.high - low, base = state.base;
    int const shift = state.shift;
    unsigned const last = static_cast<unsigned>(digits.bins() - 1);
    unsigned below = 0, above = 0;
    each_ahead(group, read, range, [&](CompositeKey composite) {
      if (!all && composite - low > span) return;  // one test, which few pass
      unsigned const digit = digits.digit_of(composite, base, shift, last);
      if (digit == 0)
        ++below;
      else if (digit == last)
        ++above;
      else
        group.fetch_add(&histogram[digit], 1u);
    });
    if (below != 0) group.fetch_add(&histogram[0], below);
    if (above != 0) group.fetch_add(&histogram[last], above);
  }

  /// Counts the digit of the composite keys in an interval. In the same read it writes those above the interval, which
  /// are selected, and moves those in the interval to the buffer.
  /// \param outside  whether to count the others, too, in the outer bins
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, Reader const& read, Range range,
                              Bounds<CompositeKey> interval, bool outside, unsigned* histogram,
                              RadixBuffer<CompositeKey> to) const {
    CompositeKey const low = interval.least, high = interval.most, span = high - low;
    CompositeKey const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    unsigned above = 0, below = 0;
    list(
        group, read, range,
        [&](auto const& composites, std::uint32_t present) {
          Listed listed{};
          unrolled<radix_added_at_once<CompositeKey>>([&](auto j) {
            listed.selected |= composites[j] > high ? 1u << j : 0u;
            listed.others |= composites[j] - low <= span ? 1u << j : 0u;
          });
          listed.selected &= present;
          listed.others &= present;
          unrolled<radix_added_at_once<CompositeKey>>([&](auto j) {
            if ((listed.others >> j & 1u) != 0)
              group.fetch_add(&histogram[digits.digit_of(composites[j], base, shift, last)], 1u);
          });
          above += popcount(listed.selected);
          below += popcount(present & ~(listed.selected | listed.others));
          return listed;
        },
        to);
    if (!outside) return;
    group.fetch_add(&histogram[0], below);
    group.fetch_add(&histogram[last], above);
  }

  /// Writes every composite key from `low` upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather(Group const& group, Reader const& read, Range range) const {
    CompositeKey const threshold = state.low;
    list(group, read, range,
         [&](auto const& composites, std::uint32_t present) {
           Listed listed{};
           unrolled<radix_added_at_once<CompositeKey>>(
               [&](auto j) { listed.selected |= composites[j] >= threshold ? 1u << j : 0u; });
           listed.selected &= present;
           return listed;
         },
         {});
  }

 private:
  /// Calls visit(composite) for a range. Several loads of a thread are under way at once, and the read begins at an
  /// address that is a multiple of 64 keys (RadiK 3.2.2).
  template <class Group, class Reader, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION static void each_ahead(Group const& group, Reader const& read,
                                                     Range range, Visit const& visit) {
    std::int64_t const lead = read.lead(range.begin);
    std::int64_t const boundary = range.begin + (lead > 0 ? 64 - lead : 0);
    std::int64_t const first = boundary < range.end ? boundary : range.end;
    each(group, range.begin, first, [&](std::int64_t i) { visit(read(i)); });
    each_composites<CompositeKey>(
        group, range.end - first, [&](std::int64_t i) { return read(first + i); },
        [&](auto const& composites, std::uint32_t present) {
          unrolled<composites_at_once>([&](auto j) {
            if ((present >> j & 1u) != 0) visit(composites[j]);
          });
        });
  }

  KOKKOS_FORCEINLINE_FUNCTION static unsigned popcount(std::uint32_t mask) {
    return static_cast<unsigned>(Kokkos::Experimental::popcount_builtin(mask));
  }

  /// Writes of a range what choose(composites, present) lists: selected keys to the sink, others to the buffer.
  template <class Group, class Reader, class Choose>
  KOKKOS_FORCEINLINE_FUNCTION void list(Group const& group, Reader const& read, Range range,
                                        Choose const& choose, RadixBuffer<CompositeKey> to) const {
    RadixOutput<PutSelected<Bits, CompositeKey>> const selected{
        {sink, row}, &state.emitted, selected_count};
    RadixOutput<PutInList<CompositeKey>> const others{{to.composites}, &state.filled, to.capacity};
    RadixLists<CompositeKey, Group> const lists(
        group,
        group.template shared<std::byte>(sizeof(unsigned) * digits.bins() + radix_sums_bytes));
    each_composites<CompositeKey, radix_added_at_once<CompositeKey>>(
        group, range.end - range.begin, [&](std::int64_t i) { return read(range.begin + i); },
        [&](auto const& composites, std::uint32_t present) {
          lists.add(composites, choose(composites, present));
        },
        [&] { lists.write_fuller(selected, others); });
    lists.write_all(selected, others);
  }
};

}  // namespace ktopk::detail
