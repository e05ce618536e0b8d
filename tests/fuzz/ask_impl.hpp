// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ask_selections.hpp"

// Included by the files that compile what is asked of a key type.

namespace ktopk::fuzz {

template <class T, class Exec>
void ask_with(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  if (!c.has_answer_of_top_k()) return ask_question<T>(exec, c, memory, hooks);
  if constexpr (has_all_asks(key_type_of<T>)) ask_selection<T>(exec, c, memory, hooks);
}

#define KTOPK_FUZZ_ASK(Type, Space) \
  template void ask_with<Type>(Space const&, Case const&, Memory const&, Hooks const&);

}  // namespace ktopk::fuzz
