// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_impl.hpp"

namespace ktopk::fuzz {

#define KTOPK_FUZZ_CALLS(Space)       \
  KTOPK_FUZZ_CALL(std::int8_t, Space) \
  KTOPK_FUZZ_CALL(std::uint8_t, Space)
KTOPK_FUZZ_FOR_EACH_SPACE(KTOPK_FUZZ_CALLS)

}  // namespace ktopk::fuzz
