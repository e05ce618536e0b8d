// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../arrange.hpp"
#include "../group.hpp"
#include "../host_scan.hpp"
#include "radix_tasks.hpp"

// Most-significant-digit radix selection: histogram a digit of all items, keep to the bin that holds the
// k-th, go on with the next digit. The first is laid where a sample expects the k-th. Any k up to n.
// Reads the input two or three times, more where the sample misled: until few enough are left for the
// buffer, then only the buffer.
// After RadiK (Li et al., ICS '24, 3.1, 3.2, 4.3) and AIR Top-K (Zhang et al., SC '23, 3.1-3.3).
// Prefer it where k is a large part of n, for many short rows on CPUs, and as what never refuses.

namespace ktopk::detail {

/// Whether one_pass's count proved its result for a row.
struct Verdict {
  Count64 kept;  ///< how many items reached the threshold
  bool proven;
};

/// Where the search of a row stands. A pass counts digits: the digit of an item is how many times
/// 2^shift it is above `base`, 0 where it is below it and the last one from there on. So all but the two
/// outer bins are an interval of 2^shift items, and those are what is left on their sides.
template <class Item>
struct RadixRow {
  Item floor, ceiling;  // the k-th item is one of floor .. ceiling
  Item base;            // of the digit that the next pass counts
  int shift;
  bool settled;       // every item from floor on is a winner
  bool in_buffer;     // what may still win is in the buffer, what has won is written
  bool aimed_again;   // a digit after the first was laid where a sample says
  std::int64_t need;  // winners still to be found among floor .. ceiling
  std::int64_t left;  // how many items those are
  std::int64_t slot;  // of the histogram that groups share
  Range room;         // of the row in the buffer
  unsigned arrived;   // groups done with the pass
  Count64 filled;     // items in the buffer
  Count64 emitted;    // winners written
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
    Stored<Bits> const* keys;
    std::int64_t step;
    ItemMap<Bits, Item> map;
    HostLoops<Bits> loops;
    static constexpr bool reads_keys = true;
    typedef Stored<Bits> const* Block;  // as what split names a block
    KeyScan<Bits, Item> scan() const { return {loops, keys, step, map}; }
    KOKKOS_FORCEINLINE_FUNCTION Item operator()(std::int64_t i) const {
      return map(keys[i * step], static_cast<std::uint64_t>(i));
    }
    /// How many keys key i lies behind an address that is a multiple of 64 keys.
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t i) const {
      if (step != 1) return 0;
      return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(keys + i) / sizeof(Bits) %
                                       64);
    }
  };
  KOKKOS_FUNCTION bool active(std::int64_t row) const {
    return verdicts == nullptr || !verdicts[row].proven;
  }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const { return problem.length(row); }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const { return problem.winners(row); }
  KOKKOS_FUNCTION Bounds<Item> bounds(std::int64_t) const { return {0, ~Item{0}}; }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return problem.row_begin(row); }
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
  // Of each row, with the ranks that none is above, where these are known.
  Item const* least = nullptr;
  Count64 const* best_ranks = nullptr;
  // Of each row, where winners are not in the list but written already.
  Count64 const* written = nullptr;

  struct Reader {
    Item const* items;
    static constexpr bool reads_keys = false;
    typedef Item const* Block;
    ListScan<Item> scan() const { return {items}; }
    KOKKOS_FORCEINLINE_FUNCTION Item operator()(std::int64_t i) const { return items[i]; }
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t) const { return 0; }
  };
  KOKKOS_FUNCTION bool active(std::int64_t row) const { return verdicts[row].proven; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t row) const {
    return static_cast<std::int64_t>(verdicts[row].kept);
  }
  KOKKOS_FUNCTION std::int64_t wanted(std::int64_t row) const {
    return problem.winners(row) -
           (written == nullptr ? 0 : static_cast<std::int64_t>(written[row]));
  }
  KOKKOS_FUNCTION Bounds<Item> bounds(std::int64_t row) const {
    if (least == nullptr) return {0, ~Item{0}};
    Item const most = static_cast<Item>(best_ranks[row]) << map.position_bits;
    return {least[row], most | static_cast<Item>(map.position_mask)};
  }
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * stride; }
  KOKKOS_FUNCTION Reader reader(std::int64_t row) const { return {items + row * stride}; }
};

/// Where the host may know: whether a row is to be selected.
template <class Source>
bool any_active(Source const& source, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row)
    if (source.active(row)) return true;
  return false;
}

/// How a selection is cut up, and where it works.
template <class Item>
struct RadixScratch {
  RadixScratch() = default;
  /// Of rows of no more than n items, which lie in lists.
  /// \param buffered  whether there is a buffer of a quarter of `keys` items
  RadixScratch(Pieces& pieces, Device const& device, std::int64_t rows_, std::int64_t n,
               std::int64_t keys, bool buffered)
      : RadixScratch(pieces, device, rows_, n, shared_rows_from(device, rows_, n),
                     buffered ? keys / buffer_share + 1 : 0) {
    // A list is short beside a row: what a part costs of itself counts for more than an even load.
    if (device.host) parts = std::min<std::int64_t>(parts, device.concurrency);
  }
  /// Of the rows of a shape.
  RadixScratch(Pieces& pieces, Device const& device, Shape const& shape, bool buffered)
      : RadixScratch(pieces, device, shape.rows, shape.n, shared_rows_from(device, shape),
                     buffered ? shape.keys() / buffer_share + 1 : 0) {
    if (device.host && shape.ragged) row_groups = std::min(rows, 4 * groups_on(device));
    if (shape.ragged && rows > 1) schedule.limit_claims(pieces);
  }

  static constexpr std::int64_t buffer_share = 4;
  static constexpr int digit_bits_for(std::int64_t n) { return n > 16384 ? 11 : 8; }

  /// How many groups read the rows that are shared.
  std::int64_t groups() const { return rows == 1 ? parts : schedule.groups; }

  std::int64_t rows;
  std::int64_t row_groups;   // how many groups begin rows
  std::int64_t parts;        // of the only row
  std::int64_t shared_from;  // rows of so many items are shared by groups
  std::int64_t shared_rows;  // no more than these
  int digit_bits;
  std::int64_t most_lines;  // of 64 keys, after which counts are added up
  bool has_totals;          // where a row may have more
  RadixRow<Item>* row_states;
  Count64* histograms;
  RadixSchedule schedule;
  Item* buffer;

 private:
  RadixScratch(Pieces& pieces, Device const& device, std::int64_t rows_, std::int64_t n,
               std::int64_t shared_from_, std::int64_t room)
      : rows(rows_),
        row_groups(rows),
        parts(parts_of_row(device, 1, n)),
        shared_from(shared_from_),
        shared_rows(shared_from > n ? 0 : most_shared_rows(device, rows)),
        digit_bits(digit_bits_for(n)),
        most_lines(forced_most_counted / keys_of_line),
        has_totals(n > forced_most_counted - keys_of_line),
        row_states(pieces.take<RadixRow<Item>>(rows)),
        histograms(shared_rows > 0 ? pieces.take<Count64>(shared_rows << digit_bits) : nullptr),
        schedule(pieces, device, rows > 1 ? shared_rows : 0),
        buffer(room > 0 ? pieces.take<Item>(room) : nullptr) {}
};

/// Puts the k best items of every active row of `source` into `sink`, in any order.
template <class Exec, class Source, class Bits, class Item>
void radix_select(Exec const& exec, Source const& source, RadixScratch<Item> const& scratch,
                  WinnerSink<Bits, Item> const& sink);

template <>
struct Radix<Generic> {
  static constexpr char const* label = "ktopk::radix";
  static bool supports(Device const&, Shape const&, Options const&) { return true; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options);
  template <class Exec, class Bits>
  static void run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                  void* workspace);
};

}  // namespace ktopk::detail
