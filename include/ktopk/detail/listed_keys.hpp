// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include <ktopk/team.hpp>

// Sorted lists, and the kernels that merge two of each row and bring them to outputs.

namespace ktopk::detail {

/// Selected keys of some rows with their positions, in the memory of an instance and row after row: `columns` of each row,
/// best first. Slots that no key takes have the position -1, and are the last of their row.
template <class T, class I = std::int64_t>
struct ListedKeys {
  std::int64_t columns = 0;
  I* positions = nullptr;
  T* values = nullptr;
};

/// A number of each row, often the same of all.
struct RowNumbers {
  std::int64_t same;
  std::int64_t const* of_rows = nullptr;
  KOKKOS_FUNCTION std::int64_t operator[](std::int64_t row) const {
    return of_rows != nullptr ? of_rows[row] : same;
  }
};

/// Positions, or rows, as they are.
struct SamePositions {
  template <class I>
  KOKKOS_FUNCTION I operator()(I position) const {
    return position;
  }
};
using SameRows = SamePositions;

/// Merges two lists of each row, in which no position occurs twice, by a call for each of rows * (a.columns + b.columns)
/// entries: an entry's place is its own plus what a binary search finds in the other list.
template <class T, class I = std::int64_t, class PlaceB = SamePositions, class RowOfA = SameRows>
struct MergeListed {
  ListedKeys<T, I> a, b, to;
  RowNumbers limits;  // how many keys of each row are wanted
  KeyOrder<T> order;
  PlaceB place_b = {};  // makes of a position of b one beside those of a, in the same order
  std::int64_t rows_of_b = std::numeric_limits<std::int64_t>::max();  // further ones have only a
  RowOfA row_of_a = {};  // that is merged with a row of b, to the same row as that of b

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const columns = a.columns + b.columns, row = i / columns, slot = i % columns;
    bool const is_of_a = slot < a.columns;
    place(row, is_of_a ? slot : slot - a.columns, is_of_a);
  }

  /// The same for all entries of a row, one after the other: without a search, by one thread.
  void merge_row(std::int64_t row) const {
    std::int64_t const kept = limits[row] < to.columns ? limits[row] : to.columns;
    Entry first = entry(true, row, 0), second = entry(false, row, 0);
    std::int64_t of_a = 0, of_b = 0;
    for (std::int64_t out = 0; out < to.columns; ++out) {
      bool const none = out >= kept || (first.position == -1 && second.position == -1);
      bool const takes_a = second.position == -1 ||
                           (first.position != -1 && order.is_before(first.rank, first.position,
                                                                    second.rank, second.position));
      Entry const& taken = takes_a ? first : second;
      to.positions[row * to.columns + out] = none ? I{-1} : taken.position;
      to.values[row * to.columns + out] = none ? order.worst() : taken.value;
      if (none) continue;
      if (takes_a)
        first = entry(true, row, ++of_a);
      else
        second = entry(false, row, ++of_b);
    }
  }

 private:
  struct Entry {
    I position;
    T value;
    bits_of<T> rank;
  };
  /// An entry of a list; none behind its last one.
  Entry entry(bool is_of_a, std::int64_t row, std::int64_t slot) const {
    ListedKeys<T, I> const& list = is_of_a ? a : b;
    I const position = slot < list.columns ? position_of(is_of_a, row, slot) : I{-1};
    if (position == -1) return {position, order.worst(), {}};
    T const value = list.values[begin_of(is_of_a, row) + slot];
    return {position, value, order.rank(value)};
  }

  KOKKOS_FUNCTION std::int64_t begin_of(bool is_of_a, std::int64_t row) const {
    return is_of_a ? static_cast<std::int64_t>(row_of_a(row)) * a.columns : row * b.columns;
  }
  KOKKOS_FUNCTION I position_of(bool is_of_a, std::int64_t row, std::int64_t slot) const {
    std::int64_t const begin = begin_of(is_of_a, row);
    if (is_of_a) return a.positions[begin + slot];
    if (row >= rows_of_b) return I{-1};
    I const position = b.positions[begin + slot];
    return position == -1 ? position : static_cast<I>(place_b(position));
  }

  /// Unused slots come last, those of a first.
  KOKKOS_FUNCTION void place(std::int64_t row, std::int64_t slot, bool is_of_a) const {
    ListedKeys<T, I> const &own = is_of_a ? a : b, &other = is_of_a ? b : a;
    T const value = own.values[begin_of(is_of_a, row) + slot];
    T const* const values_of_other = other.values + begin_of(!is_of_a, row);
    I const position = position_of(is_of_a, row, slot);
    bool const is_unused = position == -1;
    std::int64_t const before = partition_point(other.columns, [&](std::int64_t i) {
      I const others = position_of(!is_of_a, row, i);
      if (is_unused) return others != -1 || !is_of_a;
      return others != -1 &&
             order.is_before(order.rank(values_of_other[i]), others, order.rank(value), position);
    });
    std::int64_t const out = slot + before;
    if (out >= to.columns) return;
    bool const is_wanted = !is_unused && out < limits[row];
    to.positions[row * to.columns + out] = is_wanted ? position : I{-1};
    to.values[row * to.columns + out] = is_wanted ? value : order.worst();
  }
};

/// Stores a number in an output, unless that is Nothing: at (row, slot), or in the only row.
template <class View, class X>
KOKKOS_FUNCTION void put(View const& view, std::int64_t row, std::int64_t slot, X x) {
  if constexpr (IsNothing<View>)
    return;
  else if constexpr (View::rank == 0)
    view() = static_cast<typename View::value_type>(x);
  else if constexpr (View::rank == 1)
    view(row + slot) = static_cast<typename View::value_type>(x);
  else
    view(row, slot) = static_cast<typename View::value_type>(x);
}

/// Stores lists in outputs of k slots a row, whose last ones may stay unused.
template <class T, class I, class Values, class Positions>
struct StoreListed {
  ListedKeys<T, I> lists;
  std::int64_t k;
  T worst;
  Values values;
  Positions positions;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const row = i / k, slot = i % k, entry = row * lists.columns + slot;
    bool const is_listed = slot < lists.columns;
    put(values, row, slot, is_listed ? lists.values[entry] : worst);
    put(positions, row, slot, is_listed ? lists.positions[entry] : I{-1});
  }
};

/// Tells how many keys each row has.
template <class T, class I, class Counts>
struct CountListed {
  ListedKeys<T, I> lists;
  Counts counts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    counts(row) = static_cast<typename Counts::value_type>(partition_point(
        lists.columns,
        [&](std::int64_t slot) { return lists.positions[row * lists.columns + slot] != -1; }));
  }
};

}  // namespace ktopk::detail
