// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass.hpp"

#include <algorithm>
#include <limits>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/testing.hpp>

#include "../arrange.hpp"
#include "../kth_largest.hpp"
#include "one_pass_kept.hpp"
#include "radix.hpp"

namespace ktopk::detail {

/// A fallback on rows of up to so many keys is one group's: it is so seldom that its time matters less than that of the
/// launches that many groups would need, even where none of them has anything to do.
inline constexpr std::int64_t longest_fallback_of_group = 1 << 23;
inline constexpr std::int64_t longest_list_of_group = 1 << 30;

/// A group samples a row alone, so the sample is small; a threshold of less precision costs little beside one read. Of
/// longer rows it is as large as the bound on the lists demands.
inline OnePassPlan group_plan(std::int64_t n, std::int64_t k) {
  constexpr std::int64_t most = 4096, long_row = std::int64_t{1} << 31;
  std::int64_t const samples = sample_size(n, k);
  return one_pass_plan(n, k, n < long_row ? std::min(samples, most) : samples);
}

template <class Item>
struct OnePassPieces {
  OnePassPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        plan(group_plan(shape.n, shape.k)),
        parts(parts_of_row(device, shape.rows, shape.n)),
        lists_are_shared(parts_of_row(device, shape.rows, plan.capacity) > 1 ||
                         plan.capacity > longest_list_of_group),
        fallback_is_shared(shape.n > longest_fallback_of_group),
        winners(pieces, shape, options),
        samples(pieces.take<Item>(shape.rows * plan.samples)),
        kept(pieces, shape.rows, plan.capacity) {
    if (lists_are_shared)
      finish = RadixScratch<Item>(pieces, device, shape.rows, plan.capacity, 0, false);
    if (fallback_is_shared) fallback = RadixScratch<Item>(pieces, device, shape, false);
  }

  Pieces pieces;
  OnePassPlan plan;
  std::int64_t parts;  // of a row
  bool lists_are_shared, fallback_is_shared;
  Winners<Item> winners;
  Item* samples;
  Kept<Item> kept;
  RadixScratch<Item> finish{};
  RadixScratch<Item> fallback{};
};

/// What a group does with a row, or with its part of one.
template <class Bits, class Item>
struct OnePassRow {
  WinnerSink<Bits, Item> sink;
  OnePassPlan plan;
  Threshold forced;
  Item* samples;
  Kept<Item> kept;

  /// Samples a key of every stratum, and leaves the order statistic that is the threshold. Together.
  template <class Group>
  KOKKOS_FUNCTION void find_threshold(Group const& group, std::int64_t row) const {
    Strata const strata(sink.problem.shape.n, plan.samples);
    Stored<Bits> const* const keys = sink.problem.row_keys(row);
    Item* const sample = samples + row * plan.samples;
    each(group, 0, plan.samples, [&](std::int64_t i) {
      std::int64_t const place = strata.place(i);
      sample[i] = sink.map(keys[place * sink.problem.key_step], static_cast<std::uint64_t>(place));
    });
    group.barrier();
    KthLargest<Group, Item> const kth_largest(group, group.template shared<std::byte>());
    Item threshold =
        kth_largest(plan.samples, plan.order, [&](std::int64_t i) { return sample[i]; });
    if (forced == Threshold::too_high) threshold = ~Item{0};
    if (forced == Threshold::too_low) threshold = Item{0};
    if (group.rank() == 0) {
      kept.thresholds[row] = threshold;
      kept.verdicts[row] = {0, false};
      tally(Count::keys_read, plan.samples);
    }
    group.barrier();
  }

  template <class Group>
  KOKKOS_FUNCTION void keep(Group const& group, std::int64_t row, std::int64_t part,
                            std::int64_t parts) const {
    double const expected = static_cast<double>(plan.order) *
                            static_cast<double>(sink.problem.shape.n) /
                            static_cast<double>(plan.samples * parts);
    keep_part(group, group.template shared<std::byte>(), sink.problem, sink.map, kept,
              {row, part_of(sink.problem.shape.n, part, parts), expected});
  }

  /// Whether the selected keys are among the kept: there are enough of them and all found a place.
  KOKKOS_FUNCTION bool is_proven(std::int64_t row) const {
    auto const listed = static_cast<std::int64_t>(kept.verdicts[row].kept);
    return forced != Threshold::too_low && listed >= sink.problem.winners(row) &&
           listed <= kept.capacity;
  }
  KOKKOS_FUNCTION void tally_kept(std::int64_t row) const {
    auto const listed = static_cast<std::int64_t>(kept.verdicts[row].kept);
    tally(Count::passes, 1);
    tally(Count::items_written, listed < kept.capacity ? listed : kept.capacity);
  }

  /// Selects from the list of a proven row. Together.
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t row) const {
    Item const* const list = kept.list(row);
    select(group, row, static_cast<std::int64_t>(kept.verdicts[row].kept),
           [&](std::int64_t i) { return list[i]; });
  }
  /// Selects from the keys of a row that is not proven. Together.
  template <class Group>
  KOKKOS_FUNCTION void fall_back(Group const& group, std::int64_t row) const {
    Stored<Bits> const* const keys = sink.problem.row_keys(row);
    std::int64_t const step = sink.problem.key_step;
    select(group, row, sink.problem.length(row),
           [&](std::int64_t i) { return sink.map(keys[i * step], static_cast<std::uint64_t>(i)); });
  }

 private:
  /// Puts the best of read(0), read(1) ... into the sink, in any order.
  template <class Group, class Read>
  KOKKOS_FUNCTION void select(Group const& group, std::int64_t row, std::int64_t count,
                              Read const& read) const {
    std::int64_t const k = sink.problem.winners(row);
    if (k == 0) return;
    KthLargest<Group, Item> const kth_largest(group, group.template shared<std::byte>());
    Item const threshold = kth_largest(count, k, read);
    int* const next = group.template shared<int>();
    group.barrier();
    if (group.rank() == 0) *next = 0;
    group.barrier();
    constexpr int at_once = 8;
    for (std::int64_t begin = group.rank(); begin < count; begin += at_once * group.size()) {
      Item items[at_once];
      std::uint32_t reaching = 0;
      unrolled<at_once>([&](auto j) {
        std::int64_t const i = begin + j * group.size();
        if (i < count) items[j] = read(i);
        if (i < count && items[j] >= threshold) reaching |= 1u << j;
      });
      if (reaching == 0) continue;
      int slot = group.fetch_add(next, Kokkos::Experimental::popcount_builtin(reaching));
      unrolled<at_once>([&](auto j) {
        if ((reaching >> j & 1u) != 0) sink.put(row, slot++, items[j]);
      });
    }
  }
};

template <class Item>
int one_pass_shared_bytes() {
  return std::max(group_list_bytes<Item>(), kth_largest_bytes<Item>());
}

template <class Row>
struct FindThresholds {
  Row row;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    row.find_threshold(group, group.index());
  }
};

/// The one read: a part of a row, of which what reaches the threshold is kept.
template <class Row>
struct KeepReaching {
  Row row;
  std::int64_t parts;  // of a row
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    row.keep(group, group.index() / parts, group.index() % parts, parts);
  }
};

/// Selects from the lists, and from the keys of rows that are not proven, unless groups share these.
template <class Row>
struct FinishRows {
  Row row;
  bool lists_are_shared, fallback_is_shared;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    finish(group, group.index());
  }
  template <class Group>
  KOKKOS_FUNCTION void finish(Group const& group, std::int64_t r) const {
    bool const proven = row.is_proven(r);
    if (group.rank() == 0) {
      row.kept.verdicts[r].proven = proven;
      row.tally_kept(r);
    }
    if (proven && !lists_are_shared) row.finish(group, r);
    if (!proven && !fallback_is_shared) row.fall_back(group, r);
  }
};

/// All of it, by one group a row.
template <class Row>
struct SelectRows {
  Row row;
  FinishRows<Row> last;
  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const r = group.index();
    row.find_threshold(group, r);
    row.keep(group, r, 0, 1);
    last.finish(group, r);
  }
};

/// Whether a row's keys lie further apart than the rows, as in LayoutLeft.
template <class Bits>
bool rows_are_neighbors(Problem<Bits> const& problem) {
  auto const size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  return problem.shape.rows > 1 && size(problem.key_row) < size(problem.key_step);
}

template <class Exec, class Bits, class Item>
void keep_of_neighbors(Exec const& exec, OnePassRow<Bits, Item> const& row) {
  using Keep = KeepOfNeighbors<Bits, Item>;
  Shape const& shape = row.sink.problem.shape;
  std::int64_t const across = Keep::rows_of_group(is_host_space<Exec> ? 1 : team_size);
  std::int64_t const blocks = (shape.rows + across - 1) / across;
  std::int64_t const parts = parts_of_row(device_of(exec), blocks, shape.n * across);
  launch("ktopk::one_pass::keep", exec, blocks * parts, 0,
         Keep{row.sink.problem, row.sink.map, row.kept, parts});
}

KTOPK_INLINE std::size_t OnePass<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<OnePassPieces>(device, shape, options);
}

/// Enqueues the reading of rows that several groups share, or that lie across each other.
template <class Exec, class Bits, class Item>
void keep_by_parts(Exec const& exec, OnePassRow<Bits, Item> const& row, std::int64_t parts) {
  using Row = OnePassRow<Bits, Item>;
  std::int64_t const rows = row.sink.problem.shape.rows;
  int const shared = one_pass_shared_bytes<Item>();
  launch("ktopk::one_pass::threshold", exec, rows, shared, FindThresholds<Row>{row});
  if (rows_are_neighbors(row.sink.problem))
    keep_of_neighbors(exec, row);
  else
    launch("ktopk::one_pass::keep", exec, rows * parts, shared, KeepReaching<Row>{row, parts});
}

template <class Exec, class Bits>
void OnePass<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                           void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    using Row = OnePassRow<Bits, Item>;
    std::int64_t const rows = problem.shape.rows;
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    OnePassPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
    WinnerSink<Bits, Item> const sink{problem, map, work.winners.items};
    Row const row{sink, work.plan, forced_threshold, work.samples, work.kept};
    FinishRows<Row> const finish{row, work.lists_are_shared, work.fallback_is_shared};
    int const shared = one_pass_shared_bytes<Item>();
    if (work.parts > 1 || rows_are_neighbors(problem)) {
      keep_by_parts(exec, row, work.parts);
      launch("ktopk::one_pass::finish", exec, rows, shared, finish);
    } else {
      launch("ktopk::one_pass::rows", exec, rows, shared, SelectRows<Row>{row, finish});
    }
    if (work.lists_are_shared)
      radix_select(
          exec,
          ListSource<Bits, Item>{problem, work.kept.items, work.kept.capacity, work.kept.verdicts},
          work.finish, sink);
    if (work.fallback_is_shared) {
      Kokkos::Profiling::ScopedRegion const region("ktopk::one_pass::fallback");
      radix_select(exec, KeySource<Bits, Item>{problem, map, work.kept.verdicts}, work.fallback,
                   sink);
    }
    arrange(exec, problem, map, work.winners);
  });
}

#define KTOPK_ONE_PASS(Space) KTOPK_RUN_ON(OnePass<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_ONE_PASS)
#undef KTOPK_ONE_PASS

static_assert(Implementation<OnePass<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
