// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <ktopk/core/counters.hpp>

#include "../group/group.hpp"

// The three operators of bitonic top-k (bitonic-topk-sigmod18, section 3.2), in memory that a group shares. Runs lie
// side by side as columns, so that at every distance neighbors in memory are compared with neighbors. So the threads of
// a team seldom meet at a memory bank, and the padding and the chunk permutation of section 4.3 are not needed.

namespace ktopk::detail {

/// Composite key i of run j is at composites[i * columns + j].
template <class CompositeKey>
struct Runs {
  CompositeKey* composites;
  int length;  // a power of two
  int columns;
  KOKKOS_FORCEINLINE_FUNCTION int size() const { return length * columns; }
};

/// Sorts bitonic sequences of `length`: the best comes first in every other sequence and last in the rest. It takes two
/// steps at a time, as section 4.3 combines them.
template <class Steps, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void sort_bitonic(Steps const& steps, Runs<CompositeKey> const& runs,
                                              int length) {
  int const turn = length * runs.columns;
  int distance = turn / 2;
  for (; distance > runs.columns; distance /= 4)
    steps.exchange_twice(runs.composites, runs.size(), distance, turn);
  if (distance == runs.columns) steps.exchange(runs.composites, runs.size(), distance, turn);
  for (int rest = length; rest > 1; rest /= 2) tally(Count::comparisons, runs.size() / 2);
}

/// Algorithm 2: sorts runs, best first.
template <class Steps, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void local_sort(Steps const& steps, Runs<CompositeKey> const& runs) {
  for (int length = 2; length <= runs.length; length *= 2) sort_bitonic(steps, runs, length);
}

/// Algorithm 3: merges two sorted runs into their better half, a bitonic run. Each column of `out` comes from a column
/// at `a` and one at `b`, which have `stride` columns.
template <class Steps, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void merge(Steps const& steps, CompositeKey const* a,
                                       CompositeKey const* b, int stride,
                                       Runs<CompositeKey> const& out) {
  steps.keep_better(a, b, stride, out);
  tally(Count::comparisons, out.size());
}

/// Algorithm 4: sorts bitonic runs, best first.
template <class Steps, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void rebuild(Steps const& steps, Runs<CompositeKey> const& runs) {
  sort_bitonic(steps, runs, runs.length);
}

/// Returns the best run of all columns, sorted. `other` has memory for half of the columns.
template <class Steps, class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION CompositeKey const* merge_columns(Steps const& steps,
                                                              Runs<CompositeKey> kept,
                                                              Runs<CompositeKey> other) {
  while (kept.columns > 1) {
    other.columns = kept.columns / 2;
    merge(steps, kept.composites, kept.composites + other.columns, kept.columns, other);
    rebuild(steps, other);
    Runs<CompositeKey> const merged = other;
    other = kept;
    kept = merged;
  }
  return kept.composites;
}

/// Returns the best `length` of some composite keys, best first. fill(runs) fills runs with the next of them, and with
/// zeros after the last; it returns whether there are more.
/// \param best, next  length * columns each; the result is in one of them
/// \param columns     a power of two
template <class Steps, class CompositeKey, class Fill>
KOKKOS_FORCEINLINE_FUNCTION CompositeKey const* best_run(Steps const& steps, CompositeKey* best,
                                                         CompositeKey* next, int length,
                                                         int columns, Fill&& fill) {
  Runs<CompositeKey> const kept{best, length, columns}, fresh{next, length, columns};
  bool more = fill(kept);
  local_sort(steps, kept);
  while (more) {
    more = fill(fresh);
    local_sort(steps, fresh);
    merge(steps, kept.composites, fresh.composites, columns, kept);
    rebuild(steps, kept);
  }
  return merge_columns(steps, kept, fresh);
}

template <class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void order(CompositeKey& better, CompositeKey& worse) {
  CompositeKey const x = better, y = worse;
  better = x < y ? y : x;
  worse = x < y ? x : y;
}

/// Takes two steps on four composite keys.
template <class CompositeKey>
KOKKOS_FORCEINLINE_FUNCTION void order_four(CompositeKey& a, CompositeKey& b, CompositeKey& c,
                                            CompositeKey& d) {
  CompositeKey w = a, x = b, y = c, z = d;
  order(w, y);
  order(x, z);
  order(w, x);
  order(y, z);
  a = w;
  b = x;
  c = y;
  d = z;
}

/// The steps of a group; all sizes are powers of two.
template <class Group>
struct TeamSteps {
  Group const& group;

  /// Compares each composite key with the one at `distance` from it; in every other sequence of `turn` of them the
  /// better one comes first, in the rest the worse one.
  template <class CompositeKey>
  KOKKOS_FUNCTION void exchange(CompositeKey* composites, int size, int distance, int turn) const {
    each(group, 0, size / 2, [&](std::int64_t pair) {
      int const p = static_cast<int>(pair), i = 2 * p - (p & (distance - 1));
      if ((i & turn) == 0)
        order(composites[i], composites[i + distance]);
      else
        order(composites[i + distance], composites[i]);
    });
    group.barrier();
  }
  /// The same at `distance` and then at half of it.
  template <class CompositeKey>
  KOKKOS_FUNCTION void exchange_twice(CompositeKey* composites, int size, int distance,
                                      int turn) const {
    int const half = distance / 2;
    each(group, 0, size / 4, [&](std::int64_t four) {
      int const f = static_cast<int>(four), i = 4 * f - 3 * (f & (half - 1));
      bool const rises = (i & turn) != 0;
      int const step = rises ? -half : half;
      CompositeKey* const a = composites + i + (rises ? 3 * half : 0);
      order_four(a[0], a[step], a[2 * step], a[3 * step]);
    });
    group.barrier();
  }
  /// Keeps the better one of each composite key of a run at `a` and its counterpart, from the end of the run at `b`.
  template <class CompositeKey>
  KOKKOS_FUNCTION void keep_better(CompositeKey const* a, CompositeKey const* b, int stride,
                                   Runs<CompositeKey> const& out) const {
    each(group, 0, out.size(), [&](std::int64_t i) {
      int const row = static_cast<int>(i) / out.columns, column = static_cast<int>(i) % out.columns;
      CompositeKey const x = a[row * stride + column];
      CompositeKey const y = b[(out.length - 1 - row) * stride + column];
      out.composites[i] = x < y ? y : x;
    });
    group.barrier();
  }
};

}  // namespace ktopk::detail
