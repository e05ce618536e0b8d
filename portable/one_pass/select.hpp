// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "../group/kth_largest.hpp"
#include "kept.hpp"

// The end of one_pass: one group selects from a list, or from all keys of a row.

namespace ktopk::detail {

/// How much shared memory of a group the kernels of one_pass need.
template <class CompositeKey>
int one_pass_shared_bytes() {
  return std::max(group_list_bytes<CompositeKey>(), kth_largest_bytes);
}

/// Puts the best of read(0) .. read(count - 1) into the sink, in any order. All threads call it together.
template <Rows R, class CompositeKey, class Group, class Read>
KOKKOS_FUNCTION void put_best(Group const& group, SelectedSink<R, CompositeKey> const& sink,
                              std::int64_t row, std::int64_t count, Read const& read) {
  std::int64_t const k = sink.problem.selected_count(row);
  if (k == 0) return;
  KthLargest<Group, CompositeKey> const kth_largest(group, group.template shared<std::byte>(),
                                                    sink.map.position_bits);
  CompositeKey const threshold = kth_largest(count, k, read);
  int* const next = group.template shared<int>();
  if (group.rank() == 0) *next = 0;
  group.barrier();
  each_composites<CompositeKey>(
      group, count, read, [&](auto const& composites, std::uint32_t present) {
        std::uint32_t reaching = 0;
        unrolled<composites_at_once>(
            [&](auto j) { reaching |= composites[j] >= threshold ? 1u << j : 0u; });
        reaching &= present;
        if (reaching == 0) return;
        int slot = group.fetch_add(next, Kokkos::Experimental::popcount_builtin(reaching));
        unrolled<composites_at_once>([&](auto j) {
          if ((reaching >> j & 1u) != 0) sink.put(row, slot++, composites[j]);
        });
      });
}

/// The same for all keys of a row.
template <Rows R, class CompositeKey, class Group>
KOKKOS_FUNCTION void put_best_of_row(Group const& group, SelectedSink<R, CompositeKey> const& sink,
                                     std::int64_t row) {
  auto const keys = sink.problem.rows.row(row);
  put_best(group, sink, row, sink.problem.length(row),
           [&](std::int64_t i) { return composite_at(sink.map, keys, i); });
}

}  // namespace ktopk::detail
