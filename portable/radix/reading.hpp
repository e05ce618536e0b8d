// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "../finish/arrange.hpp"
#include "../group/group.hpp"
#include "../group/key_batches.hpp"
#include "lists.hpp"
#include "radix.hpp"

// What a group does with a part of a row in a pass of radix. It counts digits; or in the same read it also moves keys
// that may still be selected to a buffer, and selected keys to the sink (AIR Top-K, Zhang et al., SC '23, 3.2); or it
// takes all keys that reach a threshold.

namespace ktopk::detail {

/// The shared memory of a group: a histogram, a flag, RadixLists, and the counts of rows that are too long for those of
/// the histogram. Before the first pass a sample lies there.
inline constexpr int radix_flag_bytes = 16;
template <class CompositeKey>
KOKKOS_FUNCTION constexpr int radix_totals_begin(int digit_bits) {
  return (static_cast<int>(sizeof(unsigned)) << digit_bits) + radix_flag_bytes +
         radix_lists_bytes<CompositeKey>;
}
template <class CompositeKey>
int radix_shared_bytes(RadixScratch<CompositeKey> const& scratch) {
  int const totals =
      scratch.has_totals ? static_cast<int>(sizeof(Count64)) << scratch.digit_bits : 0;
  return radix_totals_begin<CompositeKey>(scratch.digit_bits) + totals;
}

template <Rows R, class CompositeKey, bool OfKeys>
struct RadixReading {
  using Bits = typename R::Bits;

  RadixRow<CompositeKey>& state;
  std::int64_t row, selected_count;
  using Digits = RadixDigits<Bits, CompositeKey, OfKeys>;
  Digits digits;
  SelectedSink<R, CompositeKey> const& sink;

 private:
  template <class Group, class Counter>
  class Lists;

 public:
  /// Counts the digit of the composite keys of low .. high. Each thread of a team counts the outer bins for itself,
  /// which are the fullest of a digit that was aimed.
  /// \param all  whether all composite keys are in this interval
  template <class Group, class Reader>
  KOKKOS_FUNCTION void count(Group const& group, Reader const& read, Range range, bool all,
                             unsigned* histogram) const {
    CompositeKey const low = state.low, span = state.high - low, base = state.base;
    int const shift = state.shift;
    unsigned const last = state.last;
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

  /// Counts the digit of the composite keys of low .. high. In the same read it writes those above, which are selected,
  /// and moves those of low .. high to the buffer.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void filter(Group const& group, Reader const& read, Range range,
                              unsigned* histogram, RadixBuffer<CompositeKey> to) const {
    CompositeKey const low = state.low, high = state.high;
    list(
        group, read, range, [&](CompositeKey composite) { return composite > high; },
        [&](CompositeKey composite) { return composite >= low; }, histogram, to);
  }

  /// The same for a bracket, and counts all other keys of the range in the outer bins. It looks at ordered bits alone,
  /// which decide: a bracket has all keys of a rank or none.
  template <class Group, class Counter, class Reader>
  KOKKOS_FUNCTION void bracket(Group const& group, Reader const& read, Range range,
                               Bounds<CompositeKey> inside, Lists<Group, Counter> const& lists,
                               Counter* histogram) const {
    auto const& map = read.map;
    Bits const low = map.ordered_bits_of(inside.least), high = map.ordered_bits_of(inside.most);
    unsigned above = 0, others = 0;
    for_each_batch<added_at_once>(
        group, read.row, range,
        [&](auto const& batch) {
          constexpr int size = std::remove_cvref_t<decltype(batch)>::size;
          Bits ranks[size];
          unrolled<size>([&](auto j) { ranks[j] = batch.rank(map, j); });
          ListedCounts const listed =
              lists.template add<size>([&](auto j) { return batch.holds(j) && ranks[j] > high; },
                                       [&](auto j) { return batch.holds(j) && ranks[j] >= low; },
                                       [&](auto j) { return batch.join(map, ranks[j], j); });
          above += listed.selected;
          others += listed.others;
        },
        [&] { lists.write_fuller(); });
    lists.write_all();
    Counter const all = group.rank() == 0 ? static_cast<Counter>(range.end - range.begin) : 0;
    group.fetch_add(&histogram[0], all - above - others);
    group.fetch_add(&histogram[state.last], Counter{above});
  }

  /// Writes every composite key from `low` upwards.
  template <class Group, class Reader>
  KOKKOS_FUNCTION void gather(Group const& group, Reader const& read, Range range) const {
    CompositeKey const threshold = state.low;
    auto const is_selected = [&](CompositeKey composite) { return composite >= threshold; };
    list(group, read, range, is_selected, is_selected, nullptr, {});
  }

  /// Lists in the memory behind the histogram.
  template <class Group>
  KOKKOS_FORCEINLINE_FUNCTION Lists<Group, unsigned> lists(Group const& group, unsigned* histogram,
                                                           RadixBuffer<CompositeKey> to) const {
    auto* const shared =
        group.template shared<std::byte>(sizeof(unsigned) * digits.bins() + radix_flag_bytes);
    return {*this, group, shared, radix_held<CompositeKey>, histogram, to};
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

  static constexpr int added_at_once = radix_added_at_once<CompositeKey>;

  /// Puts composite keys in the buffer, and counts their digits.
  template <class Group, class Counter>
  struct PutInBuffer {
    Group const& group;
    RadixBuffer<CompositeKey> to;
    CompositeKey base;
    int shift;
    unsigned last;
    Counter* histogram;
    KOKKOS_FUNCTION void operator()(std::int64_t slot, CompositeKey composite) const {
      if (slot < to.capacity) to.composites[slot] = composite;
      group.fetch_add(&histogram[Digits::digit_of(composite, base, shift, last)], Counter{1});
    }
  };

  /// What the group writes: selected keys to the sink, others to the buffer.
  template <class Group, class Counter>
  class Lists {
   public:
    /// \param shared, capacity  of RadixLists
    KOKKOS_FUNCTION Lists(RadixReading const& reading, Group const& group, std::byte* shared,
                          int capacity, Counter* histogram, RadixBuffer<CompositeKey> to)
        : m_held(group, shared, capacity),
          m_selected{{reading.sink, reading.row}, &reading.state.emitted, reading.selected_count},
          m_others{
              {group, to, reading.state.base, reading.state.shift, reading.state.last, histogram},
              &reading.state.filled,
              std::numeric_limits<std::int64_t>::max()} {}
    template <int count, class IsSelected, class IsListed, class CompositeOf>
    KOKKOS_FORCEINLINE_FUNCTION ListedCounts add(IsSelected const& is_selected,
                                                 IsListed const& is_listed,
                                                 CompositeOf const& composite_of) const {
      return m_held.template add<count>(is_selected, is_listed, composite_of);
    }
    KOKKOS_FUNCTION void write_fuller() const { m_held.write_fuller(m_selected, m_others); }
    KOKKOS_FUNCTION void write_all() const { m_held.write_all(m_selected, m_others); }

   private:
    RadixLists<CompositeKey, Group> m_held;
    RadixOutput<PutSelected<R, CompositeKey>> m_selected;
    RadixOutput<PutInBuffer<Group, Counter>> m_others;
  };

  /// Lists the composite keys of a range for which is_listed is true.
  template <class Group, class Reader, class IsSelected, class IsListed>
  KOKKOS_FORCEINLINE_FUNCTION void list(Group const& group, Reader const& read, Range range,
                                        IsSelected const& is_selected, IsListed const& is_listed,
                                        unsigned* histogram, RadixBuffer<CompositeKey> to) const {
    auto const lists = this->lists(group, histogram, to);
    each_composites<CompositeKey, added_at_once>(
        group, range.end - range.begin, [&](std::int64_t i) { return read(range.begin + i); },
        [&](auto const& composites, std::uint32_t present) {
          auto const is_there = [&](auto j) { return (present >> j & 1u) != 0; };
          lists.template add<added_at_once>(
              [&](auto j) { return is_there(j) && is_selected(composites[j]); },
              [&](auto j) { return is_there(j) && is_listed(composites[j]); },
              [&](auto j) { return composites[j]; });
        },
        [&] { lists.write_fuller(); });
    lists.write_all();
  }
};

}  // namespace ktopk::detail
