// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <limits>
#include <type_traits>

#include "../refinement/key_numbers.hpp"

// The interval of thresholds that bisection halves, and where it halves it.

namespace ktopk::detail {

/// The interval of thresholds, which are ordered bits: at least k keys reach `low`, and fewer than k are above `most`.
template <class Bits>
struct Interval {
  Bits low, most;
  int reaching;  // how many keys reach low
  int above;     // how many are above most

  /// Keeps the part of the interval that holds the k-th key, below the threshold or from it on.
  KOKKOS_FUNCTION void take(Bits threshold, int reaching_threshold, int k) {
    if (reaching_threshold >= k) {
      low = threshold;
      reaching = reaching_threshold;
    } else {
      most = static_cast<Bits>(threshold - 1);
      above = reaching_threshold;
    }
  }
};

struct BisectionLimits {
  int max_iterations;
  double epsilon;

  KOKKOS_FUNCTION bool is_exact() const { return max_iterations == 0 && epsilon == 0; }
};

/// Where to halve the interval, and when it is narrow enough.
template <class Bits>
class Bisector {
 public:
  KOKKOS_FUNCTION Bisector(OrderedBitsMap<Bits> const& rank, BisectionLimits const& limits,
                           Bits best)
      : m_numbers{rank}, m_limits(limits), m_narrow(limits.epsilon * size(m_numbers(best))) {}

  KOKKOS_FUNCTION bool is_done(Interval<Bits> const& in, int k, int step) const {
    if (in.reaching <= k || in.low >= in.most) return true;
    if (m_limits.max_iterations > 0 && step >= m_limits.max_iterations) return true;
    return m_limits.epsilon > 0 && KeyNumbers<Bits>::is_finite(m_narrow) &&
           size(m_numbers(in.most) - m_numbers(in.low)) <= m_narrow;
  }

  /// Returns a threshold above in.low and not above in.most. It is the middle of the numbers if the keys are
  /// floating-point numbers and it is finite and in the interval. Otherwise, and after as many steps as a key has bits,
  /// it is the middle of the ordered bits.
  KOKKOS_FUNCTION Bits middle(Interval<Bits> const& in, int step) const {
    if (m_numbers.floating() && step < std::numeric_limits<Bits>::digits) {
      auto const low = static_cast<Number>(m_numbers(in.low));
      auto const most = static_cast<Number>(m_numbers(in.most));
      Number const middle = low + (most - low) / 2;
      Bits const bits = m_numbers.ordered_bits_of(middle);
      if (middle - middle == 0 && bits > in.low && bits <= in.most) return bits;
    }
    return static_cast<Bits>(in.low + static_cast<Bits>(in.most - in.low) / 2 + 1);
  }

 private:
  /// A type as precise as the keys.
  using Number = std::conditional_t<sizeof(Bits) == 8, double, float>;

  KOKKOS_FUNCTION static double size(double number) { return number < 0 ? -number : number; }

  KeyNumbers<Bits> m_numbers;
  BisectionLimits m_limits;
  double m_narrow;
};

}  // namespace ktopk::detail
