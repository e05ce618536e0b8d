// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/detail/instantiate.hpp>

#include "arrange_kernels.hpp"

namespace ktopk::detail {

#define KTOPK_ARRANGE_COMPOSITE_KEY(Space, Bits, CompositeKey)          \
  template void arrange(Space const&, Problem<StoredRows<Bits>> const&, \
                        CompositeKeyMap<Bits, CompositeKey> const&,     \
                        SelectedKeys<CompositeKey> const&);
#define KTOPK_ARRANGE(Space) KTOPK_FOR_EACH_COMPOSITE_KEY(KTOPK_ARRANGE_COMPOSITE_KEY, Space)
KTOPK_INSTANTIATE(KTOPK_ARRANGE)
#undef KTOPK_ARRANGE
#undef KTOPK_ARRANGE_COMPOSITE_KEY

}  // namespace ktopk::detail
