// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <vector>

#include <ktopk/core/workspace.hpp>
#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/select.hpp>
#include <ktopk/explain.hpp>

#include "../portable/run/first_launch.hpp"
#include "call_rows.hpp"
#include "magnitudes.hpp"
#include "resolve.hpp"
#include "run_call.hpp"

// The calls: their workspace, and how what serves them is run.

namespace ktopk::detail {

/// Bytes of a kernel. Where a host's kernel takes a sample of computed rows, the portable one may have to take over.
template <class Exec>
std::size_t own_bytes(Kernel<Exec> const& kernel, Asked const& asked) {
  if (is_empty(asked.shape)) return 0;
  std::size_t const own = kernel.workspace_bytes(asked.device, asked.shape, asked.options);
  bool const samples = asked.shape.computed && kernel.tuned && own > 0;
  return samples ? std::max(own, OnePass<Generic>::workspace_bytes(asked.device, asked.shape,
                                                                   asked.options))
                 : own;
}

/// Bytes of a call that a kernel serves.
template <class Exec>
std::size_t bytes_with(Kernel<Exec> const& kernel, Asked const& asked) {
  WorkspaceLayout total;
  total.take<std::byte>(wanted_bytes(asked.shape));
  HostMemory const memory(total, asked.device, asked.shape);
  total.take<std::byte>(static_cast<std::int64_t>(own_bytes(kernel, asked)));
  return total.bytes();
}

/// What Kokkos and CUDA else do at a first launch, when a Plan's call may not wait.
template <class Exec>
void load_kernels(Exec const& exec, bool portable) {
  if (portable) launch_first(exec);
#if KTOPK_ENABLE_CUDA_TUNED
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>)
    cuda::Module::load_all(exec.cuda_device(), exec.cuda_stream());
#endif
}

/// Prepares for calls of a shape with each of these numbers of rows, and returns what suffices for all of them. If there
/// are several, portable kernels may serve a number between them.
template <class Exec>
std::size_t prepare(Exec const& exec, Shape shape, Options const& options,
                    std::vector<std::int64_t> const& numbers) {
  std::size_t most = 0;
  bool portable = shape.k == 0 || numbers.size() > 1;
  for (std::int64_t const rows : numbers) {
    shape.rows = rows;
    for (KeyLayout layout : key_layouts) {
      Asked const asked = asked_of(exec, shape, options, layout);
      Kernel<Exec> const& kernel = kernel_for(exec, asked);
      portable |= !kernel.tuned;
      most = std::max(most, bytes_with(kernel, asked));
    }
    if (options.by == By::magnitude)
      most = std::max(most, served_by(exec, shape_of_magnitudes(shape), by_radix(options)).bytes);
  }
  load_kernels(exec, portable);
  return most;
}

template <class Exec>
std::size_t call_bytes(Exec const& exec, Shape const& shape, Options const& options) {
  return prepare(exec, shape, options, {shape.rows});
}

inline KeyLayout layout_of(Shape const& shape) {
  return shape.packed ? KeyLayout::packed : KeyLayout::side_by_side;
}

template <class Bits>
KeyLayout layout_of(StoredProblem<Bits> const& problem) {
  if (problem.shape.packed) return KeyLayout::packed;
  bool const are_neighbors = problem.rows.row_stride == 1 && !problem.shape.ragged;
  return are_neighbors ? KeyLayout::side_by_side : KeyLayout::apart;
}

/// The algorithm by which calls in all layouts are served.
template <class Exec>
Algorithm algorithm_for(Exec const& exec, Shape const& shape, Options options) {
  options.algorithm = wanted_algorithm(exec, asked_of(exec, shape, options, layout_of(shape)));
  for (KeyLayout layout : key_layouts) {
    Asked const asked = asked_of(exec, shape, options, layout);
    if (kernel_for(exec, asked).algorithm != options.algorithm) return Algorithm::radix;
  }
  return options.algorithm;
}

/// Fewer rows may need more: then more groups share a row. Batches of any number of rows can be made of those whose
/// number is a power of two, so it is enough to have room for these.
inline std::vector<std::int64_t> numbers_of_rows(std::int64_t rows) {
  std::vector<std::int64_t> numbers{rows};
  for (std::int64_t power = 1; power < rows; power *= 2) numbers.push_back(power);
  return numbers;
}

template <class Exec>
Resolved<Exec> resolve(Exec const& exec, Shape const& shape, Options const& options) {
  Resolved<Exec> resolved{shape, options};
  resolved.options.algorithm = algorithm_for(exec, shape, options);
  for (KeyLayout layout : key_layouts)
    resolved.kernels[static_cast<std::size_t>(layout)] =
        &kernel_for(exec, asked_of(exec, shape, resolved.options, layout));
  resolved.bytes = prepare(exec, shape, resolved.options, numbers_of_rows(shape.rows));
  return resolved;
}

/// \param buffer  of at least bytes_with
template <class Exec, class Bits>
void select_with(Kernel<Exec> const& kernel, Exec const& exec, Call<Bits> const& call,
                 Options const& options, std::byte* buffer) {
  run_call(exec, call, buffer, [&](StoredProblem<Bits> const& problem, void* workspace) {
    kernel.run(exec, problem, options, workspace);
  });
}

template <class Exec, class Bits>
Asked asked_of(Exec const& exec, StoredProblem<Bits> const& problem, Options const& options) {
  return asked_of(exec, problem.shape, options, layout_of(problem));
}

template <class Exec, class Bits>
void select_in(Exec const& exec, Call<Bits> const& call, Options const& options, std::byte* buffer,
               std::size_t size) {
  if (call.problem.shape.rows == 0) return;
  if (call.by_magnitude_of_integers)
    return select_in(exec, call_of_magnitudes(call, options), by_radix(options), buffer, size);
  Asked const asked = asked_of(exec, call.problem, options);
  Kernel<Exec> const& kernel = kernel_for(exec, asked);
  check_workspace(call.function, size, bytes_with(kernel, asked));
  select_with(kernel, exec, call, options, buffer);
}

/// Selects from fewer rows than were resolved, in as large batches as the buffer is large enough for.
template <class Exec, class Bits>
void select_in_batches(Exec const& exec, Call<Bits> call, Resolved<Exec> const& resolved,
                       std::byte* buffer) {
  Options const& options = resolved.options;
  auto const needs_more = [&](Call<Bits> const& batch) {
    Asked const asked = asked_of(exec, batch.problem, options);
    return bytes_with(kernel_for(exec, asked), asked) > resolved.bytes;
  };
  while (call.problem.shape.rows > 0 && needs_more(call)) {
    Call<Bits> batch = call;
    std::int64_t& rows = batch.problem.shape.rows;
    rows = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows)));
    select_in(exec, batch, options, buffer, resolved.bytes);
    call = without_first_rows(call, rows);
  }
  select_in(exec, call, options, buffer, resolved.bytes);
}

template <class Exec, class Bits>
void select_resolved(Exec const& exec, Call<Bits> const& call, Resolved<Exec> const& resolved,
                     std::byte* buffer) {
  if (call.by_magnitude_of_integers)
    return select_resolved(exec, call_of_magnitudes(call, resolved.options), by_radix(resolved),
                           buffer);
  Call<Bits> const planned = as_planned(call, resolved.shape);
  Shape const& shape = planned.problem.shape;
  if (shape.rows != resolved.shape.rows) return select_in_batches(exec, planned, resolved, buffer);
  if (shape.rows == 0) return;
  auto const layout = static_cast<std::size_t>(layout_of(planned.problem));
  select_with(*resolved.kernels[layout], exec, planned, resolved.options, buffer);
}

template <class Exec, class Bits>
void select_allocating(Exec const& exec, Call<Bits> const& call, Options const& options) {
  if (call.problem.shape.rows == 0) return;
  if (call.by_magnitude_of_integers)
    return select_allocating(exec, call_of_magnitudes(call, options), by_radix(options));
  Asked const asked = asked_of(exec, call.problem, options);
  Kernel<Exec> const& kernel = kernel_for(exec, asked);
  with_workspace(exec, check_needed(call.function, bytes_with(kernel, asked)),
                 [&](std::byte* buffer) { select_with(kernel, exec, call, options, buffer); });
}

template <class Exec>
Served served_by(Exec const& exec, Shape const& shape, Options const& options) {
  Asked const asked = asked_of(exec, shape, options, layout_of(shape));
  Kernel<Exec> const& kernel = kernel_for(exec, asked);
  return {kernel.algorithm, bytes_with(kernel, asked)};
}

template <class Exec>
ComputedBy computed_by(Kernel<Exec> const& kernel) {
  if (kernel.algorithm == Algorithm::bitonic) return ComputedBy::bitonic;
  if (kernel.algorithm != Algorithm::one_pass) return ComputedBy::radix;
  return kernel.tuned ? ComputedBy::host_one_pass : ComputedBy::one_pass;
}
template <class Exec>
ComputedBy computed_by(Exec const& exec, Shape const& shape, Options const& options) {
  return computed_by(kernel_for(exec, asked_of(exec, shape, options, layout_of(shape))));
}
template <class Exec>
ComputedBy computed_by(Resolved<Exec> const& resolved) {
  return computed_by(*resolved.kernels[static_cast<std::size_t>(layout_of(resolved.shape))]);
}

template <class Exec>
Explanation explain(Exec const& exec, Shape const& shape, Options const& options) {
  Explanation explanation;
  if (is_empty(shape)) return explanation;
  Asked const asked = asked_of(exec, shape, options, layout_of(shape));
  Kernel<Exec> const& serves = kernel_for(exec, asked);
  Algorithm const wanted = wanted_algorithm(exec, asked);
  explanation.kernel = serves.label;
  explanation.algorithm = serves.algorithm;
  explanation.tuned = serves.tuned;
  explanation.workspace_bytes = bytes_with(serves, asked);
  for (Kernel<Exec> const& kernel : kernels_of<Exec>()) {
    bool const is_earlier = &kernel < &serves || kernel.algorithm != serves.algorithm;
    bool const is_asked = kernel.algorithm == wanted || kernel.algorithm == serves.algorithm;
    Reason const reason = reason_against(kernel, asked, kernel.algorithm);
    if (is_earlier && is_asked && reason != nullptr)
      explanation.declined.push_back({kernel.label, reason});
  }
  return explanation;
}

#define KTOPK_SELECT_BITS(Space, Bits)                                                   \
  template void select_in(Space const&, Call<Bits> const&, Options const&, std::byte*,   \
                          std::size_t);                                                  \
  template void select_resolved(Space const&, Call<Bits> const&, Resolved<Space> const&, \
                                std::byte*);                                             \
  template void select_allocating(Space const&, Call<Bits> const&, Options const&);
#define KTOPK_SELECT(Space)                                                     \
  template Resolved<Space> resolve(Space const&, Shape const&, Options const&); \
  template std::size_t call_bytes(Space const&, Shape const&, Options const&);  \
  template Served served_by(Space const&, Shape const&, Options const&);        \
  template ComputedBy computed_by(Space const&, Shape const&, Options const&);  \
  template ComputedBy computed_by(Resolved<Space> const&);                      \
  template Explanation explain(Space const&, Shape const&, Options const&);     \
  KTOPK_SELECT_BITS(Space, std::uint8_t)                                        \
  KTOPK_SELECT_BITS(Space, std::uint16_t)                                       \
  KTOPK_SELECT_BITS(Space, std::uint32_t)                                       \
  KTOPK_SELECT_BITS(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_SELECT)
#undef KTOPK_SELECT
#undef KTOPK_SELECT_BITS

}  // namespace ktopk::detail
