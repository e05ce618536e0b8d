// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <ktopk/detail/radix_digits.hpp>
#include <ktopk/detail/radix_tasks.hpp>

#include "../arrange.hpp"
#include "../group.hpp"

// Most-significant-digit radix selection: histogram a digit of all items, keep to the bin that holds the
// k-th, go on with the next digit. The first is laid where a sample expects the k-th. Any k up to n.
// Reads the input two or three times, more where the sample misled: until few enough are left for the
// buffer, then only the buffer.
// After RadiK (Li et al., ICS '24, 3.1, 3.2, 4.3) and AIR Top-K (Zhang et al., SC '23, 3.1-3.3).
// Prefer it where k is a large part of n, and as what never refuses.

namespace ktopk::detail {

/// The items of a problem's rows, made on the fly. With verdicts, only of the unproven rows.
template <class Bits, class Item>
struct KeySource {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Verdict const* verdicts = nullptr;

  struct Reader {
    Stored<Bits> const* keys;
    std::int64_t step;
    ItemMap<Bits, Item> map;
    static constexpr bool reads_keys = true;
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
    return {problem.row_keys(row), problem.key_step, map};
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

  struct Reader {
    Item const* items;
    static constexpr bool reads_keys = false;
    KOKKOS_FORCEINLINE_FUNCTION Item operator()(std::int64_t i) const { return items[i]; }
    KOKKOS_FUNCTION std::int64_t lead(std::int64_t) const { return 0; }
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

/// From what length on several groups share a row; more than any row has where none is shared.
inline std::int64_t shared_rows_from(Device const& device, std::int64_t rows, std::int64_t n) {
  return parts_of_row(device, rows, n) > 1 ? 0 : std::numeric_limits<std::int64_t>::max();
}

/// The same of the rows of a shape. Of ragged ones those are shared that are worth two groups and longer
/// than two equal shares of all keys; so there are no more of them than half the groups.
inline std::int64_t shared_rows_from(Device const& device, Shape const& shape) {
  if (!shape.ragged || shape.rows == 1) return shared_rows_from(device, shape.rows, shape.n);
  std::int64_t const groups = std::max<std::int64_t>(1, groups_on(device));
  return std::max(2 * smallest_part(device), (2 * shape.n + groups - 1) / groups);
}

/// More rows than these are not shared.
inline std::int64_t most_shared_rows(Device const& device, std::int64_t rows) {
  return std::max<std::int64_t>(1, std::min(rows, groups_on(device) / 2));
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
                     buffered ? keys / buffer_share + 1 : 0) {}
  /// Of the rows of a shape.
  RadixScratch(Pieces& pieces, Device const& device, Shape const& shape, bool buffered)
      : RadixScratch(pieces, device, shape.rows, shape.n, shared_rows_from(device, shape),
                     buffered ? shape.keys() / buffer_share + 1 : 0) {
    if (shape.ragged && rows > 1) schedule.limit_claims(pieces);
  }

  static constexpr std::int64_t buffer_share = 4;
  static constexpr std::int64_t lines_worth_a_group = 32;
  static constexpr int digit_bits_for(std::int64_t n) { return n > 16384 ? 11 : 8; }

  /// How many groups read the rows that are shared.
  std::int64_t groups() const { return rows == 1 ? parts : schedule.groups; }

  std::int64_t rows;
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
        parts(parts_of_row(device, 1, n)),
        shared_from(shared_from_),
        shared_rows(shared_from > n ? 0 : most_shared_rows(device, rows)),
        digit_bits(digit_bits_for(n)),
        most_lines(forced_most_counted / keys_of_line),
        has_totals(n > forced_most_counted - keys_of_line),
        row_states(pieces.take<RadixRow<Item>>(rows)),
        histograms(shared_rows > 0 ? pieces.take<Count64>(shared_rows << digit_bits) : nullptr),
        schedule(pieces, groups_on(device), lines_worth_a_group, rows > 1 ? shared_rows : 0),
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
