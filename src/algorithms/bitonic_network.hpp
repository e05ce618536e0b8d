// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <Kokkos_Core.hpp>

#include "../counters.hpp"
#include "../group.hpp"

// The three operators of bitonic top-k (bitonic-topk-sigmod18, section 3.2) on items or on ranks. Runs
// stand side by side as columns, so that at every distance neighbors in memory are compared with
// neighbors: SIMD registers hold whole steps on a host, threads of a team seldom meet at a memory bank,
// and the padding and chunk permutation of section 4.3 have nothing to mend.

namespace ktopk::detail {

/// Item i of run j is at items[i * columns + j].
template <class Item>
struct Runs {
  Item* items;
  int length;  // a power of two
  int columns;
  KOKKOS_FORCEINLINE_FUNCTION int size() const { return length * columns; }
};

/// Makes sorted stretches of `length` items out of bitonic ones, best first in every other stretch and
/// last in the rest. Two steps at a time, as section 4.3 combines them.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION void sort_bitonic(Steps const& steps, Runs<Item> const& runs,
                                              int length) {
  int const turn = length * runs.columns;
  int distance = turn / 2;
  for (; distance > runs.columns; distance /= 4)
    steps.exchange_twice(runs.items, runs.size(), distance, turn);
  if (distance == runs.columns) steps.exchange(runs.items, runs.size(), distance, turn);
  for (int rest = length; rest > 1; rest /= 2) tally(Count::comparisons, runs.size() / 2);
}

/// Algorithm 2: runs in any order become sorted ones, best first.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION void local_sort(Steps const& steps, Runs<Item> const& runs) {
  for (int length = 2; length <= runs.length; length *= 2) sort_bitonic(steps, runs, length);
}

/// Algorithm 3: of two sorted runs the better half, as a bitonic run. The columns of `out` are merged of
/// as many columns at `a` and at `b`, where a row has `stride` of them.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION void merge(Steps const& steps, Item const* a, Item const* b, int stride,
                                       Runs<Item> const& out) {
  steps.keep_better(a, b, stride, out);
  tally(Count::comparisons, out.size());
}

/// Algorithm 4: bitonic runs become sorted ones, best first.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION void rebuild(Steps const& steps, Runs<Item> const& runs) {
  sort_bitonic(steps, runs, runs.length);
}

/// Puts the columns of one half upside down under those of the other: of two sorted runs a bitonic one,
/// twice as long. Only a host has so few columns.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION void stack(Steps const& steps, Item const* items, int length,
                                       Runs<Item> const& out) {
  if constexpr (Steps::lanes > 1) steps.turn_down(items, length, out);
}

/// Of sorted runs the best `length` items, sorted. `other` has room for all items where the runs are
/// shorter than that, else for half of them.
template <class Steps, class Item>
KOKKOS_FORCEINLINE_FUNCTION Item const* merge_columns(Steps const& steps, Runs<Item> kept,
                                                      Runs<Item> other, int length) {
  while (kept.columns > 1) {
    other.columns = kept.columns / 2;
    if (kept.length < length) {
      other.length = 2 * kept.length;
      stack(steps, kept.items, kept.length, other);
    } else {
      other.length = length;
      merge(steps, kept.items, kept.items + other.columns, kept.columns, other);
    }
    rebuild(steps, other);
    Runs<Item> const merged = other;
    other = kept;
    kept = merged;
  }
  return kept.items;
}

/// The best `length` of `count` items, best first. load(first, runs) fills runs from the first-th item
/// on, and with 0 what is behind the last. Where the columns of a single vector fill no register, more and
/// shorter ones are sorted, and stacked until they are as long as was wanted.
/// \param best, next  length * columns items each; the result is in one of them
/// \param columns     a power of two where count > length * columns, and no fewer than Steps::lanes
template <class Steps, class Item, class Load>
KOKKOS_FORCEINLINE_FUNCTION Item const* best_run(Steps const& steps, std::int64_t count, Item* best,
                                                 Item* next, int length, int columns,
                                                 Load const& load) {
  Runs<Item> kept{best, length, columns};
  for (; kept.columns < Steps::lanes && kept.length > 1; kept.length /= 2) kept.columns *= 2;
  Runs<Item> fresh{next, kept.length, kept.columns};
  load(0, kept);
  local_sort(steps, kept);
  for (std::int64_t first = kept.size(); first < count; first += kept.size()) {
    load(first, fresh);
    local_sort(steps, fresh);
    merge(steps, kept.items, fresh.items, columns, kept);
    rebuild(steps, kept);
  }
  return merge_columns(steps.narrow(), kept, fresh, length);
}

template <class Item>
KOKKOS_FORCEINLINE_FUNCTION void order(Item& better, Item& worse) {
  Item const x = better, y = worse;
  better = x < y ? y : x;
  worse = x < y ? x : y;
}

/// Two steps on four items.
template <class Item>
KOKKOS_FORCEINLINE_FUNCTION void order_four(Item& a, Item& b, Item& c, Item& d) {
  Item w = a, x = b, y = c, z = d;
  order(w, y);
  order(x, z);
  order(w, x);
  order(y, z);
  a = w;
  b = x;
  c = y;
  d = z;
}

/// Calls body(count), where a count below `most` is a constant and every other visibly a multiple of it.
/// Both are powers of two.
template <int most, int value = 1, class Body>
KOKKOS_FORCEINLINE_FUNCTION void with_constant(int count, Body const& body) {
  if constexpr (value == most) {
    body(count / most * most);
  } else if (count == value) {
    body(std::integral_constant<int, value>{});
  } else {
    with_constant<most, 2 * value>(count, body);
  }
}

/// A host's steps on runs that all begin with the best, and may be few: where the neighbors that are
/// compared with neighbors fill no register, the compiler knows how many they are and takes several such
/// rows at once.
template <class Key>
struct NarrowHostSteps {
  static constexpr int lanes = 64 / static_cast<int>(sizeof(Key));

  KOKKOS_FORCEINLINE_FUNCTION void exchange(Key* keys, int size, int distance, int) const {
    with_constant<lanes>(distance, [=](auto count) __attribute__((always_inline)) {
      for (int i = 0; i < size; i += 2 * count) {
        Key* __restrict const better = keys + i;
        Key* __restrict const worse = better + count;
        for (int j = 0; j < count; ++j) order(better[j], worse[j]);
      }
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void exchange_twice(Key* keys, int size, int distance, int) const {
    with_constant<lanes>(distance / 2, [=](auto count) __attribute__((always_inline)) {
      for (int i = 0; i < size; i += 4 * count) {
        Key* __restrict const a = keys + i;
        Key* __restrict const b = a + count;
        Key* __restrict const c = b + count;
        Key* __restrict const d = c + count;
        for (int j = 0; j < count; ++j) order_four(a[j], b[j], c[j], d[j]);
      }
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void keep_better(Key const* a, Key const* b, int stride,
                                               Runs<Key> const& out) const {
    with_constant<lanes>(out.columns, [=](auto count) __attribute__((always_inline)) {
      for (int row = 0; row < out.length; ++row) {
        Key const* const x = a + row * stride;
        Key const* const y = b + (out.length - 1 - row) * stride;
        Key* const kept = out.items + row * count;
        for (int j = 0; j < count; ++j) kept[j] = x[j] < y[j] ? y[j] : x[j];
      }
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void turn_down(Key const* keys, int length,
                                             Runs<Key> const& out) const {
    with_constant<lanes>(out.columns, [=](auto count) __attribute__((always_inline)) {
      for (int row = 0; row < length; ++row) {
        Key const* const from = keys + 2 * row * count;
        Key* const up = out.items + row * count;
        Key* const down = out.items + (2 * length - 1 - row) * count;
        for (int j = 0; j < count; ++j) up[j] = from[j];
        for (int j = 0; j < count; ++j) down[j] = from[count + j];
      }
    });
  }
};

/// A host's steps: plain loops over neighbors in memory, which vectorize. There are at least as many
/// columns as lanes.
template <class Key>
struct HostSteps {
  static constexpr int lanes = 64 / static_cast<int>(sizeof(Key));

  /// The steps for any number of columns.
  KOKKOS_FORCEINLINE_FUNCTION static NarrowHostSteps<Key> narrow() { return {}; }

  /// Compares each item with the one at `distance` from it; in every other stretch of `turn` items the
  /// better one comes first, in the rest the worse one.
  KOKKOS_FORCEINLINE_FUNCTION void exchange(Key* keys, int size, int distance, int turn) const {
    for (int stretch = 0; stretch < size; stretch += 2 * turn) {
      for (int i = stretch; i < stretch + turn; i += 2 * distance)
        order_rows(keys + i, keys + i + distance, distance);
      if (stretch + turn == size) return;
      for (int i = stretch + turn; i < stretch + 2 * turn; i += 2 * distance)
        order_rows(keys + i + distance, keys + i, distance);
    }
  }
  /// The same at `distance` and then at half of it.
  KOKKOS_FORCEINLINE_FUNCTION void exchange_twice(Key* keys, int size, int distance,
                                                  int turn) const {
    int const half = distance / 2;
    for (int stretch = 0; stretch < size; stretch += 2 * turn) {
      for (int i = stretch; i < stretch + turn; i += 2 * distance) {
        Key* const row = keys + i;
        order_rows(row, row + half, row + distance, row + distance + half, half);
      }
      if (stretch + turn == size) return;
      for (int i = stretch + turn; i < stretch + 2 * turn; i += 2 * distance) {
        Key* const row = keys + i;
        order_rows(row + distance + half, row + distance, row + half, row, half);
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void keep_better(Key const* a, Key const* b, int stride,
                                               Runs<Key> const& out) const {
    for (int row = 0; row < out.length; ++row) {
      Key const* const x = a + row * stride;
      Key const* const y = b + (out.length - 1 - row) * stride;
      Key* const kept = out.items + row * out.columns;
      for (int i = 0; i < out.columns; ++i) kept[i] = x[i] < y[i] ? y[i] : x[i];
    }
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void order_rows(Key* __restrict better, Key* __restrict worse,
                                                     int count) {
    int const whole = count / lanes * lanes;
    for (int i = 0; i < whole; ++i) order(better[i], worse[i]);
  }
  KOKKOS_FORCEINLINE_FUNCTION static void order_rows(Key* __restrict a, Key* __restrict b,
                                                     Key* __restrict c, Key* __restrict d,
                                                     int count) {
    int const whole = count / lanes * lanes;
    for (int i = 0; i < whole; ++i) order_four(a[i], b[i], c[i], d[i]);
  }
};

/// A team's steps, in memory that it shares; all sizes are powers of two.
template <class Group>
struct TeamSteps {
  static constexpr int lanes = 1;
  Group const& group;

  KOKKOS_FORCEINLINE_FUNCTION TeamSteps narrow() const { return *this; }

  template <class Item>
  KOKKOS_FUNCTION void exchange(Item* items, int size, int distance, int turn) const {
    each(group, 0, size / 2, [&](std::int64_t pair) {
      int const p = static_cast<int>(pair), i = 2 * p - (p & (distance - 1));
      if ((i & turn) == 0)
        order(items[i], items[i + distance]);
      else
        order(items[i + distance], items[i]);
    });
    group.barrier();
  }
  template <class Item>
  KOKKOS_FUNCTION void exchange_twice(Item* items, int size, int distance, int turn) const {
    int const half = distance / 2;
    each(group, 0, size / 4, [&](std::int64_t four) {
      int const f = static_cast<int>(four), i = 4 * f - 3 * (f & (half - 1));
      bool const rises = (i & turn) != 0;
      int const step = rises ? -half : half;
      Item* const a = items + i + (rises ? 3 * half : 0);
      order_four(a[0], a[step], a[2 * step], a[3 * step]);
    });
    group.barrier();
  }
  template <class Item>
  KOKKOS_FUNCTION void keep_better(Item const* a, Item const* b, int stride,
                                   Runs<Item> const& out) const {
    each(group, 0, out.size(), [&](std::int64_t i) {
      int const row = static_cast<int>(i) / out.columns, column = static_cast<int>(i) % out.columns;
      Item const x = a[row * stride + column];
      Item const y = b[(out.length - 1 - row) * stride + column];
      out.items[i] = x < y ? y : x;
    });
    group.barrier();
  }
};

}  // namespace ktopk::detail
