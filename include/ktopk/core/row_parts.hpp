// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/positions.hpp>

// A row in parts, for implementations that find the best of each part. If there are several, these go to the row's list,
// one part behind the other.

namespace ktopk::detail {

/// A part of a row.
struct RowPart {
  std::int64_t row;
  Range range;
  std::int64_t wanted;  // how many of the part can be selected
  std::int64_t first;   // where in the lists of all rows they go

  KOKKOS_FUNCTION std::int64_t length() const { return range.end - range.begin; }
  /// Counts one read of the part.
  KOKKOS_FUNCTION void tally_read() const {
    tally(Count::keys_read, length());
    tally(Count::passes, range.begin == 0 ? 1 : 0);
  }
};

/// How a row is parted, and its list filled. Only the last part can be shorter than the others.
struct RowParts {
  std::int64_t n, k;  // how many keys the row has, and how many of them are selected
  std::int64_t parts;

  /// \param list  where the row's list begins
  KOKKOS_FUNCTION RowPart part(std::int64_t row, std::int64_t index, std::int64_t list) const {
    Range const range = part_of(n, index, parts);
    std::int64_t const before = index * wanted(part_of(n, 0, parts).end);
    return {row, range, wanted(range.end - range.begin), list + before};
  }
  /// How many composite keys the list gets.
  KOKKOS_FUNCTION std::int64_t listed() const {
    std::int64_t const length = part_of(n, 0, parts).end, whole = length > 0 ? n / length : 0;
    return whole * wanted(length) + wanted(n - whole * length);
  }

 private:
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t length) const { return length < k ? length : k; }
};

}  // namespace ktopk::detail
