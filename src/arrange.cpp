// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arrange.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "sort_composite_keys.hpp"

namespace ktopk::detail {

template <class Exec, class Bits, class CompositeKey>
void arrange(Exec const& exec, Problem<Bits> const& problem,
             CompositeKeyMap<Bits, CompositeKey> const& map,
             SelectedKeys<CompositeKey> const& selected) {
  Shape const& shape = problem.shape;
  CompositeKey const* composites = selected.composites;
  if (selected.spare != nullptr)
    composites = sort_composite_keys(exec, SelectedRows<Bits>{problem}, shape.rows, shape.k,
                                     selected.composites, selected.spare);
  bool const complete = !problem.offsets && !problem.wanted && !problem.counts;
  if (composites == nullptr && complete) return;
  launch_each("ktopk::arrange::store", exec, shape.rows * shape.k,
              StoreSelected<Bits, CompositeKey>{{problem, map, nullptr}, composites});
}

#define KTOPK_ARRANGE_COMPOSITE_KEY(Space, Bits, CompositeKey)      \
  template void arrange(Space const&, Problem<Bits> const&,         \
                        CompositeKeyMap<Bits, CompositeKey> const&, \
                        SelectedKeys<CompositeKey> const&);
#define KTOPK_ARRANGE(Space) KTOPK_FOR_EACH_COMPOSITE_KEY(KTOPK_ARRANGE_COMPOSITE_KEY, Space)
KTOPK_INSTANTIATE(KTOPK_ARRANGE)
#undef KTOPK_ARRANGE
#undef KTOPK_ARRANGE_COMPOSITE_KEY

}  // namespace ktopk::detail
