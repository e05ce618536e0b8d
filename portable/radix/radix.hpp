// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/radix_states.hpp>

#include "../finish/arrange.hpp"
#include "../run/launch.hpp"

// Most-significant-digit radix selection: it counts a digit of all composite keys in a histogram, keeps the bin that
// holds the k-th, and goes on with the next digit. A sample gives the place of the first digit. Any k up to n.
// Reads the input once, and then the buffer of what may still be selected; or more often, if the sample misled or the
// buffer is too small.
// After RadiK (Li et al., ICS '24, 3.1, 3.2, 4.3) and AIR Top-K (Zhang et al., SC '23, 3.1-3.3).
// Prefer it if k is a large part of n. It supports every shape.

namespace ktopk::detail {

/// Rows of keys, which become composite keys as they are read.
template <Rows R, class CompositeKey>
struct KeySource : RowsOfKeys<R, CompositeKey> {
  struct Reader {
    RowOf<R> row;
    CompositeKeyMap<typename R::Bits, CompositeKey> map;
    static constexpr bool reads_keys = true;
    KOKKOS_FORCEINLINE_FUNCTION CompositeKey operator()(std::int64_t i) const {
      return composite_at(map, row, i);
    }
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t i) const { return row.lead(i); }
  };
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const {
    return {this->problem.rows.row(row), this->map};
  }
};

template <Rows R, class CompositeKey>
struct ListSource : RowsOfCompositeKeys<R, CompositeKey> {
  struct Reader {
    CompositeKey const* composites;
    static constexpr bool reads_keys = false;
    KOKKOS_FORCEINLINE_FUNCTION CompositeKey operator()(std::int64_t i) const {
      return composites[i];
    }
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t) const { return 0; }
  };
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const {
    return {this->composites + row * this->stride};
  }
};

inline RadixGroups radix_groups(Device const& device) {
  constexpr std::int64_t lines_worth_a_group = 32;
  return {groups_on(device), smallest_part(device), lines_worth_a_group};
}

template <class CompositeKey>
struct RadixScratch : RadixWorkspace<CompositeKey> {
  RadixScratch() = default;
  RadixScratch(WorkspaceLayout& layout, Device const& device, std::int64_t rows, std::int64_t n,
               std::int64_t keys, bool buffered)
      : RadixWorkspace<CompositeKey>(layout, radix_groups(device), rows, n, keys, buffered) {}
  RadixScratch(WorkspaceLayout& layout, Device const& device, Shape const& shape, bool buffered)
      : RadixWorkspace<CompositeKey>(layout, radix_groups(device), shape, buffered) {}
};

/// Puts the k best composite keys of every active row of `source` into `sink`, in any order.
template <class Exec, class Source, Rows R, class CompositeKey>
void radix_select(Exec const& exec, Source const& source, RadixScratch<CompositeKey> const& scratch,
                  SelectedSink<R, CompositeKey> const& sink);

template <>
struct Radix<Generic> {
  static constexpr Algorithm algorithm = Algorithm::radix;
  static constexpr char const* label = "ktopk::radix";
  static constexpr bool serves_computed = true;
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, Rows R>
  static void run(Exec const& exec, Problem<R> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
