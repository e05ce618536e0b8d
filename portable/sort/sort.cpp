// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sort.hpp"

#include <ktopk/core/counters.hpp>
#include <ktopk/detail/instantiate.hpp>

#include "../finish/arrange.hpp"
#include "../finish/sort_composite_keys.hpp"

namespace ktopk::detail {

template <class Bits>
struct WholeRows {
  StoredProblem<Bits> problem;
  KOKKOS_FUNCTION std::int64_t first(std::int64_t row) const { return row * problem.shape.n; }
  KOKKOS_FUNCTION std::int64_t size(std::int64_t) const { return problem.shape.n; }
};

template <class Bits, class CompositeKey>
struct LoadCompositeKeys {
  WholeRows<Bits> rows;
  CompositeKeyMap<Bits, CompositeKey> map;
  CompositeKey* composites;
  std::int64_t parts;

  template <class Group>
  KOKKOS_FUNCTION void operator()(Group const& group) const {
    std::int64_t const row = group.index() / parts;
    Stored<Bits> const* const keys = rows.problem.rows.pointer(row);
    std::int64_t const step = rows.problem.rows.step;
    CompositeKey* const out = composites + rows.first(row);
    Range const range = part_of(rows.size(row), group.index() % parts, parts);
    each(group, range.begin, range.end,
         [&](std::int64_t i) { out[i] = map(keys[i * step], static_cast<std::uint64_t>(i)); });
    if (group.rank() > 0) return;
    tally(Count::keys_read, range.end - range.begin);
    tally(Count::composites_written, range.end - range.begin);
    tally(Count::passes, range.begin == 0 ? 1 : 0);
  }
};

template <class Bits, class CompositeKey>
struct TakeFirst {
  WholeRows<Bits> rows;
  CompositeKey const* sorted;
  CompositeKey* selected;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::int64_t const k = rows.problem.shape.k;
    std::int64_t const row = i / k, slot = i % k;
    if (slot < rows.problem.selected_count(row)) selected[i] = sorted[rows.first(row) + slot];
  }
};

template <class CompositeKey>
struct SortLayout {
  SortLayout(void* workspace, Device const&, Shape const& shape, Options const&)
      : layout(workspace),
        composites(layout.take<CompositeKey>(shape.keys())),
        spare(layout.take<CompositeKey>(shape.keys())) {
    selected.composites = layout.take<CompositeKey>(shape.rows * shape.k);
  }
  WorkspaceLayout layout;
  CompositeKey* composites;
  CompositeKey* spare;
  SelectedKeys<CompositeKey> selected;
};

KTOPK_INLINE std::size_t Sort<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                        Options const& options) {
  return bytes_of<SortLayout>(device, shape, options);
}

template <class Exec, class Bits>
void Sort<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                        Options const& options, void* workspace) {
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    using CompositeKey = decltype(composite);
    Shape const& shape = problem.shape;
    auto const map = make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties);
    SortLayout<CompositeKey> const work(workspace, device_of(exec), shape, options);
    WholeRows<Bits> const rows{problem};
    std::int64_t const parts = parts_of_row(device_of(exec), shape.rows, shape.n);
    launch("ktopk::sort::load", exec, shape.rows * parts, 0,
           LoadCompositeKeys<Bits, CompositeKey>{rows, map, work.composites, parts});
    CompositeKey const* const sorted =
        sort_composite_keys(exec, rows, shape.rows, shape.n, work.composites, work.spare);
    launch_each("ktopk::sort::take", exec, shape.rows * shape.k,
                TakeFirst<Bits, CompositeKey>{rows, sorted, work.selected.composites});
    arrange(exec, problem, map, work.selected);
  });
}

#define KTOPK_SORT(Space) KTOPK_RUN_ON(Sort<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_SORT)
#undef KTOPK_SORT

static_assert(Implementation<Sort<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
