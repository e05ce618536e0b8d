// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "../group/group.hpp"

namespace ktopk::detail {

/// Sorts numbers in the group's shared memory, the smallest first, by Batcher's bitonic network. All threads call it
/// together.
/// \param count  a power of two
template <class Group, class Bits>
KOKKOS_FUNCTION void sort_numbers(Group const& group, Bits* numbers, int count) {
  for (int length = 2; length <= count; length *= 2)
    for (int distance = length / 2; distance > 0; distance /= 2) {
      group.barrier();
      each(group, 0, count / 2, [&](std::int64_t pair) {
        int const p = static_cast<int>(pair);
        int const a = 2 * p - (p & (distance - 1)), b = a + distance;
        bool const ascends = (a & length) == 0;
        Bits const x = numbers[a], y = numbers[b];
        if ((x > y) == ascends) {
          numbers[a] = y;
          numbers[b] = x;
        }
      });
    }
  group.barrier();
}

}  // namespace ktopk::detail
