// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../arrange.hpp"
#include "../group.hpp"
#include "../key_batches.hpp"
#include "radix.hpp"

// What a group does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the sink (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail {

/// The shared memory of a group: a histogram, the sums of slices with a flag, the buffers of two Appenders, and the
/// counts of rows that are too long for those of the histogram. Before these, a sample lies there.
inline constexpr int radix_sums_bytes = (team_size + 2) * static_cast<int>(sizeof(std::int64_t));
template <class CompositeKey>
KOKKOS_FUNCTION constexpr int radix_totals_begin(int digit_bits) {
  return (static_cast<int>(sizeof(unsigned)) << digit_bits) + radix_sums_bytes +
         2 * appender_bytes<CompositeKey>();
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

  /// The same; in the same read it writes selected keys and buffers those that may still be selected.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, Reader const& read, Range range,
                              unsigned* histogram, RadixBuffer<CompositeKey> to) const {
    CompositeKey const low = state.low, high = state.high, span = high - low;
    CompositeKey const base = state.base;
    int const shift = state.shift;
    auto const last = static_cast<unsigned>(digits.bins() - 1);
    Appender<CompositeKey, Group> buffer(group, append_memory(group, 0), {to.composites},
                                         &state.filled, to.capacity);
    Appender<CompositeKey, Group, PutSelected<Bits, CompositeKey>> selected(
        group, append_memory(group, 1), {sink, row}, &state.emitted, selected_count);
    auto const visit = [&](CompositeKey composite) {
      selected.add_if(composite > high, composite);
      if (composite - low > span) return;
      buffer.add_if(true, composite);
      group.fetch_add(&histogram[digits.digit_of(composite, base, shift, last)], 1u);
    };
    each_together(group, range, read.lead(range.begin), read, visit,
                  [&] { flush_fuller(group, buffer, selected); });
    buffer.flush();
    selected.flush();
  }

  /// Writes every composite key from `low` upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather(Group const& group, Reader const& read, Range range) const {
    CompositeKey const threshold = state.low;
    Appender<CompositeKey, Group, PutSelected<Bits, CompositeKey>> selected(
        group, append_memory(group, 0), {sink, row}, &state.emitted, selected_count);
    each_together(
        group, range, read.lead(range.begin), read,
        [&](CompositeKey composite) { selected.add_if(composite >= threshold, composite); },
        [&] { flush_fuller(group, selected); });
    selected.flush();
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

  /// The memory of one of two Appenders, after a histogram, sums and a flag.
  template <class Group>
  KOKKOS_FUNCTION std::byte* append_memory(Group const& group, int which) const {
    return group.template shared<std::byte>(sizeof(unsigned) * digits.bins() + radix_sums_bytes +
                                            which * appender_bytes<CompositeKey>());
  }
};

}  // namespace ktopk::detail
