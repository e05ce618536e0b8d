// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <ktopk/core/radix_digits.hpp>

#include "group.hpp"
#include "key_batches.hpp"

// The k-th largest of composite keys, which one group reads several times: from its shared memory, a list, or a row.

namespace ktopk::detail {

inline constexpr int kth_digit_bits = 10;
inline constexpr int kth_bins = 1 << kth_digit_bits;
/// The shared memory that KthLargest needs.
inline constexpr int kth_largest_bytes = (kth_bins + 4) * static_cast<int>(sizeof(unsigned));

/// Finds the k-th largest by digits of 10 bits, each laid over the interval that the previous one left (RadiK, Li et
/// al., ICS '24, 4.3, which scales digits to the keys' range).
template <class Group, class CompositeKey>
class KthLargest {
 public:
  /// \param shared         kth_largest_bytes of the group's shared memory
  /// \param position_bits  of a composite key, below its rank
  KOKKOS_FUNCTION KthLargest(Group const& group, std::byte* shared, int position_bits)
      : m_group(group),
        m_position_bits(position_bits),
        m_histogram(reinterpret_cast<unsigned*>(shared)),
        m_found(m_histogram + kth_bins) {}

  /// Returns a threshold that k of the `count` distinct composite keys read(0), read(1) ... reach. All threads call it
  /// together. It reads the composite keys once for their extremes and about twice more.
  /// \param k  from 1 to count, which is below 2^32
  template <class Read>
  KOKKOS_FUNCTION CompositeKey operator()(std::int64_t count, std::int64_t k,
                                          Read const& read) const {
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    each_composites<CompositeKey>(
        m_group, count, read, [&](auto const& composites, std::uint32_t present) {
          unrolled<composites_at_once>([&](auto j) {
            auto const rank = static_cast<std::uint64_t>(composites[j] >> m_position_bits);
            bool const is_there = (present >> j & 1u) != 0;
            lowest = is_there && rank < lowest ? rank : lowest;
            highest = rank > highest ? rank : highest;
          });
        });
    CompositeKey const places = (CompositeKey{1} << m_position_bits) - 1;
    m_group.merge_extremes(lowest, highest);
    CompositeKey low = static_cast<CompositeKey>(lowest) << m_position_bits;
    CompositeKey high = (static_cast<CompositeKey>(highest) << m_position_bits) | places;
    auto need = static_cast<unsigned>(k);
    for (auto here = static_cast<unsigned>(count); here != need;) {
      int const length = bit_width(high - low);
      int const shift = length > kth_digit_bits ? length - kth_digit_bits : 0;
      count_digits(count, read, low, high - low, shift);
      here = choose_bin(need);
      auto const bin = static_cast<CompositeKey>(m_found[0]);
      need -= m_found[1];
      low += bin << shift;
      CompositeKey const rest = (CompositeKey{1} << shift) - 1;
      high = high - low > rest ? low + rest : high;
      m_group.barrier();
    }
    return low;
  }

 private:
  template <class Read>
  KOKKOS_FUNCTION void count_digits(std::int64_t count, Read const& read, CompositeKey low,
                                    CompositeKey span, int shift) const {
    each(m_group, 0, kth_bins, [&](std::int64_t b) { m_histogram[b] = 0; });
    m_group.barrier();
    each_composites<CompositeKey>(
        m_group, count, read, [&](auto const& composites, std::uint32_t present) {
          unrolled<composites_at_once>([&](auto j) {
            CompositeKey const above = composites[j] - low;
            if (above <= span && (present >> j & 1u) != 0)
              m_group.fetch_add(&m_histogram[static_cast<int>(above >> shift)], 1u);
          });
        });
    m_group.barrier();
  }

  /// Finds the bin of the `need`-th largest and how many are above it; returns how many are in it.
  KOKKOS_FUNCTION unsigned choose_bin(unsigned need) const {
    int const slice = (kth_bins + m_group.size() - 1) / m_group.size();
    int const top = kth_bins - 1 - m_group.rank() * slice;
    unsigned sum = 0;
    for (int b = top; b > top - slice && b >= 0; --b) sum += m_histogram[b];
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
  int m_position_bits;
  unsigned* m_histogram;
  unsigned* m_found;  // bin, how many are above it, how many are in it
};

}  // namespace ktopk::detail
