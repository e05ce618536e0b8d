// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/positions.hpp>
#include <ktopk/core/reaching_call.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/unrolled.hpp>

#include "../group/group.hpp"
#include "../group/key_batches.hpp"
#include "../run/launch.hpp"

// How many keys are better than bounds, and how many are equal to them: a read of the keys for every 16 bounds.

namespace ktopk::detail {

/// Sets all counts to 0.
template <Rows R>
struct ClearCounts {
  CountCall<R> call;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    clear(call.better, i / call.shape.k, i % call.shape.k);
    clear(call.equal, i / call.shape.k, i % call.shape.k);
  }

 private:
  KOKKOS_FUNCTION static void clear(IntegerMatrix const& counts, std::int64_t row, std::int64_t i) {
    if (!counts) return;
    if (counts.bytes == 4)
      static_cast<Stored<std::int32_t>*>(counts.data)[counts.at(row, i)] = 0;
    else
      static_cast<Stored<std::int64_t>*>(counts.data)[counts.at(row, i)] = 0;
  }
};

/// Adds to a count.
KOKKOS_INLINE_FUNCTION void add_count(IntegerMatrix const& counts, std::int64_t row, std::int64_t i,
                                      std::int64_t amount) {
  if (!counts || amount == 0) return;
  // Unsigned, for which every device has an instruction.
  if (counts.bytes == 4)
    Kokkos::atomic_add(static_cast<unsigned*>(counts.data) + counts.at(row, i),
                       static_cast<unsigned>(amount));
  else
    Kokkos::atomic_add(static_cast<unsigned long long*>(counts.data) + counts.at(row, i),
                       static_cast<unsigned long long>(amount));
}

inline constexpr int bounds_at_once = 16;

/// Bounds in ascending order, the number of each in the call, and the keys that a group has counted: how many reach a bound
/// but not the next, and how many are equal.
template <class Bits>
struct SortedBounds {
  int count;
  Bits bounds[bounds_at_once];
  std::int64_t numbers[bounds_at_once];
  Count64 reaching[bounds_at_once], equal[bounds_at_once];

  KOKKOS_FUNCTION void add(Bits bound, std::int64_t number) {
    int at = count++;
    for (; at > 0 && bounds[at - 1] > bound; --at) {
      bounds[at] = bounds[at - 1];
      numbers[at] = numbers[at - 1];
    }
    bounds[at] = bound;
    numbers[at] = number;
    reaching[count - 1] = equal[count - 1] = 0;
  }
};

/// Counts in a part of a row by up to 16 bounds, from `first` on.
template <Rows R>
struct CountPart {
  using Bits = typename R::Bits;
  using Sorted = SortedBounds<Bits>;

  CountCall<R> call;
  std::int64_t parts, first;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts;
    Range const range = part_of(call.rows.length(row), group.index() % parts, parts);
    Sorted& sorted = *group.template shared<Sorted>();
    if (group.rank() == 0) sort(sorted, row);
    group.barrier();
    count(group, sorted, call.rows.row(row), range);
    group.barrier();
    if (group.rank() == 0) add_all(sorted, row);
  }

 private:
  KOKKOS_FUNCTION void sort(Sorted& sorted, std::int64_t row) const {
    sorted.count = 0;
    for (std::int64_t i = first; i < call.shape.k && i < first + bounds_at_once; ++i)
      sorted.add(call.rank(call.bounds[row * call.bound_row + i * call.bound_step]), i);
  }

  template <class Group, class Row>
  KOKKOS_FUNCTION void count(Group const& group, Sorted& sorted, Row const& row,
                             Range range) const {
    int const bounds = sorted.count;
    int start = 1;
    while (2 * start <= bounds) start *= 2;
    std::int64_t reaching[bounds_at_once + 1] = {}, equal[bounds_at_once + 1] = {};
    for_each_batch(
        group, row, range,
        [&](auto const& batch) {
          using Batch = std::remove_cvref_t<decltype(batch)>;
          std::uint32_t there = batch.held();
          if constexpr (Batch::has_gaps) there &= batch.present;
          unrolled<Batch::size>([&](auto j) {
            if ((there >> j & 1u) == 0) return;
            Bits const ordered = call.rank(batch.keys[j]);
            int reached = 0;
            for (int step = start; step > 0; step /= 2)
              if (reached + step <= bounds && ordered >= sorted.bounds[reached + step - 1])
                reached += step;
            ++reaching[reached];
            equal[reached] += reached > 0 && ordered == sorted.bounds[reached - 1] ? 1 : 0;
          });
        },
        [] {});
    for (int b = 0; b < bounds; ++b) {
      if (reaching[b + 1] != 0)
        group.fetch_add(&sorted.reaching[b], static_cast<Count64>(reaching[b + 1]));
      if (equal[b + 1] != 0) group.fetch_add(&sorted.equal[b], static_cast<Count64>(equal[b + 1]));
    }
  }

  /// Of equal bounds the last has the counts.
  KOKKOS_FUNCTION void add_all(Sorted const& sorted, std::int64_t row) const {
    std::int64_t reaching = 0, equal = 0;
    for (int b = sorted.count - 1; b >= 0; --b) {
      bool const is_last = b + 1 == sorted.count || sorted.bounds[b + 1] != sorted.bounds[b];
      if (is_last) equal = static_cast<std::int64_t>(sorted.equal[b]);
      reaching += static_cast<std::int64_t>(sorted.reaching[b]);
      add_count(call.better, row, sorted.numbers[b], reaching - equal);
      add_count(call.equal, row, sorted.numbers[b], equal);
    }
  }
};

template <class Exec, Rows R>
void count_keys(Exec const& exec, CountCall<R> const& call) {
  std::int64_t const parts = parts_of_row(device_of(exec), call.shape.rows, call.shape.n);
  std::int64_t const groups = call.shape.rows * parts, bounds = call.shape.k;
  launch_each("ktopk::count::clear", exec, call.shape.rows * bounds, ClearCounts<R>{call});
  for (std::int64_t first = 0; first < bounds; first += bounds_at_once)
    launch("ktopk::count", exec, groups, static_cast<int>(sizeof(SortedBounds<typename R::Bits>)),
           CountPart<R>{call, parts, first});
}

}  // namespace ktopk::detail
