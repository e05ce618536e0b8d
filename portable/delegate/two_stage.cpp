// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "two_stage.hpp"

#include <ktopk/core/counters.hpp>
#include <ktopk/core/unrolled.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../finish/arrange.hpp"
#include "../finish/list_selection.hpp"
#include "../run/launch.hpp"

namespace ktopk::detail {

/// Lists the `kept` best keys of each bucket: of a row first the best of all buckets, then the second best.
template <int kept, class Bits, class CompositeKey>
struct KeepOfBuckets {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  TwoStagePlan plan;
  std::int64_t parts;
  CompositeKey* candidates;
  RowValidation* counts;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts, part = group.index() % parts;
    if (part == 0 && group.rank() == 0)
      counts[row] = {static_cast<Count64>(plan.candidates()), true};
    Range const buckets = part_of(plan.buckets, part, parts);
    constexpr int width = Group::neighbors;
    each(group, buckets.begin / width, buckets.end / width,
         [&](std::int64_t i) { keep<width>(row, i * width); });
    if (group.rank() > 0 || part > 0) return;
    tally(Count::keys_read, plan.n);
    tally(Count::delegates, plan.candidates());
  }

  /// The best keys of `width` buckets that lie side by side.
  template <int width>
  KOKKOS_FUNCTION void keep(std::int64_t row, std::int64_t bucket) const {
    auto const keys = problem.rows.row(row);
    CompositeKey best[width] = {}, second[width] = {};
    std::int64_t i = bucket;
    // Reads run ahead of what waits for them.
    constexpr int ahead = 8;
    for (; i + (ahead - 1) * plan.buckets + width <= plan.n; i += ahead * plan.buckets) {
      Bits read[ahead][width];
      unrolled<ahead>([&](auto a) {
        for (int l = 0; l < width; ++l) read[a][l] = keys[i + a * plan.buckets + l];
      });
      unrolled<ahead>([&](auto a) {
        std::int64_t const first = i + a * plan.buckets;
        for (int l = 0; l < width; ++l)
          offer(map(read[a][l], static_cast<std::uint64_t>(first + l)), best[l], second[l]);
      });
    }
    for (; i + width <= plan.n; i += plan.buckets)
      for (int l = 0; l < width; ++l) offer(composite_at(map, keys, i + l), best[l], second[l]);
    for (int l = 0; i + l < plan.n; ++l) offer(composite_at(map, keys, i + l), best[l], second[l]);
    CompositeKey* const out = candidates + row * plan.candidates() + bucket;
    for (int l = 0; l < width; ++l) {
      out[l] = best[l];
      if constexpr (kept == 2) out[plan.buckets + l] = second[l];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void offer(CompositeKey composite, CompositeKey& best,
                                                CompositeKey& second) {
    if constexpr (kept == 2) {
      CompositeKey const lesser = composite < best ? composite : best;
      second = lesser > second ? lesser : second;
    }
    best = composite > best ? composite : best;
  }
};

template <class CompositeKey>
struct TwoStageLayout {
  TwoStageLayout(void* workspace, Device const& device, Shape const& shape, Options const& options)
      : layout(workspace),
        selected(layout, shape, options),
        plan(two_stage_plan(shape.n, shape.k, options.recall)),
        candidates(layout.take<CompositeKey>(shape.rows * plan.candidates())),
        counts(layout.take<RowValidation>(shape.rows)),
        selection(layout, device, shape, list_algorithm(options.inner, shape.k), plan.candidates(),
                  true) {
    if (selection.by != Algorithm::radix && selected.composites == nullptr)
      selected.composites = layout.take<CompositeKey>(shape.rows * shape.k);
  }

  WorkspaceLayout layout;
  SelectedKeys<CompositeKey> selected;
  TwoStagePlan plan;
  CompositeKey* candidates;
  RowValidation* counts;
  ListSelection<CompositeKey> selection;
};

KTOPK_INLINE std::size_t TwoStage::workspace_bytes(Device const& device, Shape const& shape,
                                                   Options const& options) {
  return bytes_of<TwoStageLayout>(device, shape, options);
}

template <class Exec, class Bits>
void TwoStage::run(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options,
                   void* workspace) {
  with_composite_keys(problem, options.ties, [&](auto const& map) {
    using CompositeKey = decltype(map.below_rank());
    Shape const& shape = problem.shape;
    TwoStageLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    std::int64_t const parts = parts_of_row(device_of(exec), shape.rows, shape.n);
    auto const keep = [&](auto kept) {
      launch("ktopk::delegate::keep", exec, shape.rows * parts, 0,
             KeepOfBuckets<kept(), Bits, CompositeKey>{problem, map, work.plan, parts,
                                                       work.candidates, work.counts});
    };
    if (work.plan.kept == 1)
      keep(std::integral_constant<int, 1>{});
    else
      keep(std::integral_constant<int, 2>{});
    list_select(
        exec,
        ListSource<StoredRows<Bits>, CompositeKey>{problem, work.candidates, work.plan.candidates(),
                                                   work.counts},
        work.selection,
        SelectedSink<StoredRows<Bits>, CompositeKey>{problem, map, work.selected.composites});
    arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_TWO_STAGE(Space) KTOPK_RUN_ON(TwoStage, Space)
KTOPK_INSTANTIATE(KTOPK_TWO_STAGE)
#undef KTOPK_TWO_STAGE

static_assert(Implementation<TwoStage, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
