// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/select.hpp>

#include "../portable/one_pass/one_pass.hpp"
#include "../portable/radix/radix.hpp"
#include "call_rows.hpp"
#include "run_call.hpp"

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

template <class Exec, ComputedRows R>
void run_computed(Algorithm algorithm, Exec const& exec, CallOf<R> const& call,
                  Options const& options, std::byte* buffer) {
  run_call(exec, call, buffer, [&](Problem<R> const& problem, void* workspace) {
    if constexpr (!are_magnitudes<R>)
      if (algorithm == Algorithm::one_pass)
        return OnePass<Generic>::run(exec, problem, options, workspace);
    Radix<Generic>::run(exec, problem, options, workspace);
  });
}

template <class Exec, ComputedRows R>
void select_in(Exec const& exec, CallOf<R> const& call, Options const& options, std::byte* buffer,
               std::size_t size) {
  if (call.problem.shape.rows == 0) return;
  Served const served = served_by(exec, call.problem.shape, options);
  check_workspace(call.function, size, served.bytes);
  run_computed(served.algorithm, exec, call, options, buffer);
}

template <class Exec, ComputedRows R>
void select_allocating(Exec const& exec, CallOf<R> const& call, Options const& options) {
  if (call.problem.shape.rows == 0) return;
  Served const served = served_by(exec, call.problem.shape, options);
  with_workspace(exec, check_needed(call.function, served.bytes), [&](std::byte* buffer) {
    run_computed(served.algorithm, exec, call, options, buffer);
  });
}

/// \see select_resolved of keys in memory
template <class Exec, ComputedRows R>
void select_resolved(Exec const& exec, CallOf<R> const& given, Resolved<Exec> const& resolved,
                     std::byte* buffer) {
  CallOf<R> call = as_planned(given, resolved.shape);
  std::int64_t& rows = call.problem.shape.rows;
  if (rows > 0 && rows == resolved.shape.rows)
    return run_computed(resolved.options.algorithm, exec, call, resolved.options, buffer);
  while (rows > 0) {
    CallOf<R> batch = call;
    Served served = served_by(exec, batch.problem.shape, resolved.options);
    if (served.bytes > resolved.bytes) {
      batch.problem.shape.rows =
          static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)));
      served = served_by(exec, batch.problem.shape, resolved.options);
    }
    run_computed(served.algorithm, exec, batch, resolved.options, buffer);
    call = without_first_rows(call, batch.problem.shape.rows);
  }
}

}  // namespace ktopk::detail
