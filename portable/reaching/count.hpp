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
  // Of types for which every device has an instruction.
  if (counts.bytes == 4)
    Kokkos::atomic_add(static_cast<unsigned*>(counts.data) + counts.at(row, i),
                       static_cast<unsigned>(amount));
  else
    Kokkos::atomic_add(static_cast<Count64*>(counts.data) + counts.at(row, i),
                       static_cast<Count64>(amount));
}

inline constexpr int most_bounds = 16;

/// Bounds of a row by which a group counts, and its counts: keys that reach a bound, and keys that are equal to it.
template <class Bits>
struct CountedBounds {
  Bits bounds[most_bounds];
  Count64 reaching[most_bounds], equal[most_bounds];
  // Of a piece: 32 bits, to which a group adds in its memory by one instruction.
  unsigned piece_reaching[most_bounds], piece_equal[most_bounds];
};

/// Counts in a part of a row by up to `at_once` bounds, from `first` on. A thread holds bounds and counts in registers.
template <Rows R, int at_once>
struct CountPart {
  using Bits = typename R::Bits;
  using Counted = CountedBounds<Bits>;

  CountCall<R> call;
  std::int64_t parts, first;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts;
    Range range = part_of(call.rows.length(row), group.index() % parts, parts);
    auto& counted = *group.template shared<Counted>();
    each(group, 0, at_once, [&](std::int64_t b) { begin(counted, row, static_cast<int>(b)); });
    group.barrier();
    // In pieces, so that a thread's counts need 32 bits.
    for (std::int64_t const end = range.end; range.begin < end; range.begin = range.end) {
      range.end = end - range.begin < longest_piece ? end : range.begin + longest_piece;
      count(group, counted, call.rows.row(row), range);
      group.barrier();
      each(group, 0, at_once, [&](std::int64_t b) { settle(counted, static_cast<int>(b)); });
      group.barrier();
    }
    each(group, 0, bounds(), [&](std::int64_t b) { add(counted, row, static_cast<int>(b)); });
  }

 private:
  static constexpr std::int64_t longest_piece = std::int64_t{1} << 31;

  KOKKOS_FUNCTION int bounds() const {
    return static_cast<int>(call.shape.k - first < at_once ? call.shape.k - first : at_once);
  }
  KOKKOS_FUNCTION void begin(Counted& counted, std::int64_t row, int b) const {
    std::int64_t const i = first + (b < bounds() ? b : 0);
    counted.bounds[b] = call.rank(call.bounds[row * call.bound_row + i * call.bound_step]);
    counted.reaching[b] = counted.equal[b] = 0;
    counted.piece_reaching[b] = counted.piece_equal[b] = 0;
  }
  KOKKOS_FUNCTION static void settle(Counted& counted, int b) {
    counted.reaching[b] += counted.piece_reaching[b];
    counted.equal[b] += counted.piece_equal[b];
    counted.piece_reaching[b] = counted.piece_equal[b] = 0;
  }

  template <class Group, class Row>
  KOKKOS_FUNCTION void count(Group const& group, Counted& counted, Row const& row,
                             Range range) const {
    Bits bounds[at_once];
    unsigned reaching[at_once] = {}, equal[at_once] = {};
    unrolled<at_once>([&](auto b) { bounds[b] = counted.bounds[b]; });
    for_each_batch(
        group, row, range,
        [&](auto const& batch) {
          using Batch = std::remove_cvref_t<decltype(batch)>;
          constexpr std::uint32_t whole = ~std::uint32_t{0} >> (32 - Batch::size);
          Bits ordered[Batch::size];
          unrolled<Batch::size>([&](auto j) { ordered[j] = call.rank(batch.keys[j]); });
          std::uint32_t there = batch.held();
          if constexpr (Batch::has_gaps) there &= batch.present;
          auto const count_those = [&](auto const& is_there) {
            unrolled<at_once>([&](auto b) {
              for (int j = 0; j < Batch::size; ++j) {
                reaching[b] += is_there(j) && ordered[j] >= bounds[b] ? 1u : 0u;
                equal[b] += is_there(j) && ordered[j] == bounds[b] ? 1u : 0u;
              }
            });
          };
          if (there == whole)
            count_those([](int) { return true; });
          else
            count_those([&](int j) { return (there >> j & 1u) != 0; });
        },
        [] {});
    unrolled<at_once>([&](auto b) {
      if (reaching[b] != 0) group.fetch_add(&counted.piece_reaching[b], reaching[b]);
      if (equal[b] != 0) group.fetch_add(&counted.piece_equal[b], equal[b]);
    });
  }

  KOKKOS_FUNCTION void add(Counted const& counted, std::int64_t row, int b) const {
    auto const equal = static_cast<std::int64_t>(counted.equal[b]);
    add_count(call.better, row, first + b, static_cast<std::int64_t>(counted.reaching[b]) - equal);
    add_count(call.equal, row, first + b, equal);
  }
};

template <int at_once, class Exec, Rows R>
void count_by(Exec const& exec, CountCall<R> const& call, std::int64_t parts, std::int64_t first) {
  launch("ktopk::count", exec, call.shape.rows * parts,
         static_cast<int>(sizeof(CountedBounds<typename R::Bits>)),
         CountPart<R, at_once>{call, parts, first});
}

template <class Exec, Rows R>
void count_keys(Exec const& exec, CountCall<R> const& call) {
  std::int64_t const parts = parts_of_row(device_of(exec), call.shape.rows, call.shape.n);
  std::int64_t const bounds = call.shape.k;
  launch_each("ktopk::count::clear", exec, call.shape.rows * bounds, ClearCounts<R>{call});
  for (std::int64_t first = 0; first < bounds; first += most_bounds) {
    std::int64_t const left = bounds - first;
    if (left == 1)
      count_by<1>(exec, call, parts, first);
    else if (left <= 4)
      count_by<4>(exec, call, parts, first);
    else
      count_by<most_bounds>(exec, call, parts, first);
  }
}

}  // namespace ktopk::detail
