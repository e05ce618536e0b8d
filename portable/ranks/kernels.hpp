// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include "search.hpp"

// The kernels of the search for ranks: rows that a group has to itself, and passes over rows that groups share.

namespace ktopk::detail {

/// All of a row that one group has to itself.
template <Rows R>
struct RankRowsKernel {
  RankSearch<R> search;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    auto& state = search.shared(group).row;
    search.begin(group, state, row);
    for (int pass = 0; pass < search.scratch.most_passes() && !state.done; ++pass)
      pass_over(group, state, row);
    search.store(group, state, row);
  }

 private:
  using State = RankRow<typename R::Bits>;

  /// One text for rows of every length. If it called `count` in two places, nvcc would make that a function, and every
  /// thread would copy this functor to its stack for it.
  template <class Group>
  KOKKOS_FUNCTION void pass_over(Group const& group, State& state, std::int64_t row) const {
    unsigned const* const counters = search.counters(group);
    Count64* const totals = search.scratch.is_long ? search.totals(group) : nullptr;
    if (totals != nullptr)
      each(group, 0, search.scratch.counters, [&](std::int64_t i) { totals[i] = 0; });
    group.barrier();
    search.count(group, state, state.open, row, {0, search.size_of(state, row)},
                 [&](std::int64_t i, Count64 count) {
                   if (totals != nullptr) totals[i] += count;
                 });
    search.conclude(group, state, row,
                    [&](int i) { return totals != nullptr ? totals[i] : Count64{counters[i]}; });
  }
};

/// The beginning of each row that groups share.
template <Rows R>
struct RankBegin {
  RankSearch<R> search;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index();
    search.begin(group, search.scratch.states[row], row);
    Count64* const counts = search.scratch.counts_of(row);
    each(group, 0, search.scratch.counters, [&](std::int64_t i) { counts[i] = 0; });
  }
};

/// A pass over the rows that groups share. The last group of a row concludes it.
template <Rows R>
struct RankPass {
  RankSearch<R> search;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    auto const& scratch = search.scratch;
    std::int64_t const row = group.index() / scratch.parts, part = group.index() % scratch.parts;
    auto& state = scratch.states[row];
    if (state.done) return;
    auto& memory = search.shared(group);
    RankIntervals<typename R::Bits>& open = memory.row.open;
    if (group.rank() == 0) {
      open.count = state.open.count;
      open.bracketed = state.open.bracketed;
    }
    each(group, 0, state.open.count, [&](std::int64_t i) {
      open.low[i] = state.open.low[i];
      open.high[i] = state.open.high[i];
      open.shift[i] = state.open.shift[i];
    });
    group.barrier();
    Count64* const counts = scratch.counts_of(row);
    search.count(group, state, open, row, part_of(search.size_of(state, row), part, scratch.parts),
                 [&](std::int64_t i, Count64 count) { Kokkos::atomic_add(&counts[i], count); });
    if (!last_to_arrive(group, &state.arrived, scratch.parts, &memory.flag)) return;
    search.conclude(group, state, row, [&](int i) { return counts[i]; });
    each(group, 0, scratch.counters, [&](std::int64_t i) { counts[i] = 0; });
    if (state.done) search.store(group, state, row);
  }
};

struct ClearCount {
  Count64* count;
  KOKKOS_FUNCTION void operator()(std::int64_t) const { *count = 0; }
};

template <class Exec, Rows R>
void search_ranks(Exec const& exec, RankCall<R> const& call, void* workspace) {
  using Bits = typename R::Bits;
  std::int64_t const each = call.request.keys_of_value(), at_once = call.request.most_values();
  RankLayout<Bits> const layout(workspace, device_of(exec), call.shape, call.shape.k * each);
  auto const& scratch = layout.scratch;
  int const shared = RankMemory<Bits>::bytes(scratch);
  for (std::int64_t first = 0; first < call.shape.k; first += at_once) {
    auto const values = static_cast<int>(std::min(at_once, call.shape.k - first));
    RankSearch<R> search{call.rows,  call.rank,
                         call.worst, static_cast<Bits>(call.skips_nan ? 1 : 0),
                         call.out,   call.request_from(first),
                         scratch,    first,
                         values,     static_cast<int>(values * each)};
    if (scratch.claimed != nullptr)
      launch_each("ktopk::ranks::clear", exec, 1, ClearCount{scratch.claimed});
    if (!scratch.is_shared()) {
      launch("ktopk::ranks::row", exec, scratch.rows, shared, RankRowsKernel<R>{search});
      continue;
    }
    launch<wide_team_size>("ktopk::ranks::begin", exec, scratch.rows, shared, RankBegin<R>{search});
    for (int pass = 0; pass < scratch.most_passes(); ++pass)
      launch("ktopk::ranks::pass", exec, scratch.rows * scratch.parts, shared, RankPass<R>{search});
  }
}

}  // namespace ktopk::detail
