// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass.hpp"

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/detail/counters.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/testing.hpp>

#include "../arrange.hpp"
#include "../sort_items.hpp"
#include "radix.hpp"

namespace ktopk::detail {

/// What the read keeps of each row.
template <class Item>
struct Kept {
  Kept(Pieces& pieces, std::int64_t rows, OnePassPlan const& plan)
      : capacity(plan.capacity),
        thresholds(pieces.take<Item>(rows)),
        best_ranks(pieces.take<Count64>(rows)),
        verdicts(pieces.take<Verdict>(rows)),
        items(pieces.take<Item>(rows * plan.capacity)) {}

  KOKKOS_FUNCTION void begin(std::int64_t row, Item threshold) const {
    thresholds[row] = threshold;
    best_ranks[row] = 0;
    verdicts[row] = {0, false};
  }

  std::int64_t capacity;
  Item* thresholds;
  Count64* best_ranks;  // no key's rank is above its row's, where some were kept
  Verdict* verdicts;
  Item* items;
};

/// The sample of a row, one key of every stratum; a group takes `block` of them.
template <class Bits, class Item>
struct TakeSample {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  std::int64_t samples;
  Item* out;

  static constexpr int block = team_size;
  KOKKOS_FUNCTION static std::int64_t blocks(std::int64_t samples) {
    return (samples + block - 1) / block;
  }

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row_blocks = blocks(samples);
    std::int64_t const row = group.index() / row_blocks, first = group.index() % row_blocks * block;
    std::int64_t const end = first + block < samples ? first + block : samples;
    Strata const strata(problem.shape.n, samples);
    Stored<Bits> const* const keys = problem.row_keys(row);
    each(group, first, end, [&](std::int64_t i) {
      std::int64_t const place = strata.place(i);
      out[row * samples + i] =
          map(keys[place * problem.key_step], static_cast<std::uint64_t>(place));
    });
    if (group.rank() == 0) tally(Count::keys_read, end - first);
  }
};

struct SampleRows {
  std::int64_t samples;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * samples; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t) const { return samples; }
};

template <class Item>
struct SetThreshold {
  Item const* samples;
  OnePassPlan plan;
  Threshold forced;
  Kept<Item> kept;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    Item threshold = samples[row * plan.samples + plan.order - 1];
    if (forced == Threshold::too_high) threshold = ~Item{0};
    if (forced == Threshold::too_low) threshold = Item{0};
    kept.begin(row, threshold);
  }
};

/// The one read: a part of a row, of which what reaches the threshold is kept.
template <class Bits, class Item>
struct KeepReaching {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  std::int64_t parts;  // of a row
  Kept<Item> kept;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts;
    Range const range = part_of(problem.shape.n, group.index() % parts, parts);
    Item const threshold = kept.thresholds[row];
    Appender<Item, Group> out(group, group.template shared<std::byte>(),
                              {kept.items + row * kept.capacity}, &kept.verdicts[row].kept,
                              kept.capacity);
    Stored<Bits> const* const keys = problem.row_keys(row);
    Item best = 0;
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
    out.flush();
    if (group.rank() == 0) tally(Count::keys_read, range.end - range.begin);
    if (best >= threshold)
      Kokkos::atomic_max(&kept.best_ranks[row], static_cast<Count64>(map.rank_of(best)));
  }
};

/// The winners are among the kept if there are enough of them and all found room.
template <class Bits, class Item>
struct Judge {
  Problem<Bits> problem;
  bool discredited;
  Kept<Item> kept;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    Verdict& verdict = kept.verdicts[row];
    auto const listed = static_cast<std::int64_t>(verdict.kept);
    tally(Count::passes, 1);
    tally(Count::items_written, listed < kept.capacity ? listed : kept.capacity);
    verdict.proven = !discredited && listed >= problem.winners(row) && listed <= kept.capacity;
  }
};

template <class Item>
struct OnePassPieces {
  OnePassPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        plan(one_pass_plan(shape.n, shape.k)),
        winners(pieces, shape, options),
        samples(pieces.take<Item>(shape.rows * plan.samples)),
        spare_samples(pieces.take<Item>(shape.rows * plan.samples)),
        kept(pieces, shape.rows, plan),
        finish(pieces, device, shape.rows, plan.capacity, 0, false),
        fallback(pieces, device, shape, false) {}

  Pieces pieces;
  OnePassPlan plan;
  Winners<Item> winners;
  Item* samples;
  Item* spare_samples;
  Kept<Item> kept;
  RadixScratch<Item> finish;
  RadixScratch<Item> fallback;
};

KTOPK_INLINE std::size_t OnePass<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return bytes_of<OnePassPieces>(device, shape, options);
}

template <class Exec, class Bits, class Item>
void keep_reaching(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
                   OnePassPieces<Item> const& work) {
  Shape const& shape = problem.shape;
  OnePassPlan const& plan = work.plan;
  Threshold const forced = forced_threshold;
  using Sample = TakeSample<Bits, Item>;
  launch("ktopk::one_pass::sample", exec, shape.rows * Sample::blocks(plan.samples), 0,
         Sample{problem, map, plan.samples, work.samples});
  Item const* const ordered = sort_items(exec, SampleRows{plan.samples}, shape.rows, plan.samples,
                                         work.samples, work.spare_samples);
  launch_each("ktopk::one_pass::threshold", exec, shape.rows,
              SetThreshold<Item>{ordered, plan, forced, work.kept});
  std::int64_t const parts = parts_of_row(device_of(exec), shape.rows, shape.n);
  launch("ktopk::one_pass::keep", exec, shape.rows * parts, appender_bytes<Item>(),
         KeepReaching<Bits, Item>{problem, map, parts, work.kept});
  launch_each("ktopk::one_pass::validate", exec, shape.rows,
              Judge<Bits, Item>{problem, forced == Threshold::too_low, work.kept});
}

template <class Exec, class Bits>
void OnePass<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                           void* workspace) {
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, problem.shape.n, options.ties);
    OnePassPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
    keep_reaching(exec, problem, map, work);
    WinnerSink<Bits, Item> const sink{problem, map, work.winners.items};
    radix_select(
        exec,
        ListSource<Bits, Item>{problem, work.kept.items, work.kept.capacity, work.kept.verdicts,
                               map, work.kept.thresholds, work.kept.best_ranks},
        work.finish, sink);
    {
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
