// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <ktopk/core/selected.hpp>

#include "launch.hpp"

namespace ktopk::detail::cuda {

/// What is enough for rows whose keys a functor makes: the workspace of the kernels, then the selected keys.
/// \see dispatch/computed_on_cuda.hpp
template <class CompositeKey>
struct ComputedGridLayout {
  ComputedGridLayout(void* workspace, Device const&, Shape const& shape, Options options)
      : layout(workspace) {
    Options in_any_order = options;
    in_any_order.sorted = Sorted::no;
    auto const bytes = static_cast<std::int64_t>(one_pass_workspace_bytes(shape, in_any_order));
    layout.take<std::byte>(bytes);
    SelectedKeys<CompositeKey>(layout, shape, options);
  }

  WorkspaceLayout layout;
};

}  // namespace ktopk::detail::cuda
