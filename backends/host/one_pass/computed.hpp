// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include "../computed_keys.hpp"
#include "../rows_in_cache.hpp"

// Short rows of keys that a caller's file computes: a thread has the keys of a row made in its cache, and selects there.

namespace ktopk::detail::host {

template <class Bits, class CompositeKey>
struct ComputedRowsInCache {
  RowsInCache<Bits, CompositeKey> rows;
  ComputedKeys<Bits> computed;

  void operator()(std::int64_t row) const {
    StoredProblem<Bits> const& problem = rows.sink.problem;
    ThreadArray<Bits> const keys(problem.shape.n);
    ThreadArray<std::uint16_t> const positions(problem.shape.masked ? problem.shape.n : 0);
    int const count = computed.make(computed.rows, row, keys.get(), positions.get());
    int const k = std::min(count, static_cast<int>(problem.selected_count(row)));
    if (k > 0) rows.put_short(row, keys.get(), count, k);
    if (problem.shape.masked) restore_positions(row, k, positions.get());
    complete_row(problem, row, k);
  }

 private:
  /// The selected keys' places among the keys that there are become positions.
  void restore_positions(std::int64_t row, int k, std::uint16_t const* positions) const {
    Output<Bits> indices = rows.sink.problem.out;
    if (indices.indices == nullptr) return;
    indices.values = nullptr;
    for (int slot = 0; slot < k; ++slot)
      indices.store(row, slot, {}, positions[indices.position(row, slot)]);
  }
};

}  // namespace ktopk::detail::host
