// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <ktopk/core/backend.hpp>
#include <ktopk/core/rank_request.hpp>
#include <ktopk/core/workspace.hpp>

// The memory in which hosts find order statistics.

namespace ktopk::detail::host {

/// The longest row whose ordered bits a thread keeps in its cache, and in its part of the workspace.
constexpr std::int64_t longest_ranked_in_cache(int key_bytes) { return (1 << 17) / key_bytes; }

/// How many intervals a read finds together, at most.
inline constexpr int intervals_together = 4;

/// A row, and where its ranks lie.
template <class Bits>
struct RankState {
  std::int64_t nth[most_ranks];  // which key is asked for, from 1 for the best; 0 if there is none
  int interval[most_ranks];      // in which it lies
  int intervals;
  Bits low[most_ranks], high[most_ranks];  // of each interval; they descend
  bool has_ties[most_ranks];               // so many keys have its ends that these are only counted
  Bits ordered[most_ranks];                // the ordered bits of each key that is found
};

/// The keys of a row around an interval and in it, counted by all threads.
struct IntervalCounts {
  std::int64_t above, held;
  std::int64_t reach_high,
      reach_low;  // if there are ties; then only what is strictly inside is held
};

template <class Bits>
struct HostRankLayout {
  HostRankLayout(void* workspace, Shape const& shape)
      : layout(workspace), rows(shape.n > longest_ranked_in_cache(shape.key_bytes) ? shape.rows : 0) {
    states = layout.take<RankState<Bits>>(rows);
    counts = layout.take<IntervalCounts>(rows * intervals_together);
    capacity = shape.n / 4;
    buffer = layout.take<Bits>(rows * capacity);
  }

  IntervalCounts* counts_of(std::int64_t row) const { return counts + row * intervals_together; }

  WorkspaceLayout layout;
  std::int64_t rows;
  RankState<Bits>* states;
  IntervalCounts* counts;
  std::int64_t capacity;  // of a row in the buffer
  Bits* buffer;
};

/// Whether rows of a shape are served, if their keys are neighbors.
inline bool serves_ranks(Device const& device, Shape const& shape) {
  return device.host && !shape.ragged && !shape.computed && shape.key_bytes >= 4;
}

inline std::size_t ranks_bytes(Device const& device, Shape const& shape) {
  if (!serves_ranks(device, shape)) return 0;
  return shape.key_bytes == 4 ? HostRankLayout<std::uint32_t>(nullptr, shape).layout.bytes()
                              : HostRankLayout<std::uint64_t>(nullptr, shape).layout.bytes();
}

}  // namespace ktopk::detail::host
