// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sample.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../refinement/refinement.hpp"

namespace ktopk::detail {

KTOPK_INLINE std::size_t Sample<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                          Options const& options) {
  return refinement_bytes<FifteenSplitters>(device, shape, options);
}

template <class Exec, class Bits>
void Sample<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                          Options const& options, void* workspace) {
  select_by<FifteenSplitters>(exec, problem, options, workspace);
}

#define KTOPK_SAMPLE(Space) KTOPK_RUN_ON(Sample<Generic>, Space)
KTOPK_INSTANTIATE(KTOPK_SAMPLE)
#undef KTOPK_SAMPLE

static_assert(Implementation<Sample<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
