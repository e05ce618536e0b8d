// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>

// The second half of a merge sort: sorted runs are merged pair by pair. Each chunk of the output finds its inputs by
// binary search (merge path).

namespace ktopk::detail {

/// How many of the first `taken` outputs of a descending merge come from `a`.
template <class CompositeKey>
KOKKOS_FUNCTION std::int64_t merge_split(CompositeKey const* a, std::int64_t a_size,
                                         CompositeKey const* b, std::int64_t b_size,
                                         std::int64_t taken) {
  std::int64_t low = taken > b_size ? taken - b_size : 0;
  std::int64_t high = taken < a_size ? taken : a_size;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (a[middle] > b[taken - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Merges pairs of sorted runs; call i writes chunk i of the output. Two runs hold a whole number of chunks.
template <class Rows, class CompositeKey>
struct MergeRuns {
  Rows rows;
  CompositeKey const* from;
  CompositeKey* to;
  std::int64_t run;
  std::int64_t chunk;
  std::int64_t chunks_per_row;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    std::int64_t const row = index / chunks_per_row;
    std::int64_t const begin = index % chunks_per_row * chunk;
    std::int64_t const size = rows.size(row);
    if (begin >= size) return;
    std::int64_t const end = begin + chunk < size ? begin + chunk : size;
    std::int64_t const pair = begin / (2 * run) * (2 * run);
    std::int64_t const a_size = size - pair < run ? size - pair : run;
    std::int64_t const b_rest = size - pair - a_size;
    std::int64_t const b_size = b_rest < run ? b_rest : run;
    tally(Count::composites_read, end - begin);
    tally(Count::composites_written, end - begin);
    CompositeKey const* const a = from + rows.first(row) + pair;
    merge(a, a_size, a + a_size, b_size, begin - pair, end - pair, to + rows.first(row) + pair);
  }

  KOKKOS_FUNCTION static void merge(CompositeKey const* a, std::int64_t a_size,
                                    CompositeKey const* b, std::int64_t b_size, std::int64_t begin,
                                    std::int64_t end, CompositeKey* out) {
    std::int64_t i = merge_split(a, a_size, b, b_size, begin);
    std::int64_t j = begin - i;
    for (std::int64_t o = begin; o < end; ++o) {
      bool const take_a = j >= b_size || (i < a_size && a[i] > b[j]);
      out[o] = take_a ? a[i++] : b[j++];
    }
  }
};

}  // namespace ktopk::detail
