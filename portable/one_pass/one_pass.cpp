// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "kernels.hpp"

namespace ktopk::detail {

KTOPK_INLINE std::size_t OnePass<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                           Options const& options) {
  return shape.ragged ? bytes_of<RaggedLayout>(device, shape, options)
                      : bytes_of<OnePassLayout>(device, shape, options);
}

#define KTOPK_ONE_PASS(Space) KTOPK_RUN_ON(OnePass<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_ONE_PASS)
#undef KTOPK_ONE_PASS

static_assert(Implementation<OnePass<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
