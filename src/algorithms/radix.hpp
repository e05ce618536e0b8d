// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/detail/radix_states.hpp>

#include "../arrange.hpp"
#include "../group.hpp"

// Most-significant-digit radix selection: it counts a digit of all composite keys in a histogram, keeps the bin that
// holds the k-th, and goes on with the next digit. A sample gives the place of the first digit. Any k up to n.
// Reads the input once, and then the buffer of what may still be selected; or more often, if the sample misled or the
// buffer is too small.
// After RadiK (Li et al., ICS '24, 3.1, 3.2, 4.3) and AIR Top-K (Zhang et al., SC '23, 3.1-3.3).
// Prefer it if k is a large part of n. It supports every shape.

namespace ktopk::detail {

/// Rows of keys, which become composite keys as they are read.
template <class Bits, class CompositeKey>
struct KeySource : RowsOfKeys<Bits, CompositeKey> {
  struct Reader {
    Stored<Bits> const* keys;
    std::int64_t step;
    CompositeKeyMap<Bits, CompositeKey> map;
    static constexpr bool reads_keys = true;
    KOKKOS_FORCEINLINE_FUNCTION CompositeKey operator()(std::int64_t i) const {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    }
    /// How many keys key i lies behind an address that is a multiple of 64 keys.
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t i) const {
      if (step != 1) return 0;
      return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(keys + i) / sizeof(Bits) %
                                       64);
    }
  };
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const {
    return {this->problem.row_keys(row), this->problem.key_step, this->map};
  }
};

template <class Bits, class CompositeKey>
struct ListSource : RowsOfCompositeKeys<Bits, CompositeKey> {
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
template <class Exec, class Source, class Bits, class CompositeKey>
void radix_select(Exec const& exec, Source const& source, RadixScratch<CompositeKey> const& scratch,
                  SelectedSink<Bits, CompositeKey> const& sink);

template <>
struct Radix<Generic> {
  static constexpr Algorithm algorithm = Algorithm::radix;
  static constexpr char const* label = "ktopk::radix";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
