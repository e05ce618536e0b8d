// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>
#include <ktopk/detail/select.hpp>

#include "../runtime/host_memory.hpp"
#include "../runtime/host_workspace.hpp"
#include "finish_call.hpp"
#if defined(KOKKOS_ENABLE_CUDA)
#include "cuda_workspace.hpp"
#endif

// How a call is run, whatever its keys come from: its workspace, and what surrounds the kernels.

namespace ktopk::detail {

inline bool is_empty(Shape const& shape) { return shape.rows == 0 || shape.k == 0; }

/// Bytes at the head of a workspace that hold a copy of a host's `wanted`.
inline std::int64_t wanted_bytes(Shape const& shape) {
  return shape.k_per_row ? shape.rows * static_cast<std::int64_t>(sizeof(std::int64_t)) : 0;
}

struct StoreNoCounts {
  IntegerArray counts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { counts.store(row, 0); }
};

/// Calls body() unless no key is selected: then all counts are 0.
template <class Exec, Rows R, class Body>
void run_unless_empty(Exec const& exec, Problem<R> const& problem, Body const& body) {
  if (problem.shape.k != 0) return body();
  if (problem.counts)
    Kokkos::parallel_for("ktopk::select::no_counts",
                         Kokkos::RangePolicy<Exec>(exec, 0, problem.shape.rows),
                         StoreNoCounts{problem.counts});
}

/// Makes an asynchronous copy of `wanted`, which only the host can read.
template <class Exec>
IntegerArray bring_wanted(Exec const& exec, std::int64_t rows, IntegerArray const& wanted,
                          std::byte* buffer) {
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  auto const bytes = static_cast<std::size_t>(rows * wanted.bytes);
  Kokkos::deep_copy(exec,
                    Kokkos::View<std::byte*, typename Exec::memory_space, Unmanaged>(buffer, bytes),
                    Kokkos::View<std::byte const*, Kokkos::HostSpace, Unmanaged>(
                        static_cast<std::byte const*>(wanted.data), bytes));
  return {buffer, 1, wanted.bytes};
}

/// Lays out the workspace of a call, and calls run(problem, workspace).
/// \param buffer  of at least call_bytes
template <class Exec, Rows R, class Run>
void run_call(Exec const& exec, CallOf<R> const& call, std::byte* buffer, Run const& run) {
  Problem<R> problem = call.problem;
  WorkspaceLayout layout(buffer);
  auto* const wanted = layout.take<std::byte>(wanted_bytes(problem.shape));
  if (call.host_wanted)
    problem.wanted = bring_wanted(exec, problem.shape.rows, call.host_wanted, wanted);
  UseHostMemory const use(HostMemory(layout, device_of(exec), problem.shape));
  void* const workspace = layout.take<std::byte>(1);
  run_unless_empty(exec, problem, [&] { run(problem, workspace); });
  finish_call(exec, call);
}

/// A call as a Plan for a larger shape runs it.
template <Rows R>
CallOf<R> as_planned(CallOf<R> call, Shape const& planned) {
  Shape& shape = call.problem.shape;
  std::int64_t const absent = shape.ragged ? planned.n - shape.n : 0;
  shape.n = planned.n;
  shape.k_per_row = planned.k_per_row;
  call.problem.rows = call.problem.rows.with_room(shape.n, absent);
  return call;
}

/// Calls body(buffer) with memory that is there until what the body enqueues is done.
template <class Exec, class Body>
void with_workspace(Exec const& exec, std::size_t bytes, Body const& body) {
  if constexpr (is_host_space<Exec>) {
    host::CallWorkspace const workspace(bytes);
    body(workspace.data());
  } else {
#if defined(KOKKOS_ENABLE_CUDA)
    if (cuda::WorkspacePool::is_supported(exec.cuda_device())) {
      cuda::CallWorkspace const workspace(exec, bytes);
      return body(workspace.data());
    }
#endif
    Kokkos::View<std::byte*, typename Exec::memory_space> const workspace(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::workspace"), bytes);
    body(workspace.data());
  }
}

}  // namespace ktopk::detail
