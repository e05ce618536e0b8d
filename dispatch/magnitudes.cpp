// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "magnitudes.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "../portable/finish/arrange_kernels.hpp"
#include "../portable/radix/kernels.hpp"

namespace ktopk::detail {

#define KTOPK_MAGNITUDES_OF(Space, Bits)                                               \
  template void Radix<Generic>::run(Space const&, Problem<MagnitudeRows<Bits>> const&, \
                                    Options const&, void*);
#define KTOPK_MAGNITUDES(Space)             \
  KTOPK_MAGNITUDES_OF(Space, std::uint8_t)  \
  KTOPK_MAGNITUDES_OF(Space, std::uint16_t) \
  KTOPK_MAGNITUDES_OF(Space, std::uint32_t) \
  KTOPK_MAGNITUDES_OF(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_MAGNITUDES)
#undef KTOPK_MAGNITUDES
#undef KTOPK_MAGNITUDES_OF

}  // namespace ktopk::detail
