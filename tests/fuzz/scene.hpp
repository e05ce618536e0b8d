// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include "keys.hpp"

/// What the kernels of a case see: the case, its memory, and a report of what is wrong.

namespace ktopk::fuzz {

enum class Wrong {
  nothing,
  index_out_of_row,
  index_twice,
  value_of_index,
  order,
  better_key_left_out,
  padding_index,
  padding_value,
  count,
  written_outside_values,
  written_outside_indices,
  written_outside_counts,
  written_outside_workspace,
  keys_changed,
  values_alone,
  left_out_selected,
  value_of_rank,
  count_by_bound,
  not_reaching,
  reaching_left_out,
  slot_behind_changed
};

struct Report {
  long long failures = 0;
  Wrong wrong = Wrong::nothing;  ///< one of them
  std::int64_t row = 0, at = 0;
  std::uint64_t found = 0, expected = 0;
  std::int64_t spoiled = 0;
};

KTOPK_FUNCTION inline std::uint64_t load(void const* base, int bytes, std::int64_t at) {
  switch (bytes) {
    case 1: return static_cast<std::uint8_t const*>(base)[at];
    case 2: return static_cast<std::uint16_t const*>(base)[at];
    case 4: return static_cast<std::uint32_t const*>(base)[at];
    default: return static_cast<std::uint64_t const*>(base)[at];
  }
}

KTOPK_FUNCTION inline void store(void* base, int bytes, std::int64_t at, std::uint64_t bits) {
  switch (bytes) {
    case 1: static_cast<std::uint8_t*>(base)[at] = static_cast<std::uint8_t>(bits); break;
    case 2: static_cast<std::uint16_t*>(base)[at] = static_cast<std::uint16_t>(bits); break;
    case 4: static_cast<std::uint32_t*>(base)[at] = static_cast<std::uint32_t>(bits); break;
    default: static_cast<std::uint64_t*>(base)[at] = bits;
  }
}

/// Every byte of the outputs before a call.
inline constexpr std::uint64_t unwritten = UINT64_C(0xa5a5a5a5a5a5a5a5);

/// An array with a number for each row.
KTOPK_FUNCTION inline Placement place_of_rows(Case const& c, std::int64_t count) {
  return {1, count, guard, count * c.row_step, c.row_step};
}

/// The thresholds or bounds of all rows, in memory.
KTOPK_FUNCTION inline Placement place_of_bounds(Case const& c) {
  return {c.rows, c.asked, guard, c.asked, 1};
}
/// How many ranks, quantiles or k of rows there are in memory.
KTOPK_FUNCTION inline std::int64_t list_count(Case const& c) {
  return !c.asks_ranks() ? 0 : c.ask == Ask::kth ? c.rows : c.asked;
}

/// Buffers, each with its guards.
struct Memory {
  void *keys = nullptr, *values = nullptr, *indices = nullptr;
  void *offsets = nullptr, *wanted = nullptr, *counts = nullptr;
  void *bounds = nullptr, *lists = nullptr;  ///< of questions; lists: ranks or quantiles
  void const* host_wanted = nullptr;
};

struct Scene {
  Case c;
  Memory memory;
  std::uint32_t* marks = nullptr;  ///< a bit for each key: whether it is selected
  long long* worst = nullptr;      ///< of each row: the position of its worst selected key
  std::int64_t* numbers =
      nullptr;  ///< of each row: how many of its keys may be selected, where some may not
  std::int64_t* tallies =
      nullptr;  ///< of each rank or bound: how many keys are better, and how many are equal
  Report* report = nullptr;

  KOKKOS_FUNCTION void fail(Wrong wrong, std::int64_t row, std::int64_t at, std::uint64_t found,
                            std::uint64_t expected) const {
    if (Kokkos::atomic_fetch_add(&report->failures, 1LL) != 0) return;
    report->wrong = wrong;
    report->row = row;
    report->at = at;
    report->found = found;
    report->expected = expected;
  }

  KOKKOS_FUNCTION Row row(std::int64_t r) const {
    Row row = row_of(c, r);
    if (c.leaves_out() && numbers[r] < row.selected) row.selected = numbers[r];
    return row;
  }
  KOKKOS_FUNCTION std::int64_t key_at(std::int64_t r, Row const& row, std::int64_t i) const {
    if (c.kind_of_rows == Rows::uniform) return c.key_place.at(r, i);
    return c.key_place.at(c.is_ragged() ? 0 : r, row.begin + i);
  }
  KOKKOS_FUNCTION std::uint64_t key(std::int64_t r, Row const& row, std::int64_t i) const {
    return load(memory.keys, bytes_of(c.type), key_at(r, row, i));
  }
  /// Whether a key is one that may be selected.
  KOKKOS_FUNCTION bool may_select(std::int64_t r, Row const& row, std::int64_t i) const {
    if (c.ask == Ask::masked && !passes(c.cut, r, i)) return false;
    return !c.skips_nan() || !is_nan(c.type, key(r, row, i));
  }
  KOKKOS_FUNCTION std::int64_t keys_of(std::int64_t r, Row const& row) const {
    return c.leaves_out() ? numbers[r] : row.length;
  }
  KOKKOS_FUNCTION std::uint64_t value(std::int64_t r, std::int64_t slot) const {
    return load(memory.values, bytes_of(c.type), c.value_place.at(r, slot));
  }
  KOKKOS_FUNCTION std::uint64_t index(std::int64_t r, std::int64_t slot) const {
    return load(memory.indices, c.index_bytes(), c.index_place.at(r, slot));
  }

  /// What keys are compared with: a bound, or the value of a rank.
  KOKKOS_FUNCTION std::uint64_t bound(std::int64_t r, std::int64_t j) const {
    if (!c.has_bounds()) return value(r, j);
    return load(memory.bounds, bytes_of(c.type), place_of_bounds(c).at(r, j));
  }
  /// Keys better than a bound, and equal ones behind.
  KOKKOS_FUNCTION std::int64_t* tally(std::int64_t r, std::int64_t j) const {
    return tallies + 2 * (r * c.asked + j);
  }

  /// Whether the bits of an index are a position in the row; of a negative index they are not.
  KOKKOS_FUNCTION static bool is_position(std::uint64_t index, Row const& row) {
    return index < static_cast<std::uint64_t>(row.length);
  }
  KOKKOS_FUNCTION std::int64_t mark_of(std::int64_t r, Row const& row, std::int64_t i) const {
    return (c.may_overlap() || c.is_in_matrix() ? r * c.n : row.begin) + i;
  }

  /// Positive: key a comes before key b as numbers; 0: they are equal.
  KOKKOS_FUNCTION int before(std::uint64_t a, std::uint64_t b) const {
    int const sign = compare(c.type, c.options, a, b);
    return c.options.order == Order::largest ? sign : -sign;
  }
  /// The same for positions in a row, of which the tie rule may order equal keys.
  KOKKOS_FUNCTION int before(std::int64_t r, Row const& row, std::int64_t a, std::int64_t b) const {
    int const by_key = before(key(r, row, a), key(r, row, b));
    if (by_key != 0 || c.options.ties == Ties::any) return by_key;
    return c.options.ties == Ties::lowest_index ? compare_numbers(b, a) : compare_numbers(a, b);
  }
};

/// Numbers of all marks of a case.
KTOPK_FUNCTION inline std::int64_t mark_count(Case const& c) {
  return c.is_ragged() && !c.may_overlap() && c.rows > 0 ? c.n : c.rows * c.n;
}

/// The last row that begins at or before a key, where offsets ascend.
KTOPK_FUNCTION inline std::int64_t row_with(Case const& c, std::int64_t key) {
  std::int64_t low = 0, high = c.rows;
  while (high - low > 1) {
    std::int64_t const middle = (low + high) / 2;
    (clipped(offset(c, middle), c.n) <= key ? low : high) = middle;
  }
  return low;
}

}  // namespace ktopk::fuzz
