// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <ktopk/core/counters.hpp>

#include "../../runtime/thread_memory.hpp"
#include "loops.hpp"

// How one thread sorts composite keys and selects among them.

namespace ktopk::detail {

/// Returns a composite key that k of `count` distinct ones reach, 1 <= k <= count. May change their order.
template <class CompositeKey>
CompositeKey kth_composite(CompositeKey* composites, int count, int k) {
  if constexpr (std::is_same_v<CompositeKey, CompositeKey64>) {
    return pick_host_loops<CompositeKey64>().kth(composites, count, k).rank;
  } else {
    std::nth_element(composites, composites + k - 1, composites + count,
                     std::greater<CompositeKey>());
    return composites[k - 1];
  }
}

/// Moves the k best of `count` distinct composite keys to the front.
template <class CompositeKey>
void keep_best(CompositeKey* composites, int count, int k) {
  CompositeKey const least = kth_composite(composites, count, k);
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    CompositeKey const composite = composites[i];
    composites[kept] = composite;
    kept += composite >= least;
  }
  tally(Count::composites_read, 2 * count);
}

/// Sorts by radix from the last bit in which composite keys differ, best first; it skips digits that all have in
/// common. `spare` holds `count` composite keys too.
template <class CompositeKey>
void radix_sort(CompositeKey* composites, CompositeKey* spare, std::int64_t count) {
  constexpr int digit_bits = 11, bins = 1 << digit_bits, width = 8 * sizeof(CompositeKey);
  CompositeKey differing = 0;
  for (std::int64_t i = 0; i < count; ++i) differing |= composites[i] ^ composites[0];
  CompositeKey* from = composites;
  CompositeKey* to = spare;
  int low = 0;
  while (low < width && (differing >> low & 1) == 0) ++low;
  for (; low < width && (differing >> low) != 0; low += digit_bits) {
    tally(Count::composites_read, 2 * count);
    std::int64_t starts[bins + 1] = {};
    auto const digit = [low](CompositeKey composite) {
      return static_cast<unsigned>(~composite >> low) & static_cast<unsigned>(bins - 1);
    };
    for (std::int64_t i = 0; i < count; ++i) ++starts[digit(from[i]) + 1];
    if (starts[digit(from[0]) + 1] == count) continue;
    for (int b = 0; b < bins; ++b) starts[b + 1] += starts[b];
    for (std::int64_t i = 0; i < count; ++i) to[starts[digit(from[i])]++] = from[i];
    std::swap(from, to);
    tally(Count::composites_written, count);
  }
  if (from != composites) std::copy(from, from + count, composites);
}

inline constexpr std::int64_t smallest_radix_sort = 2048;

/// Sorts on one thread of a host, best first. `spare` holds `count` composite keys too.
template <class CompositeKey>
void sort_alone(CompositeKey* composites, CompositeKey* spare, std::int64_t count) {
  if (count >= smallest_radix_sort) return radix_sort(composites, spare, count);
  tally(Count::composites_read, count);
  tally(Count::composites_written, count);
  std::sort(composites, composites + count, std::greater<CompositeKey>());
}

}  // namespace ktopk::detail
