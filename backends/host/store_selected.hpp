// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/core/merge_runs.hpp>
#include <ktopk/core/selected.hpp>

#include "../../runtime/host_threads.hpp"
#include "sort.hpp"

// The end of implementations for hosts: selected keys that lie in lists are sorted and stored.

namespace ktopk::detail::host {

/// Completes a row that has its `real` selected keys: stores their number, and fills the rest of its slots.
template <class Bits>
void complete_row(StoredProblem<Bits> const& problem, std::int64_t row, std::int64_t real) {
  if (problem.counts) problem.counts.store(row, real);
  for (std::int64_t slot = real; slot < problem.shape.k; ++slot)
    problem.out.store_missing(row, slot);
}

template <class Rows, class CompositeKey>
struct SortTiles {
  Rows rows;
  CompositeKey* composites;
  CompositeKey* spare;
  std::int64_t tile;
  std::int64_t tiles_per_row;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / tiles_per_row;
    std::int64_t const begin = index % tiles_per_row * tile;
    std::int64_t const size = rows.size(row);
    if (begin >= size) return;
    std::int64_t const first = rows.first(row) + begin;
    sort_alone(composites + first, spare + first, std::min(size - begin, tile));
  }
};

/// Sorts every row, best first: each thread sorts a tile, then tiles are merged. `longest` bounds the sizes, and
/// `spare` is as large as `composites`. Returns where the result is: `composites` or `spare`.
template <class Exec, class Rows, class CompositeKey>
CompositeKey* sort_composite_keys(Exec const& exec, Rows const& rows, std::int64_t row_count,
                                  std::int64_t longest, CompositeKey* composites,
                                  CompositeKey* spare) {
  constexpr std::int64_t smallest_tile = 4096;
  std::int64_t const tile = std::max(longest / exec.concurrency() + 1, smallest_tile);
  std::int64_t const tiles = (longest + tile - 1) / tile;
  host::launch("ktopk::host::sort_tiles", exec, row_count * tiles,
               SortTiles<Rows, CompositeKey>{rows, composites, spare, tile, tiles});
  for (std::int64_t run = tile; run < longest; run *= 2) {
    host::launch_each("ktopk::host::merge_runs", exec, row_count * tiles,
                      MergeRuns<Rows, CompositeKey>{rows, composites, spare, run, tile, tiles});
    std::swap(composites, spare);
  }
  return composites;
}

/// Sorts the selected keys of each row if there is a spare. Then it stores keys, positions and counts, and fills the
/// slots that a short row leaves open.
template <class Exec, Rows R, class CompositeKey>
void arrange(Exec const& exec, Problem<R> const& problem,
             CompositeKeyMap<typename R::Bits, CompositeKey> const& map,
             SelectedKeys<CompositeKey> const& selected) {
  Shape const& shape = problem.shape;
  CompositeKey const* composites = selected.composites;
  if (selected.spare != nullptr)
    composites = host::sort_composite_keys(exec, SelectedRows<R>{problem}, shape.rows, shape.k,
                                           selected.composites, selected.spare);
  bool const complete = !shape.ragged && !problem.wanted && !problem.counts;
  if (composites == nullptr && complete) return;
  host::launch_each("ktopk::host::store", exec, shape.rows * shape.k,
                    StoreSelected<R, CompositeKey>{{problem, map, nullptr}, composites});
}

}  // namespace ktopk::detail::host
