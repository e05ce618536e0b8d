// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../host_scan.hpp"
#include "one_pass.hpp"
#include "one_pass_trial.hpp"
#include "radix.hpp"

// What one_pass keeps of its rows as it reads them, and whether that proves the result.

namespace ktopk::detail {

/// What the read keeps of each row.
template <class Item>
struct Kept {
  Kept(Pieces& pieces, std::int64_t rows, OnePassPlan const& plan)
      : capacity(plan.capacity),
        thresholds(pieces.take<Item>(rows)),
        certain(pieces.take<Item>(rows)),
        certain_counts(pieces.take<Count64>(rows)),
        written(pieces.take<Count64>(rows)),
        best_ranks(pieces.take<Count64>(rows)),
        verdicts(pieces.take<Verdict>(rows)),
        items(pieces.take<Item>(rows * plan.capacity)) {}

  KOKKOS_FUNCTION void begin(std::int64_t row, Item threshold) const {
    thresholds[row] = threshold;
    certain[row] = ~Item{0};
    certain_counts[row] = written[row] = 0;
    best_ranks[row] = 0;
    verdicts[row] = {0, false};
  }
  KOKKOS_FUNCTION Item* row_items(std::int64_t row) const { return items + row * capacity; }

  std::int64_t capacity;
  Item* thresholds;
  // What reaches it will win, unless a trial or the sample misled; where neither tells, all bits set.
  Item* certain;
  Count64* certain_counts;  // of the kept
  Count64* written;         // more that were not kept, but written to the winners
  Count64* best_ranks;      // no key's rank is above its row's, where some were kept
  Verdict* verdicts;
  Item* items;
};

/// How many parts of a row are read. Hosts share more and smaller ones: of sorted keys a few hold all that is
/// kept, which takes longer than to read the others.
inline std::int64_t keep_parts(Device const& device, Shape const& shape) {
  std::int64_t const parts = parts_of_row(device, shape.rows, shape.n);
  if (!device.host || parts == 1) return parts;
  constexpr std::int64_t short_part = std::int64_t{1} << 16;
  return std::max(parts, std::min(shape.n / short_part, std::max<std::int64_t>(256, 4 * parts)));
}

/// The one read: a part of a row, of which what reaches the threshold is kept, but for what hosts know to win.
template <class Bits, class Item>
struct KeepReaching {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  RowParts parts;
  Kept<Item> kept;
  Item* winners;  // the list of those, as a WinnerSink has it
  HostLoops<Bits> loops;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts.count();
    Range const range = parts.range(group.index() % parts.count());
    Item const threshold = kept.thresholds[row];
    Appender<Item, Group> out(group, group.template shared<std::byte>(), {kept.row_items(row)},
                              &kept.verdicts[row].kept, kept.capacity);
    Item best = 0;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((best = keep_blocks(group, row, range, out);))
    } else {
      Stored<Bits> const* const keys = problem.row_keys(row);
      each_together(
          group, range, 0,
          [&](std::int64_t i) {
            return map(keys[i * problem.key_step], static_cast<std::uint64_t>(i));
          },
          [&](Item item) {
            best = item > best ? item : best;
            out.add_if(item >= threshold, item);
          },
          [&] { flush_fuller(group, out); });
    }
    out.flush();
    if (group.rank() == 0) tally(Count::keys_read, range.end - range.begin);
    if (best >= threshold)
      Kokkos::atomic_max(&kept.best_ranks[row], static_cast<Count64>(map.rank_of(best)));
  }

  /// Puts what is certain to win to the winners at once; returns the best of the kept.
  template <class Group, class List>
  Item keep_blocks(Group const& group, std::int64_t row, Range range, List& list) const {
    Item const threshold = kept.thresholds[row], certain = kept.certain[row];
    Appender<Item, Group, PutWinner<Bits, Item>> out(group, nullptr, {{problem, map, winners}, row},
                                                     &kept.written[row], problem.winners(row));
    Item best = 0;
    auto const add = [&](int found, auto const& item) {
      best = std::max(best, list.add_reaching(found, threshold, certain, item, out));
    };
    for_each_side_of_ties(map, threshold, range.begin, range.end,
                          [&](std::int64_t begin, std::int64_t end) {
                            for_each_reaching_in_streams(
                                loops, problem.row_keys(row), problem.key_step, map, begin, end,
                                [&] { return threshold; }, add);
                          });
    out.flush();
    return std::min(best, certain);
  }
};

/// The winners are among the kept and the written, and all that are certain are among the winners, if there are
/// enough of the ones and not too many of the others.
template <class Bits, class Item>
struct Judge {
  Problem<Bits> problem;
  bool discredited;
  Kept<Item> kept;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    Verdict& verdict = kept.verdicts[row];
    auto const listed = static_cast<std::int64_t>(verdict.kept);
    auto const written = static_cast<std::int64_t>(kept.written[row]);
    auto const certain = written + static_cast<std::int64_t>(kept.certain_counts[row]);
    std::int64_t const winners = problem.winners(row);
    tally(Count::passes, 1);
    tally(Count::items_written, listed < kept.capacity ? listed : kept.capacity);
    verdict.proven = !discredited && listed + written >= winners && listed <= kept.capacity &&
                     certain <= winners;
  }
};

}  // namespace ktopk::detail
