// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <ktopk/core/positions.hpp>
#include <ktopk/core/reaching_call.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/workspace.hpp>

// The parts of rows of which it is counted, and listed, what reaches a threshold.

namespace ktopk::detail {

/// How rows are parted, and the parts' counts and lists.
struct ReachingScratch {
  static constexpr std::int64_t listed_share = 16;
  static constexpr int most_listed = 2048;

  ReachingScratch(WorkspaceLayout& layout, std::int64_t parts_of_row, Shape const& shape)
      : parts(parts_of_row), counts(layout.take<Count64>(shape.rows * parts)) {
    std::int64_t const length = part_of(shape.n, 0, parts).end;
    // Ragged rows may overlap.
    if (shape.ragged || length > std::int64_t{1} << 31) return;
    capacity = std::min<std::int64_t>(length / listed_share, most_listed);
    lists = layout.take<std::uint32_t>(shape.rows * parts * capacity);
  }

  std::int64_t parts;
  std::int64_t capacity = 0;  // of a part's list
  Count64* counts;
  std::uint32_t* lists = nullptr;
};

template <Rows R>
struct ReachingParts {
  using Bits = typename R::Bits;

  ReachingCall<R> call;
  ReachingScratch scratch;

  KTOPK_FUNCTION Bits threshold(std::int64_t row) const {
    auto const threshold = call.rank(call.thresholds[row * call.threshold_stride]);
    return call.skips_nan && threshold == 0 ? decltype(threshold){1} : threshold;
  }
  KTOPK_FUNCTION Range range(std::int64_t row, std::int64_t part) const {
    return part_of(call.rows.length(row), part, scratch.parts);
  }
  KTOPK_FUNCTION std::uint32_t* list(std::int64_t number) const {
    return scratch.lists + number * scratch.capacity;
  }
};

}  // namespace ktopk::detail
