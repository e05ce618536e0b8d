// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "views.hpp"

// Included by the files that compile the calls of a key type.

namespace ktopk::fuzz {

/// The calls by a Plan, one after the other without a fence.
template <class T, class Exec>
void call_plan(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  Plan<Exec> plan(exec, shape_of(c), c.options);
  for (int i = 0; i < c.repeats; ++i) {
    hooks.before(i);
    Views<T, Exec> const views{case_of_call(c, i), memory};
    views.visit_arguments([&](auto const&... arguments) { plan(arguments...); });
    hooks.after(i);
  }
}

template <class T, class Exec>
void call_in_workspace(Exec const& exec, Case const& c, Views<T, Exec> const& views,
                       Hooks const& hooks) {
  std::size_t const bytes = workspace_bytes(exec, shape_of(c), c.options);
  Workspace<Exec> const workspace(hooks.workspace(bytes), bytes);
  views.visit_arguments(
      [&](auto const&... arguments) { top_k(exec, arguments..., c.options, workspace); });
}

template <class T, class Exec>
void call_with(Exec const& exec, Case const& c, Memory const& memory, Hooks const& hooks) {
  if (c.way == Way::plan) return call_plan<T>(exec, c, memory, hooks);
  Views<T, Exec> const views{c, memory};
  hooks.before(0);
  if (c.way == Way::workspace)
    call_in_workspace(exec, c, views, hooks);
  else if (c.way == Way::default_instance)
    views.visit_arguments([&](auto const&... arguments) { top_k(arguments..., c.options); });
  else
    views.visit_arguments([&](auto const&... arguments) { top_k(exec, arguments..., c.options); });
  hooks.after(0);
}

#define KTOPK_FUZZ_CALL(Type, Space) \
  template void call_with<Type>(Space const&, Case const&, Memory const&, Hooks const&);

}  // namespace ktopk::fuzz
