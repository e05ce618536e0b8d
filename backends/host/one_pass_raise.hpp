// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include <ktopk/detail/testing.hpp>

#include "one_pass_kept.hpp"

// What a trial (one_pass_trial.hpp) tells before the rest of a row is read.

namespace ktopk::detail::host {

/// Raises the threshold of a row by what the trial kept, and finds what will be among the winners, where that is not
/// known. Both are items, so that of equal keys no more are kept than of others.
template <class Bits, class Item>
struct Raise {
  KeepReaching<Bits, Item> trial;
  Threshold forced;

  static constexpr std::int64_t most_held = 32768;
  static constexpr int most_tied = 4096;
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
    ThreadArray<Bits> const memory(held);
    Bits* const ranks = memory.get();
    std::transform(items, items + held, ranks, [&](Item item) { return trial.map.rank_of(item); });
    auto const [least, reaching] =
        trial.loops.kth(ranks, static_cast<int>(held), static_cast<int>(order));
    // All that tie are looked at: the first of them alone would look like a row whose parts differ.
    if (reaching > order + order / 2 || !are_alike(items, ranks, held, least)) return;
    Item const bar = nth_item(items, ranks, held, {least, reaching}, order).value_or(lowest(least));
    kept.thresholds[row] = std::max(kept.thresholds[row], bar);
    count = cut(items, ranks, held, bar);
    std::int64_t const sure = forced == Threshold::certain_too_low
                                  ? static_cast<std::int64_t>(count)
                                  : safe_least(expected);
    if (sure >= 1 && sure <= static_cast<std::int64_t>(count))
      find_certain(row, items, ranks, sure);
  }

 private:
  Item lowest(Bits rank) const { return static_cast<Item>(rank) << trial.map.position_bits; }

  /// The order-th of the kept, as the trial seldom has fewer winners; where too many tie, the lowest of the next rank.
  void find_certain(std::int64_t row, Item const* items, Bits const* ranks,
                    std::int64_t order) const {
    auto const count = static_cast<int>(trial.kept.verdicts[row].kept);
    auto const reached = trial.loops.kth(ranks, count, static_cast<int>(order));
    if (auto const item = nth_item(items, ranks, count, reached, order)) {
      trial.kept.certain[row] = *item;
      trial.kept.certain_counts[row] = static_cast<Count64>(order);
    } else if (reached.rank < std::numeric_limits<Bits>::max()) {
      auto const above = static_cast<Bits>(reached.rank + 1);
      trial.kept.certain[row] = lowest(above);
      trial.kept.certain_counts[row] =
          static_cast<Count64>(trial.loops.reaching(ranks, count, above));
    }
  }

  /// The order-th best item, of which the rank is known, unless too many tie with it.
  std::optional<Item> nth_item(Item const* items, Bits const* ranks, std::int64_t held,
                               Reached<Bits> const& reached, std::int64_t order) const {
    std::int64_t const worse = reached.count - order;
    if (worse == 0) return lowest(reached.rank);
    ThreadArray<Item> const memory(most_tied + 1);
    Item* const tied = memory.get();
    int ties = 0;
    for (std::int64_t i = 0; i < held && ties <= most_tied; ++i) {
      tied[ties] = items[i];
      ties += ranks[i] == reached.rank ? 1 : 0;
    }
    if (ties > most_tied) return std::nullopt;
    std::nth_element(tied, tied + worse, tied + ties);
    return tied[worse];
  }

  bool are_alike(Item const* items, Bits const* ranks, std::int64_t held, Bits least) const {
    Spread spread;
    for (std::int64_t i = 0; i < held; ++i) {
      auto const position = static_cast<std::int64_t>(trial.map.position(items[i]));
      spread.add(trial.parts.stratum(position), ranks[i] >= least);
    }
    return spread.is_by_chance();
  }

  /// Keeps the items that reach `bar`, and their ranks; returns how many.
  static Count64 cut(Item* items, Bits* ranks, std::int64_t held, Item bar) {
    Count64 count = 0;
    for (std::int64_t i = 0; i < held; ++i) {
      Item const item = items[i];
      items[count] = item;
      ranks[count] = ranks[i];
      count += item >= bar ? 1 : 0;
    }
    return count;
  }
};

}  // namespace ktopk::detail::host
