// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/positions.hpp>
#include <ktopk/core/rank_request.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/testing.hpp>

#include "../run/launch.hpp"

// Order statistics: the keys of up to 16 ranks of each row, found together.
//
// A sample of a row brackets the ranks. One read of the row counts the keys around the bracket and, by digit, those in
// it, and moves these to a buffer if they are few (as radix does: AIR Top-K, Zhang et al., SC '23, 3.2; its first digit is
// aimed by a sample, as in RadiK, Li et al., ICS '24, 4.3). Each further pass reads the buffer, or the row, and keeps of
// each interval the bins that hold ranks. The last few keys are sorted. A bracket that misses a rank costs reads, never
// the answer: the keys around it were counted.
// Only ordered bits matter, not positions, so there are no composite keys.

namespace ktopk::detail {

/// Intervals of ordered bits in which the keys of some ranks lie: they ascend and do not overlap.
template <class Bits>
struct RankIntervals {
  int count;
  bool bracketed;  // there is one, laid by a sample: keys around it are not counted yet
  Bits low[most_ranks], high[most_ranks];
  int shift[most_ranks];  // key x has the digit (x - low) >> shift

  /// Lays a digit of `bins` values, a power of two, over each interval.
  KOKKOS_FUNCTION void lay_digits(int bins) {
    int const digit = Kokkos::bit_width(static_cast<unsigned>(bins)) - 1;
    for (int i = 0; i < count; ++i) {
      std::uint64_t const span = static_cast<Bits>(high[i] - low[i]);
      int const width = static_cast<int>(Kokkos::bit_width(span));
      shift[i] = width > digit ? width - digit : 0;
    }
  }
};

/// What is known of a row's ranks.
template <class Bits>
struct RankRow {
  RankIntervals<Bits> open;
  Count64 left[most_ranks];  // keys in each interval
  int interval[most_ranks];  // of each rank that is not found
  bool found[most_ranks];    // or there is no such rank
  Count64 need
      [most_ranks];  // which key of the interval it is, from 1 for the best; 0 if there is no such rank
  Bits ordered[most_ranks];  // of the key, once found
  Count64 reaching;          // keys that reach the bracket
  Count64 present;
  Range buffer;    // the row's part of the buffers
  Count64 filled;  // keys in the buffer that this pass writes
  Count64 held;    // keys in the buffer that this pass reads
  int side;        // of the two buffers, that which holds them
  bool in_buffer, filters, done;
  unsigned arrived;

  /// Makes it that of a row of which nothing is known. Whatever else there is, a pass writes first: one thread does this.
  KOKKOS_FUNCTION void clear(int keys) {
    open.bracketed = in_buffer = filters = done = false;
    for (int key = 0; key < keys; ++key) {
      found[key] = false;
      need[key] = 0;
    }
    reaching = present = filled = held = 0;
    side = 0;
    arrived = 0;
  }
};

/// How the search is divided, and the memory in which it works.
template <class Bits>
struct RankScratch {
  static constexpr int counters = 2048;  // of a group, for the digits of all intervals
  static constexpr std::int64_t buffer_share = 4, second_share = 4;
  static constexpr bool has_buffer = sizeof(Bits) >= 4;  // narrow keys have few digits

  RankScratch(WorkspaceLayout& layout, Device const& device, Shape const& shape, std::int64_t keys)
      : rows(shape.rows),
        parts(parts_of_row(device, shape.rows, shape.n)),
        together(static_cast<int>(std::min<std::int64_t>(keys, most_ranks))),
        is_long(shape.n > forced_most_counted),
        most_counted(forced_most_counted),
        capacity(has_buffer ? shape.keys() / buffer_share : 0) {
    if (shape.ragged && has_buffer) claimed = layout.take<Count64>(1);
    if (is_shared()) {
      states = layout.take<RankRow<Bits>>(rows);
      counts = layout.take<Count64>(rows * counters);
    }
    buffers[0] = layout.take<Bits>(capacity);
    buffers[1] = layout.take<Bits>(capacity / second_share);
  }

  /// Whether groups share rows.
  KOKKOS_FUNCTION bool is_shared() const { return parts > 1; }
  /// How many digits each of several intervals has.
  KOKKOS_FUNCTION static int bins_of(int intervals) {
    int bins = counters;
    for (int most = 1; most < intervals; most *= 2) bins /= 2;
    return bins;
  }
  /// After so many passes every interval is one key: each pass but the first, which may count brackets in vain, leaves a
  /// digit less.
  KOKKOS_FUNCTION int most_passes() const {
    int digit = 0;
    while (2 << digit <= bins_of(together)) ++digit;
    return 1 + (static_cast<int>(8 * sizeof(Bits)) + digit - 1) / digit;
  }

  KOKKOS_FUNCTION Count64* counts_of(std::int64_t row) const { return counts + row * counters; }

  std::int64_t rows, parts;
  int together;
  bool is_long;
  std::int64_t most_counted, capacity;
  Count64* claimed = nullptr;  // of the buffers, by ragged rows
  RankRow<Bits>* states = nullptr;
  Count64* counts = nullptr;
  Bits* buffers[2];
};

template <class Bits>
struct RankLayout {
  RankLayout(void* workspace, Device const& device, Shape const& shape, std::int64_t keys)
      : layout(workspace), scratch(layout, device, shape, keys) {}
  WorkspaceLayout layout;
  RankScratch<Bits> scratch;
};

/// Finds the values of a call, in a workspace as RankLayout lays out.
template <class Exec, Rows R>
void search_ranks(Exec const& exec, RankCall<R> const& call, void* workspace);

}  // namespace ktopk::detail
