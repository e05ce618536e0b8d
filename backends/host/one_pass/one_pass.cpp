// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass.hpp"

#include <algorithm>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/core/counters.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../radix/select.hpp"
#include "../store_selected.hpp"
#include "computed.hpp"
#include "kept.hpp"
#include "side_by_side.hpp"

namespace ktopk::detail {
namespace host {

/// Takes a block of the sample of a row.
template <class Bits, class CompositeKey>
struct TakeSample {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  std::int64_t samples;
  CompositeKey* out;

  /// Reads samples, each of which misses all caches: the less there is between two reads, the more are in flight.
  void operator()(std::int64_t index) const {
    SampleBlock const block(index, samples);
    Strata const strata(problem.shape.n, samples);
    Stored<Bits> const* const keys = problem.rows.pointer(block.row);
    std::int64_t const step = problem.rows.step;
    std::int64_t places[block.most];
    Bits found[block.most];
    for (int i = 0; i < block.count; ++i) places[i] = strata.place(block.first + i);
    for (int i = 0; i < block.count; ++i) found[i] = keys[places[i] * step];
    CompositeKey* const to = out + block.row * samples + block.first;
    for (int i = 0; i < block.count; ++i)
      to[i] = map(found[i], static_cast<std::uint64_t>(places[i]));
    tally(Count::keys_read, block.count);
  }
};

template <class CompositeKey>
struct FindThreshold {
  CompositeKey* samples;
  OnePassPlan plan;
  Threshold forced;
  Kept<CompositeKey> kept;
  CompositeKey least = 0;

  void operator()(std::int64_t row) const {
    CompositeKey threshold = kth_composite(
        samples + row * plan.samples, static_cast<int>(plan.samples), static_cast<int>(plan.order));
    threshold = std::max(threshold, least);
    if (forced == Threshold::too_high) threshold = ~CompositeKey{0};
    if (forced == Threshold::too_low) threshold = CompositeKey{0};
    kept.begin(row, threshold);
  }
};

/// The workspace for long rows, without that of a fallback.
template <class CompositeKey>
struct SampledLayout {
  SampledLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        plan(one_pass_plan(shape.n, shape.k)),
        selected(layout, shape, options),
        samples(layout.take<CompositeKey>(shape.rows * plan.samples)),
        kept(layout, shape.rows, plan),
        finish(layout, device, shape.rows, plan.capacity, 0, false) {}

  WorkspaceLayout layout;
  OnePassPlan plan;
  SelectedKeys<CompositeKey> selected;
  CompositeKey* samples;
  Kept<CompositeKey> kept;
  RadixScratch<CompositeKey> finish;
};

template <class CompositeKey>
struct OnePassLayout : SampledLayout<CompositeKey> {
  OnePassLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : SampledLayout<CompositeKey>(workspace, device, shape, options),
        fallback(this->layout, device, shape, false) {
    fallback.longest_in_cache = longest_row_in_cache;
  }

  RadixScratch<CompositeKey> fallback;
};

template <class Exec, class Bits, class CompositeKey>
void keep_reaching(Exec const& exec, StoredProblem<Bits> const& problem,
                   CompositeKeyMap<Bits, CompositeKey> const& map,
                   SampledLayout<CompositeKey> const& work) {
  Shape const& shape = problem.shape;
  OnePassPlan const& plan = work.plan;
  Threshold const forced = forced_threshold;
  std::int64_t const parts = host::keep_parts(device_of(exec), shape);
  using Sample = TakeSample<Bits, CompositeKey>;
  host::launch("ktopk::host::one_pass::sample", exec,
               shape.rows * SampleBlock::in_row(plan.samples),
               Sample{problem, map, plan.samples, work.samples});
  host::launch("ktopk::host::one_pass::threshold", exec, shape.rows,
               FindThreshold<CompositeKey>{work.samples, plan, forced, work.kept});
  LongTiles const tiles(device_of(exec), shape);
  if (problem.rows.are_neighbors() && tiles.rows >= least_in_tile)
    host::launch("ktopk::host::one_pass::keep_side_by_side", exec, tiles.tiles * tiles.parts,
                 KeepSideBySide<Bits, CompositeKey>{problem, map, tiles, work.kept,
                                                    pick_host_loops<Bits>()});
  else
    host::launch(
        "ktopk::host::one_pass::keep", exec, shape.rows * parts,
        KeepReaching<Bits, CompositeKey>{problem, map, parts, work.kept, pick_host_loops<Bits>()});
  host::launch_each("ktopk::host::one_pass::validate", exec, shape.rows,
                    Validate<Bits, CompositeKey>{problem, forced == Threshold::too_low, work.kept});
}

/// Puts the selected keys of proven rows, which are among the kept ones, into the sink.
template <class Exec, class Bits, class CompositeKey>
void select_from_kept(Exec const& exec, SampledLayout<CompositeKey> const& work,
                      BulkSink<Bits, CompositeKey> const& sink) {
  host::radix_select(
      exec,
      ListSource<Bits, CompositeKey>{sink.problem, work.kept.composites, work.kept.capacity,
                                     work.kept.validations, work.kept.thresholds},
      work.finish, sink);
}

/// Launches radix for unproven rows only if there are any, so that a profile shows it only then.
template <class Exec, class Bits, class CompositeKey>
void fall_back(Exec const& exec, KeySource<Bits, CompositeKey> const& unproven,
               RadixScratch<CompositeKey> const& scratch,
               BulkSink<Bits, CompositeKey> const& sink) {
  if (!host::any_active(unproven, scratch.rows)) return;
  Kokkos::Profiling::ScopedRegion const region("ktopk::host::one_pass::fallback");
  host::radix_select(exec, unproven, scratch, sink);
}

/// Selects from rows that fit the cache of a thread; radix serves longer rows among ragged ones.
template <class Exec, class Bits, class CompositeKey>
void select_in_cache(Exec const& exec, StoredProblem<Bits> const& problem,
                     CompositeKeyMap<Bits, CompositeKey> const& map, Options const& options,
                     void* workspace) {
  Kokkos::Profiling::ScopedRegion const region("ktopk::host::one_pass::in_cache");
  RadixLayout<CompositeKey> work(workspace, device_of(exec), problem.shape, options);
  work.scratch.longest_in_cache = longest_row_in_cache;
  host::radix_select(
      exec, KeySource<Bits, CompositeKey>{problem, map, nullptr, pick_host_loops<Bits>()},
      work.scratch, BulkSink<Bits, CompositeKey>{problem, map, work.selected.composites});
  host::arrange(exec, problem, map, work.selected);
}

/// How the rows of a shape are selected.
enum class Way { short_rows, in_cache, shared };

inline Way way_of(Device const& device, Shape const& shape) {
  if (are_short_rows(shape)) return Way::short_rows;
  bool const is_read_once = one_pass_serves(shape);
  bool const in_cache = are_rows_in_cache(device, shape) && (shape.packed || !is_read_once);
  return shape.ragged || in_cache ? Way::in_cache : Way::shared;
}

/// Selects from rows that threads share.
template <class Exec, class Bits, class CompositeKey>
void share_all(Exec const& exec, StoredProblem<Bits> const& problem,
               CompositeKeyMap<Bits, CompositeKey> const& map, Options const& options,
               void* workspace) {
  OnePassLayout<CompositeKey> const work(workspace, device_of(exec), problem.shape, options);
  host::keep_reaching(exec, problem, map, work);
  BulkSink<Bits, CompositeKey> const sink{problem, map, work.selected.composites};
  host::select_from_kept(exec, work, sink);
  host::fall_back(
      exec,
      KeySource<Bits, CompositeKey>{problem, map, work.kept.validations, pick_host_loops<Bits>()},
      work.fallback, sink);
  host::arrange(exec, problem, map, work.selected);
}

template <class Exec, class Bits, class CompositeKey>
void one_pass(Exec const& exec, StoredProblem<Bits> const& problem,
              CompositeKeyMap<Bits, CompositeKey> const& map, Options const& options,
              void* workspace) {
  Shape const& shape = problem.shape;
  Way const way = way_of(device_of(exec), shape);
  if (way == Way::in_cache) return select_in_cache(exec, problem, map, options, workspace);
  if (way == Way::shared) return share_all(exec, problem, map, options, workspace);
  RowsInCache<Bits, CompositeKey> const rows{
      {problem, map, nullptr}, pick_host_loops<Bits>(), options.sorted};
  if (problem.rows.are_neighbors() && TileSizes(device_of(exec), shape).are_worth_it())
    return select_by_tiles(exec, rows, workspace);
  host::launch("ktopk::host::one_pass::short_rows", exec, shape.rows, rows);
}

/// The workspace for long computed rows. What is selected goes to a list, for a key that is not known by its rank alone
/// has to be made again.
template <class CompositeKey>
struct ComputedLayout : SampledLayout<CompositeKey> {
  ComputedLayout(void* workspace, Device const& device, Shape const& shape, Options options)
      : SampledLayout<CompositeKey>(workspace, device, shape, with_list(options)) {
    if (options.sorted == Sorted::no && !shape.masked) this->selected.spare = nullptr;
    if (!shape.masked) return;
    present = this->layout.template take<Count64>(shape.rows);
    selected_counts = this->layout.template take<std::int64_t>(shape.rows);
  }

  Count64* present = nullptr;  // of masked rows: how many keys there are, and how many are selected
  std::int64_t* selected_counts = nullptr;

 private:
  static Options with_list(Options options) {
    options.sorted = Sorted::yes;
    return options;
  }
};

/// Reads long computed rows, and validates them. Where a mask leaves nothing, the worst key is made: so nothing as bad may
/// reach a threshold.
template <class Exec, class Bits, class CompositeKey>
void keep_computed(Exec const& exec, ComputedKeys<Bits> const& keys,
                   StoredProblem<Bits> const& problem,
                   CompositeKeyMap<Bits, CompositeKey> const& map,
                   ComputedLayout<CompositeKey> const& work) {
  Shape const& shape = problem.shape;
  Threshold const forced = forced_threshold;
  bool const is_refused = forced == Threshold::too_low;
  std::int64_t const parts = host::keep_parts(device_of(exec), shape);
  CompositeKey const least =
      shape.masked ? (map.join(map.rank(problem.out.worst), 0) | map.below_rank()) + 1 : 0;
  if (shape.masked) std::fill_n(work.present, shape.rows, Count64{0});
  using Sample = MakeSample<Bits, CompositeKey>;
  std::int64_t const blocks = SampleBlock::in_row(work.plan.samples);
  Sample const sample{problem, map, keys, work.plan.samples, work.samples};
  FindThreshold<CompositeKey> const find{work.samples, work.plan, forced, work.kept, least};
  KeepMade<Bits, CompositeKey> const keep{
      problem, map, keys, parts, work.kept, work.present, pick_host_loops<Bits>()};
  // A row that one thread reads is in its cache after the sample.
  if (parts == 1) {
    host::launch("ktopk::host::one_pass::computed_keep", exec, shape.rows, [=](std::int64_t row) {
      for (std::int64_t block = 0; block < blocks; ++block) sample(row * blocks + block);
      find(row);
      keep(row);
    });
  } else {
    host::launch("ktopk::host::one_pass::computed_sample", exec, shape.rows * blocks, sample);
    host::launch("ktopk::host::one_pass::threshold", exec, shape.rows, find);
    host::launch("ktopk::host::one_pass::computed_keep", exec, shape.rows * parts, keep);
  }
  if (shape.masked)
    host::launch_each("ktopk::host::one_pass::validate", exec, shape.rows,
                      ValidateMasked<Bits, CompositeKey>{problem, is_refused, work.kept, least,
                                                         work.present, work.selected_counts});
  else
    host::launch_each("ktopk::host::one_pass::validate", exec, shape.rows,
                      Validate<Bits, CompositeKey>{problem, is_refused, work.kept});
}

/// Selects from long computed rows. Returns whether all rows are proven.
template <class Exec, class Bits, class CompositeKey>
bool select_sampled(Exec const& exec, ComputedKeys<Bits> const& keys, StoredProblem<Bits> problem,
                    CompositeKeyMap<Bits, CompositeKey> const& map,
                    ComputedLayout<CompositeKey> const& work) {
  host::keep_computed(exec, keys, problem, map, work);
  Shape const& shape = problem.shape;
  auto const is_proven = [](RowValidation const& row) { return row.proven; };
  if (!std::all_of(work.kept.validations, work.kept.validations + shape.rows, is_proven))
    return false;
  if (shape.masked) problem.wanted = {work.selected_counts, 1, sizeof(std::int64_t)};
  host::select_from_kept(exec, work,
                         BulkSink<Bits, CompositeKey>{problem, map, work.selected.composites});
  Problem<MadeRows<Bits>> const made{shape,       {keys, shape.n}, problem.rank,
                                     problem.out, problem.wanted,  problem.counts};
  host::arrange(exec, made, map, work.selected);
  return true;
}

template <class Exec, class Bits>
bool select_computed(Exec const& exec, ComputedKeys<Bits> const& keys,
                     StoredProblem<Bits> const& problem, Options const& options, void* workspace) {
  Shape const& shape = problem.shape;
  bool is_done = true;
  with_composite_key_type<Bits>(shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    if (!are_short_rows(shape)) {
      ComputedLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
      is_done = select_sampled(exec, keys, problem, map, work);
      return;
    }
    host::launch("ktopk::host::one_pass::computed_rows", exec, shape.rows,
                 ComputedRowsInCache<Bits, CompositeKey>{
                     {{problem, map, nullptr}, pick_host_loops<Bits>(), options.sorted}, keys});
  });
  return is_done;
}

}  // namespace host

KTOPK_INLINE Reason OnePass<Host>::declines(Asked const& a) {
  if (a.shape.computed) {
    bool const are_apart = a.shape.rows > 1 && !a.shape.packed;
    bool const serves = are_short_rows(a.shape) || (one_pass_serves(a.shape) && !are_apart);
    return serves
               ? nullptr
               : "keys that a functor makes, in rows that are ragged, or long and side by side, or "
                 "of which k is too large a part";
  }
  bool const serves =
      a.shape.ragged || are_rows_in_cache(a.device, a.shape) || one_pass_serves(a.shape);
  return serves ? nullptr : "k too large a part of long rows for a threshold from a sample";
}

KTOPK_INLINE std::size_t OnePass<Host>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  if (shape.computed)
    return are_short_rows(shape) ? 0 : bytes_of<host::ComputedLayout>(device, shape, options);
  switch (host::way_of(device, shape)) {
    case host::Way::in_cache: return bytes_of<host::RadixLayout>(device, shape, options);
    case host::Way::shared: return bytes_of<host::OnePassLayout>(device, shape, options);
    default: return host::bytes_for_tiles(device, shape);
  }
}

template <class Exec, class Bits>
void OnePass<Host>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                        Options const& options, void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    auto const map =
        make_composite_key_map<decltype(composite)>(problem.rank, problem.shape.n, options.ties);
    host::one_pass(exec, problem, map, options, workspace);
  });
}

#define KTOPK_HOST_ONE_PASS(Space) KTOPK_RUN_ON(OnePass<Host>, Space)
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_HOST_ONE_PASS)
#undef KTOPK_HOST_ONE_PASS

#define KTOPK_COMPUTED_BITS(Space, Bits)                                       \
  template bool host::select_computed(Space const&, ComputedKeys<Bits> const&, \
                                      StoredProblem<Bits> const&, Options const&, void*);
#define KTOPK_COMPUTED(Space)               \
  KTOPK_COMPUTED_BITS(Space, std::uint8_t)  \
  KTOPK_COMPUTED_BITS(Space, std::uint16_t) \
  KTOPK_COMPUTED_BITS(Space, std::uint32_t) \
  KTOPK_COMPUTED_BITS(Space, std::uint64_t)
KTOPK_INSTANTIATE_ON_HOSTS(KTOPK_COMPUTED)
#undef KTOPK_COMPUTED
#undef KTOPK_COMPUTED_BITS

}  // namespace ktopk::detail
