// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.hpp"

#include <ktopk/detail/instantiate.hpp>

#include "kernels.hpp"

namespace ktopk::detail {

#define KTOPK_RANKS(Space)                                                                     \
  template void search_ranks(Space const&, RankCall<StoredRows<std::uint8_t>> const&, void*);  \
  template void search_ranks(Space const&, RankCall<StoredRows<std::uint16_t>> const&, void*); \
  template void search_ranks(Space const&, RankCall<StoredRows<std::uint32_t>> const&, void*); \
  template void search_ranks(Space const&, RankCall<StoredRows<std::uint64_t>> const&, void*);
KTOPK_INSTANTIATE(KTOPK_RANKS)
#undef KTOPK_RANKS

}  // namespace ktopk::detail
