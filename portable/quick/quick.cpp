// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quick.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../refinement/refinement.hpp"

namespace ktopk::detail {

KTOPK_INLINE std::size_t Quick<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                         Options const& options) {
  return refinement_bytes<OnePivot>(device, shape, options);
}

template <class Exec, class Bits>
void Quick<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                         Options const& options, void* workspace) {
  select_by<OnePivot>(exec, problem, options, workspace);
}

#define KTOPK_QUICK(Space) KTOPK_RUN_ON(Quick<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_QUICK)
#undef KTOPK_QUICK

static_assert(Implementation<Quick<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
