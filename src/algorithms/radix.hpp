// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../arrange.hpp"
#include "../group.hpp"
#include "../host_filter.hpp"

// Most-significant-digit radix selection: histogram the top digit of all items, keep to the digit that
// holds the k-th, go on with the next. Any k up to n.
// Reads the input two to five times: until few enough are left for the buffer, then only the buffer.
// After RadiK (Li et al., ICS '24, section 3) and AIR Top-K (Zhang et al., SC '23, sections 3.1-3.3).
// Prefer it where k is a large part of n, for many short rows on CPUs, and as what never refuses.

namespace ktopk::detail {

/// Whether one_pass's count proved its result for a row.
struct Verdict {
  Count64 kept;  ///< how many items reached the threshold
  bool proven;
};

template <class Item>
struct RadixRow {
  Item prefix;               // the digits settled so far ...
  int low;                   // ... and how many bits lie below them
  bool settled;              // every item with the prefix, or above it, is a winner
  bool in_buffer;            // what may still win is in the buffer, what has won is written
  std::int64_t need;         // winners still to be found among the items with the prefix
  std::int64_t left;         // how many those items are
  unsigned arrived;          // groups done with the pass
  Count64 filled;            // items in the buffer
  Count64 common;            // bits that all ranks are known to have ...
  Count64 present;           // ... and those that some have; only where a host has looked
  Count64 emitted;           // winners written
};

/// Between which all items of a row lie.
template <class Item>
struct Bounds {
  Item least, most;
};

/// The items of a problem's rows, made on the fly. With verdicts, only of the unproven rows.
template <class Bits, class Item>
struct KeySource {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Verdict const* verdicts;
  HostLoops<Bits> loops;

  struct Reader {
    Bits const* keys;
    std::int64_t step;
    ItemMap<Bits, Item> map;
    HostLoops<Bits> loops;
    static constexpr bool reads_keys = true;
    KeyScan<Bits, Item> scan() const { return {loops, keys, step, map}; }
    KOKKOS_FORCEINLINE_FUNCTION Item operator()(std::int64_t i) const {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    }
  };
  KOKKOS_FUNCTION bool active(std::int64_t row) const {
    return verdicts == nullptr || !verdicts[row].proven;
  }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.length(row); }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const { return problem.winners(row); }
  KOKKOS_FUNCTION Bounds<Item> bounds(std::int64_t) const { return {0, ~Item{0}}; }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const {
    return problem.offsets ? problem.offsets[row] : row * problem.shape.n;
  }
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const {
    return {problem.row_keys(row), problem.key_step, map, loops};
  }
};

/// Items that lie in a list for each row; with verdicts, only of the proven rows.
template <class Bits, class Item>
struct ListSource {
  Problem<Bits> problem;
  Item const* items;
  std::int64_t stride;
  Verdict const* verdicts;
  ItemMap<Bits, Item> map{};
  Item const* least = nullptr;  // of each row, with the ranks that none is above, where these are known
  Count64 const* best_ranks = nullptr;

  struct Reader {
    Item const* items;
    static constexpr bool reads_keys = false;
    KOKKOS_FORCEINLINE_FUNCTION Item operator()(std::int64_t i) const { return items[i]; }
  };
  KOKKOS_FUNCTION bool active(std::int64_t row) const { return verdicts[row].proven; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const {
    return static_cast<std::int64_t>(verdicts[row].kept);
  }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const { return problem.winners(row); }
  KOKKOS_FUNCTION Bounds<Item> bounds(std::int64_t row) const {
    if (least == nullptr) return {0, ~Item{0}};
    Item const most = static_cast<Item>(best_ranks[row]) << map.position_bits;
    return {least[row], most | static_cast<Item>(map.position_mask)};
  }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * stride; }
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const { return {items + row * stride}; }
};

/// How a selection is cut up, and where it works.
template <class Item>
struct RadixScratch {
  RadixScratch() = default;
  /// \param n         the longest row, or the number of all keys where rows are ragged
  /// \param buffered  whether there is a buffer of a quarter of `keys` items
  RadixScratch(Pieces& pieces, Device const& device, std::int64_t rows_, std::int64_t n,
               std::int64_t keys, bool buffered)
      : rows(rows_),
        parts(parts_of_row(device, rows_, n)),
        digit_bits(n > 16384 ? 11 : 8),
        row_states(pieces.take<RadixRow<Item>>(rows_)),
        histograms(parts > 1 ? pieces.take<Count64>(rows_ << digit_bits) : nullptr),
        buffer(buffered ? pieces.take<Item>(keys / buffer_share + 1) : nullptr) {}

  static constexpr std::int64_t buffer_share = 4;

  std::int64_t rows;
  std::int64_t parts;
  int digit_bits;
  RadixRow<Item>* row_states;
  Count64* histograms;
  Item* buffer;
};

/// Puts the k best items of every active row of `source` into `sink`, in any order.
template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  WinnerSink<Bits, Item> const& sink);

template <>
struct Radix<Generic> {
  static constexpr char const* label = "ktopk::radix";
  static bool supports(Shape const&, Options const&) { return true; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
