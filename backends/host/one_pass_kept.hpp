// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/one_pass_plan.hpp>
#include <ktopk/detail/selected.hpp>

#include "appender.hpp"
#include "launch.hpp"
#include "scan.hpp"

// What one_pass keeps of its rows as it reads them, and whether that proves the result.

namespace ktopk::detail::host {

/// What the read keeps of each row.
template <class Item>
struct Kept {
  Kept(Pieces& pieces, std::int64_t rows, OnePassPlan const& plan)
      : capacity(plan.capacity),
        thresholds(pieces.take<Item>(rows)),
        best_ranks(pieces.take<Count64>(rows)),
        verdicts(pieces.take<Verdict>(rows)),
        items(pieces.take<Item>(rows * plan.capacity)) {}

  void begin(std::int64_t row, Item threshold) const {
    thresholds[row] = threshold;
    best_ranks[row] = 0;
    verdicts[row] = {0, false};
  }
  Item* row_items(std::int64_t row) const { return items + row * capacity; }

  std::int64_t capacity;
  Item* thresholds;
  Count64* best_ranks;  // no key's rank is above its row's, where some were kept
  Verdict* verdicts;
  Item* items;
};

/// How many parts of a row are read. There are more and smaller parts than elsewhere: if keys are sorted, a few parts
/// hold all kept keys, and take longer than the others.
inline std::int64_t keep_parts(Device const& device, Shape const& shape) {
  std::int64_t const parts = host::parts_of_row(device, shape.rows, shape.n);
  if (parts == 1) return parts;
  constexpr std::int64_t short_part = std::int64_t{1} << 16;
  return std::max(parts, std::min(shape.n / short_part, std::max<std::int64_t>(256, 4 * parts)));
}

/// The one read, of a part of a row. It keeps the composite keys that reach the threshold.
template <class Bits, class Item>
struct KeepReaching {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  std::int64_t parts;  // of a row
  Kept<Item> kept;
  HostLoops<Bits> loops;

  void operator()(std::int64_t index) const {
    std::int64_t const row = index / parts;
    Range const range = part_of(problem.shape.n, index % parts, parts);
    Appender<Item> out({kept.row_items(row)}, &kept.verdicts[row].kept, kept.capacity);
    Item const best = keep_blocks(row, range, out);
    out.flush();
    tally(Count::keys_read, range.end - range.begin);
    if (best >= kept.thresholds[row])
      Kokkos::atomic_max(&kept.best_ranks[row], static_cast<Count64>(map.rank_of(best)));
  }

 private:
  /// Returns the best of the kept ones.
  Item keep_blocks(std::int64_t row, Range range, Appender<Item>& list) const {
    Item const threshold = kept.thresholds[row];
    Item best = 0;
    auto const add = [&](int found, auto const& item) {
      best = std::max(best, list.add_reaching(found, threshold, item));
    };
    for_each_side_of_ties(map, threshold, range.begin, range.end,
                          [&](std::int64_t begin, std::int64_t end) {
                            for_each_reaching_in_streams(
                                loops, problem.row_keys(row), problem.key_step, map, begin, end,
                                [&] { return threshold; }, add);
                          });
    return best;
  }
};

/// Validates a row: the selected keys are among the kept ones if there are enough of these and the list held all.
template <class Bits, class Item>
struct Validate {
  Problem<Bits> problem;
  bool is_refused;
  Kept<Item> kept;
  void operator()(std::int64_t row) const {
    Verdict& verdict = kept.verdicts[row];
    auto const listed = static_cast<std::int64_t>(verdict.kept);
    tally(Count::passes, 1);
    tally(Count::items_written, listed < kept.capacity ? listed : kept.capacity);
    verdict.proven = !is_refused && listed >= problem.winners(row) && listed <= kept.capacity;
  }
};

}  // namespace ktopk::detail::host
