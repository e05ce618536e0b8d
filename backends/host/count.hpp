// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include <ktopk/core/reaching_call.hpp>

#include "../../runtime/host_threads.hpp"
#include "loops.hpp"

// How many keys are better than bounds, with SIMD.

namespace ktopk::detail::host {

/// Adds to the counts what a part of a row has. The ordered bits of a block of keys are made once for all bounds.
template <class Bits>
struct CountPart {
  static constexpr int block = 2048, together = 16;

  CountCall<StoredRows<Bits>> call;
  HostLoops<Bits> loops;
  std::int64_t parts;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / parts, part = index % parts;
    for (std::int64_t first = 0; first < call.shape.k; first += together)
      count(row, part, first,
            static_cast<int>(std::min<std::int64_t>(together, call.shape.k - first)));
  }

 private:
  void count(std::int64_t row, std::int64_t part, std::int64_t first, int bounds) const {
    std::int64_t const n = call.rows.length(row), end = n * (part + 1) / parts;
    Stored<Bits> const* const keys = call.rows.pointer(row);
    alignas(64) Bits ordered[block];
    Bits bound[together];
    std::int64_t better[together] = {}, reaching[together] = {};
    for (int b = 0; b < bounds; ++b)
      bound[b] = call.rank(call.bounds[row * call.bound_row + (first + b) * call.bound_step]);
    for (std::int64_t at = n * part / parts; at < end; at += block) {
      int const size = static_cast<int>(std::min<std::int64_t>(block, end - at));
      loops.ranks(keys + at, size, call.rank, ordered);
      for (int b = 0; b < bounds; ++b) {
        if (bound[b] != std::numeric_limits<Bits>::max())
          better[b] += loops.reaching(ordered, size, static_cast<Bits>(bound[b] + 1));
        if (call.equal) reaching[b] += loops.reaching(ordered, size, bound[b]);
      }
    }
    for (int b = 0; b < bounds; ++b) {
      add(call.better, row, first + b, better[b]);
      add(call.equal, row, first + b, reaching[b] - better[b]);
    }
  }

  static void add(IntegerMatrix const& counts, std::int64_t row, std::int64_t i,
                  std::int64_t amount) {
    if (!counts || amount == 0) return;
    if (counts.bytes == 4)
      std::atomic_ref(static_cast<std::int32_t*>(counts.data)[counts.at(row, i)])
          .fetch_add(static_cast<std::int32_t>(amount));
    else
      std::atomic_ref(static_cast<std::int64_t*>(counts.data)[counts.at(row, i)]).fetch_add(amount);
  }
};

/// Adds to the counts what all rows have.
/// \param call  of keys that are neighbors in memory
template <class Exec, class Bits>
void count(Exec const& exec, CountCall<StoredRows<Bits>> const& call) {
  Shape const& shape = call.shape;
  std::int64_t const n = shape.ragged ? shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
  std::int64_t const parts = host::parts_of_row(device_of(exec), shape.rows, n);
  host::launch("ktopk::host::count", exec, shape.rows * parts,
               CountPart<Bits>{call, pick_host_loops<Bits>(), parts});
}

}  // namespace ktopk::detail::host
