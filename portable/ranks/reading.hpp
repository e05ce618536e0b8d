// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/unrolled.hpp>

#include "../group/group.hpp"
#include "../group/key_batches.hpp"
#include "../radix/lists.hpp"
#include "ranks.hpp"

// How a group reads a part of a row, or of its buffer, in a pass of the search for ranks.

namespace ktopk::detail {

/// Which counter a key belongs to.
template <class Bits, int most>
class RankCounters {
 public:
  KOKKOS_FUNCTION RankCounters(RankIntervals<Bits> const& open, int bins)
      : m_open(open), m_count(open.count), m_bins(bins), m_step(1) {
    while (2 * m_step <= m_count) m_step *= 2;
  }
  /// Returns -1 for a key outside all intervals.
  KOKKOS_FORCEINLINE_FUNCTION int counter_of(Bits ordered) const {
    int below = 0;  // intervals that the key reaches
    for (int step = m_step; step > 0; step /= 2)
      if (below + step <= m_count && ordered >= m_open.low[below + step - 1]) below += step;
    int const i = below - 1;
    if (i < 0 || ordered > m_open.high[i]) return -1;
    auto const offset = static_cast<Bits>(ordered - m_open.low[i]);
    return i * m_bins + static_cast<int>(offset >> m_open.shift[i]);
  }

 private:
  RankIntervals<Bits> const& m_open;
  int m_count, m_bins, m_step;
};

/// The same where there is one interval, as there is for one rank.
template <class Bits>
class RankCounters<Bits, 1> {
 public:
  KOKKOS_FUNCTION RankCounters(RankIntervals<Bits> const& open, int)
      : m_low(open.low[0]),
        m_span(static_cast<Bits>(open.high[0] - open.low[0])),
        m_shift(open.shift[0]) {}
  KOKKOS_FORCEINLINE_FUNCTION int counter_of(Bits ordered) const {
    auto const offset = static_cast<Bits>(ordered - m_low);
    return offset > m_span ? -1 : static_cast<int>(offset >> m_shift);
  }

 private:
  Bits m_low, m_span;
  int m_shift;
};

/// The keys that a pass moves to a buffer. All threads construct it and call it together, but for add.
template <class Bits, class Group>
class RankFilter {
 public:
  KOKKOS_FUNCTION RankFilter(Group const& group, std::byte* shared, Bits* to, std::int64_t capacity,
                             Count64* filled)
      : m_lists(group, shared), m_output{{to}, filled, capacity} {}
  template <int size>
  KOKKOS_FORCEINLINE_FUNCTION void add(Bits const (&ordered)[size], std::uint32_t listed) const {
    m_lists.template add<size>([](auto) { return true; },
                               [&](auto j) { return (listed >> j & 1u) != 0; },
                               [&](auto j) { return ordered[j]; });
  }
  KOKKOS_FUNCTION void write_fuller() const { m_lists.write_fuller(m_output, none()); }
  KOKKOS_FUNCTION void write_all() const { m_lists.write_all(m_output, none()); }

 private:
  using Output = RadixOutput<PutInList<Bits>>;
  KOKKOS_FUNCTION static Output none() { return {{nullptr}, nullptr, 0}; }

  RadixLists<Bits, Group> m_lists;
  Output m_output;
};
/// Keeps nothing.
struct NoRankFilter {
  template <class Ordered>
  KOKKOS_FUNCTION void add(Ordered const&, std::uint32_t) const {}
  KOKKOS_FUNCTION void write_fuller() const {}
  KOKKOS_FUNCTION void write_all() const {}
};

/// Calls visit(ordered) for the ordered bits of all keys of a range, and filters those for which it returns true. Returns
/// how many keys there are.
/// \param ordered_of  the ordered bits of what is read
/// \param lowest      keys of less are none
template <class Bits, class Group, class KeyRow, class Ordered, class Visit, class Filter>
KOKKOS_FORCEINLINE_FUNCTION unsigned for_each_ordered(Group const& group, KeyRow const& row,
                                                      Range range, Bits lowest,
                                                      Ordered const& ordered_of, Visit const& visit,
                                                      Filter const& filter) {
  unsigned present = 0;
  for_each_batch(
      group, row, range,
      [&](auto const& batch) {
        using Batch = std::remove_cvref_t<decltype(batch)>;
        Bits ordered[Batch::size];
        unrolled<Batch::size>([&](auto j) { ordered[j] = ordered_of(batch.keys[j]); });
        std::uint32_t there = batch.held(), kept = 0;
        if constexpr (Batch::has_gaps) there &= batch.present;
        if (lowest != 0)
          unrolled<Batch::size>([&](auto j) { there &= ~(ordered[j] < lowest ? 1u << j : 0u); });
        present += static_cast<unsigned>(std::popcount(there));
        unrolled<Batch::size>([&](auto j) {
          if ((there >> j & 1u) != 0 && visit(ordered[j])) kept |= 1u << j;
        });
        filter.add(ordered, kept);
      },
      [&] { filter.write_fuller(); });
  filter.write_all();
  return present;
}

/// Keys that a thread has seen in a piece of a row, and of a bracketed row those that reach the bracket.
struct SeenKeys {
  unsigned present = 0, reaching = 0;
};

/// Reads a range: counts digits, and filters.
template <int most, bool bracketed, class Bits, class Group, class KeyRow, class Ordered,
          class Filter>
KOKKOS_FUNCTION SeenKeys read_ranks(Group const& group, RankIntervals<Bits> const& open, int bins,
                                    KeyRow const& row, Range range, Bits lowest,
                                    Ordered const& ordered_of, Filter const& filter,
                                    unsigned* KOKKOS_RESTRICT histogram) {
  RankCounters<Bits, most> const counters(open, bins);
  Bits const low = open.low[0];
  unsigned reaching = 0;
  unsigned const there = for_each_ordered(
      group, row, range, lowest, ordered_of,
      [&](Bits ordered) {
        if constexpr (bracketed) reaching += ordered >= low ? 1u : 0u;
        int const counter = counters.counter_of(ordered);
        if (counter < 0) return false;
        group.fetch_add(&histogram[counter], 1u);
        return true;
      },
      filter);
  return {there, reaching};
}

}  // namespace ktopk::detail
