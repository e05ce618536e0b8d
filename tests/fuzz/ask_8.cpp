// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ask_impl.hpp"

namespace ktopk::fuzz {

#define KTOPK_FUZZ_ASKS(Space)       \
  KTOPK_FUZZ_ASK(std::int8_t, Space) \
  KTOPK_FUZZ_ASK(std::uint8_t, Space)
KTOPK_FUZZ_FOR_EACH_SPACE(KTOPK_FUZZ_ASKS)

}  // namespace ktopk::fuzz
