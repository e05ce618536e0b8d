// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "radix.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "kernels.hpp"

namespace ktopk::detail {

KTOPK_INLINE std::size_t Radix<Generic>::workspace_bytes(Device const& device, Shape const& shape,
                                                         Options const& options) {
  return bytes_of<RadixLayout>(device, shape, options);
}

#define KTOPK_RADIX_SELECT(Space, Bits, CompositeKey)                                         \
  template void radix_select(Space const&, KeySource<StoredRows<Bits>, CompositeKey> const&,  \
                             RadixScratch<CompositeKey> const&,                               \
                             SelectedSink<StoredRows<Bits>, CompositeKey> const&);            \
  template void radix_select(Space const&, ListSource<StoredRows<Bits>, CompositeKey> const&, \
                             RadixScratch<CompositeKey> const&,                               \
                             SelectedSink<StoredRows<Bits>, CompositeKey> const&);
#define KTOPK_RADIX(Space)            \
  KTOPK_RUN_ON(Radix<Generic>, Space) \
  KTOPK_FOR_EACH_COMPOSITE_KEY(KTOPK_RADIX_SELECT, Space)
KTOPK_INSTANTIATE(KTOPK_RADIX)
#undef KTOPK_RADIX
#undef KTOPK_RADIX_SELECT

static_assert(Implementation<Radix<Generic>, Kokkos::DefaultExecutionSpace, std::uint32_t>);

}  // namespace ktopk::detail
