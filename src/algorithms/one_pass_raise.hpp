// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>

#include <ktopk/detail/testing.hpp>

#include "one_pass_kept.hpp"

// What hosts learn from a trial (one_pass_trial.hpp) before they read the rest of a row.

namespace ktopk::detail {

/// Raises the threshold of a row by what the trial kept, to the lowest item of a rank, so that what ties with it is
/// not taken for a row whose parts differ; and finds what will be among the winners, where that is not known.
template <class Bits, class Item>
struct Raise {
  KeepReaching<Bits, Item> trial;
  Threshold forced;

  static constexpr std::int64_t most_held = 32768;
  static constexpr std::int64_t far_too_few = 16;  // and not one: the two best may tie

  void operator()(std::int64_t row) const {
    Kept<Item> const& kept = trial.kept;
    if (kept.certain[row] != ~Item{0}) return;
    Count64& count = kept.verdicts[row].kept;
    auto const held = static_cast<std::int64_t>(count);
    double const expected = static_cast<double>(trial.problem.winners(row)) * trial.parts.share();
    std::int64_t const order =
        forced == Threshold::raised_too_high ? far_too_few : safe_order(expected);
    if (order >= held || held > std::min(kept.capacity, most_held)) return;
    Item* const items = kept.row_items(row);
    alignas(64) Bits ranks[most_held];
    std::transform(items, items + held, ranks, [&](Item item) { return trial.map.rank_of(item); });
    auto const [least, reaching] =
        trial.loops.kth(ranks, static_cast<int>(held), static_cast<int>(order));
    if (reaching > order + order / 2 || !are_alike(items, ranks, held, least)) return;
    Item const lowest = static_cast<Item>(least) << trial.map.position_bits;
    kept.thresholds[row] = std::max(kept.thresholds[row], lowest);
    count = cut(items, ranks, held, least);
    bool const all = forced == Threshold::certain_too_low;
    find_certain(row, ranks, static_cast<int>(count),
                 static_cast<int>(all ? reaching : safe_least(expected)));
  }

 private:
  /// What is above the order-th rank, where the trial seldom has fewer winners than `order`.
  void find_certain(std::int64_t row, Bits const* ranks, int count, int order) const {
    if (order < 1 || order > count) return;
    Bits const rank = trial.loops.kth(ranks, count, order).rank;
    if (rank == std::numeric_limits<Bits>::max()) return;
    auto const above = static_cast<Bits>(rank + 1);
    trial.kept.certain[row] = static_cast<Item>(above) << trial.map.position_bits;
    trial.kept.certain_counts[row] =
        static_cast<Count64>(trial.loops.reaching(ranks, count, above));
  }

  bool are_alike(Item const* items, Bits const* ranks, std::int64_t held, Bits least) const {
    Spread spread;
    for (std::int64_t i = 0; i < held; ++i) {
      auto const position = static_cast<std::int64_t>(trial.map.position(items[i]));
      spread.add(trial.parts.stratum(position), ranks[i] >= least);
    }
    return spread.is_by_chance();
  }

  /// Keeps the items of ranks that reach `least`, and these; returns how many.
  static Count64 cut(Item* items, Bits* ranks, std::int64_t held, Bits least) {
    Count64 count = 0;
    for (std::int64_t i = 0; i < held; ++i) {
      Bits const rank = ranks[i];
      items[count] = items[i];
      ranks[count] = rank;
      count += rank >= least ? 1 : 0;
    }
    return count;
  }
};

}  // namespace ktopk::detail
