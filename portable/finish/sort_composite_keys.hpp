// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/merge_runs.hpp>

#include "../run/launch.hpp"

// Merge sort of rows of composite keys on any backend: teams sort tiles in place, then runs are merged pair by pair.

namespace ktopk::detail {

inline constexpr std::int64_t sort_tile = 1024;

/// \tparam Rows  has first(row), where a row's composite keys begin, and size(row), how many there are
template <class Rows, class CompositeKey>
struct SortTiles {
  Rows rows;
  CompositeKey* composites;
  std::int64_t tiles_per_row;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / tiles_per_row;
    std::int64_t const begin = group.index() % tiles_per_row * sort_tile;
    std::int64_t const size = rows.size(row);
    if (begin >= size) return;
    CompositeKey* const first = composites + rows.first(row) + begin;
    std::int64_t const count = size - begin < sort_tile ? size - begin : sort_tile;
    sort_in_team(group, first, static_cast<int>(count));
  }

  /// Bitonic sort in the team's scratch memory, padded to a power of two with zeros.
  template <class Group>
  KOKKOS_FUNCTION void sort_in_team(Group const& group, CompositeKey* first, int count) const {
    CompositeKey* const held = group.template shared<CompositeKey>();
    int padded = 2;
    while (padded < count) padded *= 2;
    each(group, 0, padded,
         [&](std::int64_t i) { held[i] = i < count ? first[i] : CompositeKey{0}; });
    group.barrier();
    for (int run = 2; run <= padded; run *= 2)
      for (int stride = run / 2; stride > 0; stride /= 2) {
        each(group, 0, padded / 2, [&](std::int64_t p) {
          int const i = static_cast<int>(p), low = 2 * i - (i & (stride - 1)), high = low + stride;
          bool const descending = (low & run) == 0;
          CompositeKey const a = held[low], b = held[high];
          if ((a < b) == descending) {
            held[low] = b;
            held[high] = a;
          }
        });
        group.barrier();
      }
    each(group, 0, count, [&](std::int64_t i) { first[i] = held[i]; });
  }
};

/// Sorts every row, best first; `longest` bounds the sizes and `spare` is as large as `composites`.
/// Returns where the result is: `composites` or `spare`.
template <class Exec, class Rows, class CompositeKey>
CompositeKey* sort_composite_keys(Exec const& exec, Rows const& rows, std::int64_t row_count,
                                  std::int64_t longest, CompositeKey* composites,
                                  CompositeKey* spare) {
  std::int64_t const tiles = (longest + sort_tile - 1) / sort_tile;
  launch("ktopk::arrange::sort_tiles", exec, row_count * tiles,
         static_cast<int>(sort_tile * sizeof(CompositeKey)),
         SortTiles<Rows, CompositeKey>{rows, composites, tiles});
  std::int64_t const chunk = neighbors_per_thread(device_of(exec));
  std::int64_t const chunks = (longest + chunk - 1) / chunk;
  for (std::int64_t run = sort_tile; run < longest; run *= 2) {
    launch_each("ktopk::arrange::merge_runs", exec, row_count * chunks,
                MergeRuns<Rows, CompositeKey>{rows, composites, spare, run, chunk, chunks});
    CompositeKey* const merged = spare;
    spare = composites;
    composites = merged;
  }
  return composites;
}

}  // namespace ktopk::detail
