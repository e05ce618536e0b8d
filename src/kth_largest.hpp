// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include "group.hpp"

// The k-th largest of composite keys that one group reads again and again: from its shared memory, a list, or a row.

namespace ktopk::detail {

inline constexpr int kth_bins = 256;

/// What kth_largest needs of the memory that the group shares.
template <class Item>
KOKKOS_FUNCTION constexpr int kth_largest_bytes() {
  return 2 * team_size * static_cast<int>(sizeof(Item)) + (kth_bins + 4) * 4;
}

/// How many low bits of x are more than zeros above.
template <class Item>
KOKKOS_INLINE_FUNCTION int bit_length(Item x) {
  if constexpr (sizeof(Item) > 8) {
    auto const high = static_cast<std::uint64_t>(x >> 64);
    return high != 0 ? 64 + bit_length(high) : bit_length(static_cast<std::uint64_t>(x));
  } else {
    return static_cast<int>(std::numeric_limits<std::uint64_t>::digits) -
           Kokkos::Experimental::countl_zero_builtin(static_cast<std::uint64_t>(x));
  }
}

/// Finds the k-th largest by digits of 8 bits, each laid over the interval that the one before left (RadiK, Li et al.,
/// ICS '24, 4.3, which scales digits to the keys' range).
template <class Group, class Item>
class KthLargest {
 public:
  /// \param shared  kth_largest_bytes<Item>() that the group shares, aligned to 16 bytes
  KOKKOS_FUNCTION KthLargest(Group const& group, std::byte* shared)
      : m_group(group),
        m_extremes(reinterpret_cast<Item*>(shared)),
        m_histogram(reinterpret_cast<unsigned*>(m_extremes + 2 * team_size)),
        m_found(m_histogram + kth_bins) {}

  /// Returns a threshold that k of the `count` distinct composite keys read(0), read(1) ... reach. Together; reads them
  /// once for their extremes and about twice more. \param k  from 1 to count, which is below 2^32
  template <class Read>
  KOKKOS_FUNCTION Item operator()(std::int64_t count, std::int64_t k, Read const& read) const {
    Item low = ~Item{0}, high = 0;
    each(m_group, 0, count, [&](std::int64_t i) {
      Item const item = read(i);
      low = item < low ? item : low;
      high = item > high ? item : high;
    });
    merge_extremes(low, high);
    auto need = static_cast<unsigned>(k);
    for (auto here = static_cast<unsigned>(count); here != need;) {
      int const length = bit_length(high - low);
      int const shift = length > 8 ? length - 8 : 0;
      count_digits(count, read, low, high - low, shift);
      here = choose_bin(need);
      auto const bin = static_cast<Item>(m_found[0]);
      need -= m_found[1];
      low += bin << shift;
      Item const rest = (Item{1} << shift) - 1;
      high = high - low > rest ? low + rest : high;
      m_group.barrier();
    }
    return low;
  }

 private:
  KOKKOS_FUNCTION void merge_extremes(Item& low, Item& high) const {
    int const rank = m_group.rank(), size = m_group.size();
    Item* const lows = m_extremes;
    Item* const highs = m_extremes + team_size;
    lows[rank] = low;
    highs[rank] = high;
    m_group.barrier();
    for (int half = size / 2; half > 0; half /= 2) {
      if (rank < half) {
        lows[rank] = lows[rank + half] < lows[rank] ? lows[rank + half] : lows[rank];
        highs[rank] = highs[rank + half] > highs[rank] ? highs[rank + half] : highs[rank];
      }
      m_group.barrier();
    }
    low = lows[0];
    high = highs[0];
  }

  template <class Read>
  KOKKOS_FUNCTION void count_digits(std::int64_t count, Read const& read, Item low, Item span,
                                    int shift) const {
    each(m_group, 0, kth_bins, [&](std::int64_t b) { m_histogram[b] = 0; });
    m_group.barrier();
    each(m_group, 0, count, [&](std::int64_t i) {
      Item const above = read(i) - low;
      if (above <= span) m_group.fetch_add(&m_histogram[static_cast<int>(above >> shift)], 1u);
    });
    m_group.barrier();
  }

  /// Finds the bin of the `need`-th largest, and leaves it and how many are above; returns how many are in it.
  KOKKOS_FUNCTION unsigned choose_bin(unsigned need) const {
    int const slice = kth_bins / m_group.size();
    int const top = kth_bins - 1 - m_group.rank() * slice;
    unsigned sum = 0;
    for (int b = 0; b < slice; ++b) sum += m_histogram[top - b];
    unsigned above = m_group.sum_before(sum);
    if (above < need && need <= above + sum) {
      int bin = top;
      for (; above + m_histogram[bin] < need; --bin) above += m_histogram[bin];
      m_found[0] = static_cast<unsigned>(bin);
      m_found[1] = above;
      m_found[2] = m_histogram[bin];
    }
    m_group.barrier();
    return m_found[2];
  }

  Group const& m_group;
  Item* m_extremes;
  unsigned* m_histogram;
  unsigned* m_found;  // bin, how many are above it, how many are in it
};

}  // namespace ktopk::detail
