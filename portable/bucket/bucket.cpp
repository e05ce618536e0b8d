// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bucket.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../finish/list_selection.hpp"

namespace ktopk::detail {

KTOPK_INLINE std::size_t Bucket<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                          Options const& options) {
  return refinement_bytes<EqualParts>(device, shape, options);
}

template <class Exec, class Bits>
void Bucket<Generic>::run(Exec const& exec, StoredProblem<Bits> const& problem,
                          Options const& options, void* workspace) {
  select_by<EqualParts>(exec, problem, options, workspace);
}

template <class Exec, class CompositeKey>
void bucket_select(Exec const& exec,
                   ListSource<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& source,
                   RefinementWork<CompositeKey> const& work,
                   SelectedSink<StoredRows<ListBits<CompositeKey>>, CompositeKey> const& sink) {
  refine_and_select<EqualParts>(exec, source, work, sink);
}

#define KTOPK_BUCKET(Space)            \
  KTOPK_RUN_ON(Bucket<Generic>, Space) \
  KTOPK_LIST_SELECT(bucket_select, RefinementWork, Space)
KTOPK_INSTANTIATE(KTOPK_BUCKET)
#undef KTOPK_BUCKET

static_assert(Implementation<Bucket<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
