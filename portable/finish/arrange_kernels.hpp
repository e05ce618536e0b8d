// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "arrange.hpp"
#include "sort_composite_keys.hpp"

namespace ktopk::detail {

template <class Exec, Rows R, class CompositeKey>
void arrange(Exec const& exec, Problem<R> const& problem,
             CompositeKeyMap<typename R::Bits, CompositeKey> const& map,
             SelectedKeys<CompositeKey> const& selected) {
  Shape const& shape = problem.shape;
  CompositeKey const* composites = selected.composites;
  if (selected.spare != nullptr)
    composites = sort_composite_keys(exec, SelectedRows<R>{problem}, shape.rows, shape.k,
                                     selected.composites, selected.spare);
  bool const complete = !problem.shape.ragged && !problem.wanted && !problem.counts;
  if (composites == nullptr && complete) return;
  launch_each("ktopk::arrange::store", exec, shape.rows * shape.k,
              StoreSelected<R, CompositeKey>{{problem, map, nullptr}, composites});
}

}  // namespace ktopk::detail
