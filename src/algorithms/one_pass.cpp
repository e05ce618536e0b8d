// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include <ktopk/detail/testing.hpp>

#include "../arrange.hpp"
#include "../counters.hpp"
#include "../host_scan.hpp"
#include "../instantiate.hpp"
#include "../sort_items.hpp"
#include "one_pass_rows.hpp"
#include "one_pass_sample.hpp"
#include "one_pass_trial.hpp"
#include "radix.hpp"

namespace ktopk::detail {

/// The sample of a row; a group takes `block` of its keys.
template <class Bits, class Item>
struct TakeSample {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  std::int64_t samples;
  Item* out;

  static constexpr int block = team_size;
  static constexpr std::int64_t page_keys = 4096 / sizeof(Bits);
  KOKKOS_FUNCTION static std::int64_t blocks(std::int64_t samples) {
    return (samples + block - 1) / block;
  }

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row_blocks = blocks(samples);
    std::int64_t const row = group.index() / row_blocks, first = group.index() % row_blocks * block;
    std::int64_t const end = first + block < samples ? first + block : samples;
    SamplePlaces const place_of(problem.shape.n, samples,
                                Group::is_host ? page_keys : problem.shape.n);
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((take_alone(row, place_of, {first, end});))
    } else {
      Bits const* const keys = problem.row_keys(row);
      each(group, first, end, [&](std::int64_t i) {
        std::int64_t const place = place_of(i);
        put(row, i, keys[place * problem.key_step], place);
      });
    }
    if (group.rank() == 0) tally(Count::keys_read, end - first);
  }

  KOKKOS_FUNCTION void put(std::int64_t row, std::int64_t i, Bits key, std::int64_t place) const {
    out[row * samples + i] = map(key, static_cast<std::uint64_t>(place));
  }

  /// Each sample misses all caches: the less there is between two reads, the more are on their way at a time.
  void take_alone(std::int64_t row, SamplePlaces const& place_of, Range range) const {
    Bits const* const keys = problem.row_keys(row);
    std::int64_t const step = problem.key_step;
    std::int64_t places[block];
    Bits found[block];
    int const count = static_cast<int>(range.end - range.begin);
    for (int i = 0; i < count; ++i) places[i] = place_of(range.begin + i);
    for (int i = 0; i < count; ++i) found[i] = keys[places[i] * step];
    for (int i = 0; i < count; ++i) put(row, range.begin + i, found[i], places[i]);
  }
};

struct SampleRows {
  std::int64_t samples;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * samples; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t) const { return samples; }
};

/// Puts the order-th best of a row's samples where sorting would. Few are soonest found by a heap, which is
/// at its worst where each sample is better than those before.
template <class Item>
struct PlaceOrder {
  Item* samples;
  OnePassPlan plan;
  void operator()(std::int64_t row) const {
    Item *const first = samples + row * plan.samples, *const last = first + plan.samples;
    if (*first < *(last - 1)) std::reverse(first, last);
    if (plan.order <= plan.samples / 128)
      std::partial_sort(first, first + plan.order, last, std::greater<Item>());
    else
      std::nth_element(first, first + plan.order - 1, last, std::greater<Item>());
  }
};

/// The samples, with the order-th best in its place.
template <class Exec, class Item>
Item const* order_samples(Exec const& exec, std::int64_t rows, OnePassPlan const& plan,
                          Item* samples, Item* spare) {
  if constexpr (is_host_space<Exec>) {
    launch_each("ktopk::one_pass::order", exec, rows, PlaceOrder<Item>{samples, plan});
    return samples;
  } else {
    return sort_items(exec, SampleRows{plan.samples}, rows, plan.samples, samples, spare);
  }
}

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
  KOKKOS_FUNCTION Item* row_items(std::int64_t row) const { return items + row * capacity; }

  std::int64_t capacity;
  Item* thresholds;
  Count64* best_ranks;  // no key's rank is above its row's, where some were kept
  Verdict* verdicts;
  Item* items;
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
    if (forced == Threshold::too_low) threshold = 0;
    kept.begin(row, threshold);
  }
};

/// How many parts of a row are read. Hosts share more and smaller ones: of sorted keys a few hold all that is
/// kept, which takes longer than to read the others.
inline std::int64_t keep_parts(Device const& device, Shape const& shape) {
  std::int64_t const parts = parts_of_row(device, shape.rows, shape.n);
  if (!device.host || parts == 1) return parts;
  constexpr std::int64_t short_part = std::int64_t{1} << 16;
  return std::max(parts, std::min(shape.n / short_part, std::max<std::int64_t>(256, 4 * parts)));
}

/// The one read: a part of a row, of which what reaches the threshold is kept.
template <class Bits, class Item>
struct KeepReaching {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  RowParts parts;
  Kept<Item> kept;
  HostLoops<Bits> loops;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts.count();
    Range const range = parts.range(group.index() % parts.count());
    Item const threshold = kept.thresholds[row];
    Bits const* const keys = problem.row_keys(row);
    Appender<Item, Group> out(group, group.template shared<std::byte>(), {kept.row_items(row)},
                              &kept.verdicts[row].kept, kept.capacity);
    Item best = 0;
    if constexpr (Group::is_host) {
      KOKKOS_IF_ON_HOST((best = keep_blocks(keys, range, threshold, out);))
    } else {
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

  /// Returns the best of the kept.
  template <class Out>
  Item keep_blocks(Bits const* keys, Range range, Item threshold, Out& out) const {
    Item best = 0;
    auto const keep = [&](int found, auto const& item) {
      Item const here = out.add_reaching(found, threshold, item);
      best = here > best ? here : best;
    };
    for_each_reaching_in_streams(
        loops, keys, problem.key_step, map, range.begin, range.end, [&] { return threshold; },
        keep);
    return best;
  }
};

/// Raises the threshold of a row by what the trial kept: to the lowest item of a rank, so that what ties with it
/// is not taken for a row whose parts differ.
template <class Bits, class Item>
struct Raise {
  KeepReaching<Bits, Item> trial;
  Threshold forced;

  static constexpr std::int64_t most_held = 32768;

  void operator()(std::int64_t row) const {
    Kept<Item> const& kept = trial.kept;
    Count64& count = kept.verdicts[row].kept;
    auto const held = static_cast<std::int64_t>(count);
    std::int64_t const order = order_of(trial.problem.winners(row));
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
  }

 private:
  std::int64_t order_of(std::int64_t winners) const {
    if (forced == Threshold::raised_too_high) return 1;
    return safe_order(static_cast<double>(winners) * trial.parts.share());
  }

  bool are_alike(Item const* items, Bits const* ranks, std::int64_t held, Bits least) const {
    Spread spread;
    for (std::int64_t i = 0; i < held; ++i) {
      auto const position = static_cast<std::int64_t>(trial.map.position(items[i]));
      spread.add(trial.parts.stratum(position), ranks[i] >= least);
    }
    return spread.is_by_chance();
  }

  /// Keeps the items of ranks that reach `least`; returns how many.
  static Count64 cut(Item* items, Bits const* ranks, std::int64_t held, Bits least) {
    Count64 count = 0;
    for (std::int64_t i = 0; i < held; ++i) {
      items[count] = items[i];
      count += ranks[i] >= least ? 1 : 0;
    }
    return count;
  }
};

template <class Bits>
struct Judge {
  Problem<Bits> problem;
  std::int64_t capacity;
  bool discredited;
  Verdict* verdicts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const {
    auto const kept = static_cast<std::int64_t>(verdicts[row].kept);
    tally(Count::passes, 1);
    tally(Count::items_written, kept < capacity ? kept : capacity);
    verdicts[row].proven = !discredited && kept >= problem.winners(row) && kept <= capacity;
  }
};

template <class Item>
struct OnePassPieces {
  OnePassPieces(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : pieces(workspace),
        plan(one_pass_plan(shape.n, shape.k)),
        winners(pieces, shape, options),
        samples(pieces.take<Item>(shape.rows * plan.samples)),
        spare_samples(device.host ? nullptr : pieces.take<Item>(shape.rows * plan.samples)),
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

template <class Item>
struct SharedReadingPieces {
  SharedReadingPieces(void* workspace, Device const&, Shape const& shape, Options const&)
      : pieces(workspace), kept(pieces, shape.rows, one_pass_plan(shape.n, shape.k)) {}

  Pieces pieces;
  Kept<Item> kept;
};

KTOPK_INLINE std::size_t OnePass<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  if (is_one_pass_by_rows(device, shape)) return 0;
  if (device.host && fits_one_thread(one_pass_plan(shape.n, shape.k)))
    return bytes_of<SharedReadingPieces>(device, shape, options);
  return bytes_of<OnePassPieces>(device, shape, options);
}

template <class Exec, class Bits, class Item>
void read_parts(char const* label, Exec const& exec, KeepReaching<Bits, Item> const& keep) {
  launch(label, exec, keep.problem.shape.rows * keep.parts.count(), appender_bytes<Item>(), keep);
}

/// Hosts, whose sample is dear, learn a better threshold from the first parts.
template <class Exec, class Bits, class Item>
void read_rows(Exec const& exec, KeepReaching<Bits, Item> const& keep) {
  constexpr char const* label = "ktopk::one_pass::keep";
  if constexpr (is_host_space<Exec>) {
    if (keep.parts.are_worth_a_trial(keep.problem.shape.k)) {
      KeepReaching<Bits, Item> step = keep;
      step.parts.read(RowParts::Which::trial);
      read_parts("ktopk::one_pass::trial", exec, step);
      launch_each("ktopk::one_pass::raise", exec, keep.problem.shape.rows,
                  Raise<Bits, Item>{step, forced_threshold});
      step.parts.read(RowParts::Which::others);
      return read_parts(label, exec, step);
    }
  }
  read_parts(label, exec, keep);
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
  Item const* const ordered =
      order_samples(exec, shape.rows, plan, work.samples, work.spare_samples);
  launch_each("ktopk::one_pass::threshold", exec, shape.rows,
              SetThreshold<Item>{ordered, plan, forced, work.kept});
  read_rows(exec, KeepReaching<Bits, Item>{problem,
                                           map,
                                           {shape.n, keep_parts(device_of(exec), shape)},
                                           work.kept,
                                           pick_host_loops<Bits>()});
  launch_each(
      "ktopk::one_pass::judge", exec, shape.rows,
      Judge<Bits>{problem, plan.capacity, forced == Threshold::too_low, work.kept.verdicts});
}

/// Several threads read a row, one does the rest.
template <class Exec, class Bits, class Item>
void share_reading(Exec const& exec, OnePassRows<Bits, Item> const& rows, void* workspace) {
  Problem<Bits> const& problem = rows.sink.problem;
  Shape const& shape = problem.shape;
  Kept<Item> const kept =
      SharedReadingPieces<Item>(workspace, device_of(exec), shape, Options{}).kept;
  launch_each("ktopk::one_pass::threshold", exec, shape.rows,
              [=](std::int64_t row) { kept.begin(row, rows.row(row).threshold()); });
  read_parts(
      "ktopk::one_pass::keep", exec,
      KeepReaching<Bits, Item>{
          problem, rows.sink.map, {shape.n, keep_parts(device_of(exec), shape)}, kept, rows.loops});
  launch_each("ktopk::one_pass::finish", exec, shape.rows, [=](std::int64_t row) {
    rows.finish(row, kept.row_items(row), static_cast<std::int64_t>(kept.verdicts[row].kept),
                kept.capacity);
  });
}

/// Whatever fits no single thread.
template <class Exec, class Bits, class Item>
void share_all(Exec const& exec, Problem<Bits> const& problem, ItemMap<Bits, Item> const& map,
               Options const& options, void* workspace) {
  OnePassPieces<Item> const work(workspace, device_of(exec), problem.shape, options);
  keep_reaching(exec, problem, map, work);
  WinnerSink<Bits, Item> const sink{problem, map, work.winners.items};
  radix_select(
      exec,
      ListSource<Bits, Item>{problem, work.kept.items, work.kept.capacity, work.kept.verdicts, map,
                             work.kept.thresholds, work.kept.best_ranks},
      work.finish, sink);
  radix_select(exec,
               KeySource<Bits, Item>{problem, map, work.kept.verdicts, pick_host_loops<Bits>()},
               work.fallback, sink);
  arrange(exec, problem, map, work.winners);
}

template <class Exec, class Bits>
void OnePass<Generic>::run(Exec const& exec, Problem<Bits> const& problem, Options const& options,
                           void* workspace) {
  Shape const& shape = problem.shape;
  with_item_type<Bits>(shape.n, [&](auto item) {
    using Item = decltype(item);
    auto const map = make_item_map<Item>(problem.rank, shape.n, options.ties);
    if constexpr (runs_at_once<Exec>) {
      OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
      if (fits_one_thread(plan)) {
        OnePassRows<Bits, Item> const rows{
            {problem, map, nullptr}, pick_host_loops<Bits>(), plan, options.sorted};
        if (is_one_pass_by_rows(device_of(exec), shape))
          launch("ktopk::one_pass::rows", exec, shape.rows, 0, rows);
        else
          share_reading(exec, rows, workspace);
        return;
      }
    }
    share_all(exec, problem, map, options, workspace);
  });
}

#define KTOPK_ONE_PASS(Space) KTOPK_RUN_ON(OnePass<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_ONE_PASS)
#undef KTOPK_ONE_PASS

static_assert(Room<OnePass<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
