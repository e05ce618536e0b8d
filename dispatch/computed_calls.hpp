// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>

#include <ktopk/config.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/select.hpp>

#include "../portable/bitonic/bitonic.hpp"
#include "../portable/one_pass/one_pass.hpp"
#include "../portable/radix/radix.hpp"
#include "call_rows.hpp"
#include "run_call.hpp"
#if KTOPK_ENABLE_HOST_TUNED
#include "computed_on_hosts.hpp"
#endif

// Calls whose keys are computed: the library decides, and whoever includes the kernels runs them.

namespace ktopk::detail {

template <class R>
inline constexpr bool is_stored_rows = false;
template <class Bits>
inline constexpr bool is_stored_rows<StoredRows<Bits>> = true;

template <class R>
concept ComputedRows = Rows<R> && !is_stored_rows<R>;

/// Whether rows are those of signed integers by magnitude. They are compiled in the library, for radix alone.
template <class R>
inline constexpr bool are_magnitudes = requires { R::are_magnitudes; };

/// Whether bitonic is compiled for rows, too. They hold those that were given.
template <class R>
inline constexpr bool are_for_bitonic = requires { typename R::Given; };

template <class R>
Problem<typename R::Given> problem_of_given(Problem<R> const& problem) {
  typename R::Given const& given = problem.rows;
  return {problem.shape, given, problem.rank, problem.out, problem.wanted, problem.counts};
}

/// Which kernels serve a call whose keys are computed.
enum class ComputedBy { radix, one_pass, host_one_pass, bitonic };

template <class Exec>
ComputedBy computed_by(Exec const& exec, Shape const& shape, Options const& options);
/// \param resolved  for a shape whose keys are computed
template <class Exec>
ComputedBy computed_by(Resolved<Exec> const& resolved);

template <class Exec, ComputedRows R>
void run_by([[maybe_unused]] ComputedBy by, Exec const& exec, Problem<R> const& problem,
            Options const& options, void* workspace) {
  if constexpr (are_for_bitonic<R>) {
    auto const given = problem_of_given(problem);
    if (by == ComputedBy::bitonic) return Bitonic<Generic>::run(exec, given, options, workspace);
    run_by(by, exec, given, options, workspace);
  } else {
    if constexpr (!are_magnitudes<R>) {
#if KTOPK_ENABLE_HOST_TUNED
      if constexpr (is_host_space<Exec>)
        if (by == ComputedBy::host_one_pass && select_on_host(exec, problem, options, workspace))
          return;
#endif
      if (by != ComputedBy::radix) return OnePass<Generic>::run(exec, problem, options, workspace);
    }
    Radix<Generic>::run(exec, problem, options, workspace);
  }
}

template <class Exec, ComputedRows R>
void run_computed(ComputedBy by, Exec const& exec, CallOf<R> const& call, Options const& options,
                  std::byte* buffer) {
  run_call(exec, call, buffer, [&](Problem<R> const& problem, void* workspace) {
    run_by(by, exec, problem, options, workspace);
  });
}

template <class Exec, ComputedRows R>
void select_in(Exec const& exec, CallOf<R> const& call, Options const& options, std::byte* buffer,
               std::size_t size) {
  if (call.problem.shape.rows == 0) return;
  Shape const& shape = call.problem.shape;
  check_workspace(call.function, size, served_by(exec, shape, options).bytes);
  run_computed(computed_by(exec, shape, options), exec, call, options, buffer);
}

template <class Exec, ComputedRows R>
void select_allocating(Exec const& exec, CallOf<R> const& call, Options const& options) {
  if (call.problem.shape.rows == 0) return;
  Shape const& shape = call.problem.shape;
  std::size_t const needed = check_needed(call.function, served_by(exec, shape, options).bytes);
  with_workspace(exec, needed, [&](std::byte* buffer) {
    run_computed(computed_by(exec, shape, options), exec, call, options, buffer);
  });
}

/// \see select_resolved of keys in memory
template <class Exec, ComputedRows R>
void select_resolved(Exec const& exec, CallOf<R> const& given, Resolved<Exec> const& resolved,
                     std::byte* buffer) {
  CallOf<R> call = as_planned(given, resolved.shape);
  std::int64_t& rows = call.problem.shape.rows;
  if (rows > 0 && rows == resolved.shape.rows)
    return run_computed(computed_by(resolved), exec, call, resolved.options, buffer);
  while (rows > 0) {
    CallOf<R> batch = call;
    Shape& shape = batch.problem.shape;
    if (served_by(exec, shape, resolved.options).bytes > resolved.bytes)
      shape.rows = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)));
    run_computed(computed_by(exec, shape, resolved.options), exec, batch, resolved.options, buffer);
    call = without_first_rows(call, batch.problem.shape.rows);
  }
}

}  // namespace ktopk::detail
