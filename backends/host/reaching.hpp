// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>

#include <ktopk/core/reaching_parts.hpp>

#include "../../runtime/host_threads.hpp"
#include "loops.hpp"

// What reaches a threshold, of keys that are neighbors in memory, with SIMD. A filter finds the places in their order, so
// no list need be sorted.

namespace ktopk::detail::host {

template <class Bits>
struct ReachingOfPart {
  ReachingParts<StoredRows<Bits>> of;
  HostLoops<Bits> loops;

  /// Calls body(position, many) for the places of each block's keys that reach the threshold; `position` maps a number
  /// below `many` to a position in the row, which ascends. Stops where it returns false.
  template <class Body>
  void for_each_block(std::int64_t row, Range range, Body const& body) const {
    Stored<Bits> const* const keys = of.call.rows.pointer(row);
    auto const reaching = ranks_from(of.threshold(row));
    std::uint16_t hits[long_block + 1];
    for (std::int64_t first = range.begin; first < range.end; first += long_block) {
      int const size = static_cast<int>(std::min<std::int64_t>(long_block, range.end - first));
      int const many = loops.filter(keys + first, size, of.call.rank, reaching, hits);
      if (many > 0 && !body([&](int i) { return first + hits[i]; }, many)) return;
    }
  }
  std::int64_t row(std::int64_t index) const { return index / of.scratch.parts; }
  std::int64_t part(std::int64_t index) const { return index % of.scratch.parts; }
};

/// Counts the keys of a part that reach the threshold, and lists as many as its list holds.
template <class Bits>
struct ListReaching : ReachingOfPart<Bits> {
  void operator()(std::int64_t index) const {
    auto const& of = this->of;
    Range const range = of.range(this->row(index), this->part(index));
    std::uint32_t* const list = of.list(index);
    std::int64_t found = 0;
    this->for_each_block(this->row(index), range, [&](auto const& position, int many) {
      std::int64_t const listed =
          std::min<std::int64_t>(many, std::max<std::int64_t>(0, of.scratch.capacity - found));
      for (int i = 0; i < listed; ++i)
        list[found + i] = static_cast<std::uint32_t>(position(i) - range.begin);
      found += many;
      return true;
    });
    of.scratch.counts[index] = static_cast<Count64>(found);
  }
};

/// Stores the keys of a part that reach the threshold, behind those of the parts before.
template <class Bits>
struct StoreReaching : ReachingOfPart<Bits> {
  void operator()(std::int64_t index) const {
    auto const& of = this->of;
    std::int64_t const row = this->row(index), part = this->part(index);
    auto const own = static_cast<std::int64_t>(of.scratch.counts[index]);
    std::int64_t slot = 0;
    for (std::int64_t before = index - part; before < index; ++before)
      slot += static_cast<std::int64_t>(of.scratch.counts[before]);
    if (part == of.scratch.parts - 1 && of.call.counts) of.call.counts.store(row, slot + own);
    std::int64_t const end = std::min(slot + own, of.call.shape.k);
    if (slot >= end) return;
    Stored<Bits> const* const keys = of.call.rows.pointer(row);
    auto const store = [&](std::int64_t position) {
      of.call.out.store(row, slot++, keys[position], static_cast<std::uint64_t>(position));
    };
    Range const range = of.range(row, part);
    if (own <= of.scratch.capacity) {
      std::uint32_t const* listed = of.list(index);
      while (slot < end) store(range.begin + *listed++);
    } else {
      this->for_each_block(row, range, [&](auto const& position, int many) {
        for (int i = 0; i < many && slot < end; ++i) store(position(i));
        return slot < end;
      });
    }
  }
};

/// \param of  keys that are neighbors in memory
template <class Exec, class Bits>
void store_reaching(Exec const& exec, ReachingParts<StoredRows<Bits>> const& of) {
  ReachingOfPart<Bits> const part{of, pick_host_loops<Bits>()};
  std::int64_t const parts = of.call.shape.rows * of.scratch.parts;
  host::launch("ktopk::host::reaching::list", exec, parts, ListReaching<Bits>{part});
  host::launch("ktopk::host::reaching::store", exec, parts, StoreReaching<Bits>{part});
}

}  // namespace ktopk::detail::host
