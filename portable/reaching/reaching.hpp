// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/positions.hpp>
#include <ktopk/core/reaching_parts.hpp>
#include <ktopk/core/selected.hpp>
#include <ktopk/core/unrolled.hpp>

#include "../group/group.hpp"
#include "../group/key_batches.hpp"
#include "../ranks/sort.hpp"
#include "../run/launch.hpp"

// All keys that reach a threshold, in the order of positions. One read counts those of each part of a row, and lists
// their positions if they are few. Then each part knows where its keys go: it sorts its list, or reads again.

namespace ktopk::detail {

struct ReachingLayout {
  ReachingLayout(void* workspace, Device const& device, Shape const& shape)
      : layout(workspace), scratch(layout, parts_of_row(device, shape.rows, shape.n), shape) {}
  WorkspaceLayout layout;
  ReachingScratch scratch;
};

/// Counts the keys of a part that reach the threshold, and lists as many as its list holds.
template <Rows R>
struct CountReaching {
  ReachingParts<R> of;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / of.scratch.parts;
    Range const range = of.range(row, group.index() % of.scratch.parts);
    auto const threshold = of.threshold(row);
    // The next slot of the list. It may wrap around, for then there are too many for the list.
    auto* const next = group.template shared<std::uint32_t>();
    std::uint32_t* const list = of.list(group.index());
    if (group.rank() == 0) *next = 0;
    group.barrier();
    std::int64_t found = 0;  // by this thread
    for_each_batch(
        group, of.call.rows.row(row), range,
        [&](auto const& batch) {
          using Batch = std::remove_cvref_t<decltype(batch)>;
          std::uint32_t there = batch.held(), reach = 0;
          if constexpr (Batch::has_gaps) there &= batch.present;
          unrolled<Batch::size>(
              [&](auto j) { reach |= of.call.rank(batch.keys[j]) >= threshold ? 1u << j : 0u; });
          reach &= there;
          if (reach == 0) return;
          auto const many = static_cast<std::uint32_t>(std::popcount(reach));
          found += many;
          std::int64_t slot = group.fetch_add(next, many);
          unrolled<Batch::size>([&](auto j) {
            if ((reach >> j & 1u) == 0 || slot >= of.scratch.capacity) return;
            list[slot++] = static_cast<std::uint32_t>(batch.position(j) - range.begin);
          });
        },
        [] {});
    std::int64_t const before = group.sum_before(found);
    if (group.rank() == group.size() - 1)
      of.scratch.counts[group.index()] = static_cast<Count64>(before + found);
  }
};

/// Stores the keys of a part that reach the threshold, behind those of the parts before.
template <Rows R>
struct StoreReaching {
  ReachingParts<R> of;

  static constexpr int at_once = 8;  // keys of a thread, which are neighbors
  static constexpr int head = 16;
  static constexpr int shared_bytes = head + ReachingScratch::most_listed * 4;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const parts = of.scratch.parts, row = group.index() / parts;
    std::int64_t const part = group.index() % parts;
    auto const own = static_cast<std::int64_t>(of.scratch.counts[group.index()]);
    std::int64_t const before = count_before(group, row, part);
    if (part == parts - 1 && group.rank() == 0 && of.call.counts)
      of.call.counts.store(row, before + own);
    if (own == 0 || before >= of.call.shape.k) return;
    Range const range = of.range(row, part);
    if (own <= of.scratch.capacity)
      store_listed(group, row, range.begin, before, static_cast<int>(own));
    else
      store_read(group, row, range, before);
  }

 private:
  template <class Group>
  KOKKOS_FUNCTION std::int64_t count_before(Group const& group, std::int64_t row,
                                            std::int64_t part) const {
    auto* const sum = group.template shared<std::int64_t>();
    Count64 const* const counts = of.scratch.counts + row * of.scratch.parts;
    std::int64_t mine = 0;
    each(group, 0, part, [&](std::int64_t i) { mine += static_cast<std::int64_t>(counts[i]); });
    std::int64_t const others = group.sum_before(mine);
    if (group.rank() == group.size() - 1) *sum = others + mine;
    group.barrier();
    std::int64_t const before = *sum;
    group.barrier();
    return before;
  }

  KOKKOS_FUNCTION void store(std::int64_t row, std::int64_t slot, std::int64_t position) const {
    if (slot < of.call.shape.k)
      of.call.out.store(row, slot, of.call.rows.row(row)[position],
                        static_cast<std::uint64_t>(position));
  }

  template <class Group>
  KOKKOS_FUNCTION void store_listed(Group const& group, std::int64_t row, std::int64_t begin,
                                    std::int64_t before, int own) const {
    std::uint32_t const* const list = of.list(group.index());
    auto* const sorted = group.template shared<std::uint32_t>(head);
    int count = 1;
    while (count < own) count *= 2;
    each(group, 0, count,
         [&](std::int64_t i) { sorted[i] = i < own ? list[i] : ~std::uint32_t{0}; });
    sort_numbers(group, sorted, count);
    each(group, 0, own, [&](std::int64_t i) { store(row, before + i, begin + sorted[i]); });
  }

  template <class Group>
  KOKKOS_FUNCTION void store_read(Group const& group, std::int64_t row, Range range,
                                  std::int64_t slot) const {
    auto const keys = of.call.rows.row(row);
    auto const threshold = of.threshold(row);
    auto* const found = group.template shared<Count64>();
    std::int64_t const stride = std::int64_t{at_once} * group.size();
    for (std::int64_t begin = range.begin; begin < range.end; begin += stride) {
      std::int64_t const first = begin + at_once * group.rank();
      std::uint32_t reach = 0;
      unrolled<at_once>([&](auto j) {
        if (first + j < range.end && reaches(keys, first + j, threshold)) reach |= 1u << j;
      });
      auto const many = static_cast<std::int64_t>(std::popcount(reach));
      std::int64_t to = slot + group.sum_before(many);
      unrolled<at_once>([&](auto j) {
        if ((reach >> j & 1u) != 0) store(row, to++, first + j);
      });
      // The last thread knows how many there are.
      if (group.rank() == group.size() - 1) *found = static_cast<Count64>(to - slot);
      group.barrier();
      slot += static_cast<std::int64_t>(*found);
      group.barrier();
    }
  }
  template <class Row>
  KOKKOS_FUNCTION bool reaches(Row const& keys, std::int64_t i, typename R::Bits threshold) const {
    if constexpr (R::has_gaps)
      if (!keys.holds(i)) return false;
    return of.call.rank(keys[i]) >= threshold;
  }
};

template <class Exec, Rows R>
void store_reaching(Exec const& exec, ReachingParts<R> const& of) {
  std::int64_t const groups = of.call.shape.rows * of.scratch.parts;
  launch("ktopk::reaching::count", exec, groups, 16, CountReaching<R>{of});
  launch("ktopk::reaching::store", exec, groups, StoreReaching<R>::shared_bytes,
         StoreReaching<R>{of});
}

}  // namespace ktopk::detail
