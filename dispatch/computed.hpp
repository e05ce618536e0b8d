// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <ktopk/detail/select.hpp>

#include "../portable/finish/arrange_kernels.hpp"
#include "../portable/one_pass/kernels.hpp"
#include "../portable/radix/kernels.hpp"
#include "../portable/ranks/kernels.hpp"
#include "computed_calls.hpp"
#include "find_ranks.hpp"
#include "find_reaching.hpp"

// The kernels of calls whose keys are computed, for the caller's file.

namespace ktopk::detail {

template <class Exec, ComputedRows R>
void find_ranks_in(Exec const& exec, RankCall<R> const& call, std::byte* buffer, std::size_t size) {
  run_ranks_in(exec, call, buffer, size);
}
template <class Exec, ComputedRows R>
void find_ranks_allocating(Exec const& exec, RankCall<R> const& call) {
  run_ranks_allocating(exec, call);
}

template <class Exec, ComputedRows R>
void find_reaching_in(Exec const& exec, ReachingCall<R> const& call, std::byte* buffer,
                      std::size_t size) {
  run_reaching_in(exec, call, buffer, size);
}
template <class Exec, ComputedRows R>
void find_reaching_allocating(Exec const& exec, ReachingCall<R> const& call) {
  run_reaching_allocating(exec, call);
}

template <class Exec, ComputedRows R>
void count_by_bounds(Exec const& exec, CountCall<R> const& call) {
  run_count(exec, call);
}

}  // namespace ktopk::detail
