// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/select.hpp>
#include <ktopk/detail/testing.hpp>
#include <ktopk/detail/workspace.hpp>

#include "../backends/host/call_workspace.hpp"
#include "../backends/host/memory.hpp"
#include "algorithms/bisection.hpp"
#include "algorithms/bitonic.hpp"
#include "algorithms/bucket.hpp"
#include "algorithms/delegate.hpp"
#include "algorithms/heap.hpp"
#include "algorithms/one_pass.hpp"
#include "algorithms/queue.hpp"
#include "algorithms/quick.hpp"
#include "algorithms/radix.hpp"
#include "algorithms/sample.hpp"
#include "algorithms/sort.hpp"
#include "calibration.hpp"
#include "call_rows.hpp"
#include "choose.hpp"
#include "first_launch.hpp"
#include "tuned.hpp"

// The dispatcher: the only file that knows all implementations.

namespace ktopk::detail {

template <class Implementation>
concept Specialized = requires { Implementation::label; };

template <class Backend>
bool is_forbidden() {
  return portable_alone && !std::is_same_v<Backend, Generic>;
}

/// Calls visit(implementation) with the first one in the list that supports the shape; returns false if none does.
template <template <class> class Algorithm, class... Backends, class Visit>
bool with_first_of(BackendList<Backends...>, Device const& device, Shape const& shape,
                   Options const& options, Visit const& visit) {
  auto const is_visited = [&]<class Backend>(Backend) {
    if constexpr (Specialized<Algorithm<Backend>>) {
      if (is_forbidden<Backend>() || !Algorithm<Backend>::supports(device, shape, options))
        return false;
      visit(Algorithm<Backend>{});
      return true;
    }
    return false;
  };
  return (is_visited(Backends{}) || ...);
}

/// The same for an execution space. If none of its backends supports the shape, visits radix, which always does.
template <template <class> class Algorithm, class Exec, class Visit>
void with_implementation(Exec const& exec, Shape const& shape, Options const& options,
                         Visit const& visit) {
  typename backends_of<Exec>::type const backends;
  Device const device = device_of(exec);
  if (!with_first_of<Algorithm>(backends, device, shape, options, visit))
    with_first_of<Radix>(backends, device, shape, options, visit);
}

template <class Implementation>
inline constexpr bool is_radix = false;
template <class Backend>
inline constexpr bool is_radix<Radix<Backend>> = true;

template <class Implementation>
inline constexpr bool is_portable = false;
template <template <class> class Algorithm>
inline constexpr bool is_portable<Algorithm<Generic>> = true;

template <template <class> class Algorithm, class Exec>
bool is_served_by_tuned(Device const& device, Shape const& shape, Options const& options) {
  bool is_tuned = false;
  with_first_of<Algorithm>(
      typename backends_of<Exec>::type{}, device, shape, options,
      [&](auto implementation) { is_tuned = !is_portable<decltype(implementation)>; });
  return is_tuned;
}

/// \param function  for the message where the calibration is of no use
template <class Exec>
Algorithm wanted_algorithm(char const* function, Exec const& exec, Shape const& shape,
                           Options const& options) {
  if (options.algorithm != Algorithm::automatic) return options.algorithm;
  Device const device = device_of(exec);
  TunedAlgorithms const tuned{
      .one_pass = is_served_by_tuned<OnePass, Exec>(device, shape, options),
      .bisection = is_served_by_tuned<Bisection, Exec>(device, shape, options),
      .radix = is_served_by_tuned<Radix, Exec>(device, shape, options),
      .heap = is_served_by_tuned<Heap, Exec>(device, shape, options),
      .queue = is_served_by_tuned<Queue, Exec>(device, shape, options)};
  auto const calibration = named_calibration(function);
  if (calibration == nullptr || !is_exact(options)) return choose(device, shape, tuned);
  return choose(device, shape, tuned,
                figures_of_space(function, *calibration, exec.name(), tuned.radix));
}

template <class Exec, class Visit>
void with_chosen_implementation(char const* function, Exec const& exec, Shape const& shape,
                                Options const& options, Visit const& visit) {
  switch (wanted_algorithm(function, exec, shape, options)) {
    case Algorithm::one_pass: return with_implementation<OnePass>(exec, shape, options, visit);
    case Algorithm::bitonic: return with_implementation<Bitonic>(exec, shape, options, visit);
    case Algorithm::queue: return with_implementation<Queue>(exec, shape, options, visit);
    case Algorithm::heap: return with_implementation<Heap>(exec, shape, options, visit);
    case Algorithm::sort: return with_implementation<Sort>(exec, shape, options, visit);
    case Algorithm::bisection: return with_implementation<Bisection>(exec, shape, options, visit);
    case Algorithm::bucket: return with_implementation<Bucket>(exec, shape, options, visit);
    case Algorithm::delegate: return with_implementation<Delegate>(exec, shape, options, visit);
    case Algorithm::quick: return with_implementation<Quick>(exec, shape, options, visit);
    case Algorithm::sample: return with_implementation<Sample>(exec, shape, options, visit);
    default: return with_implementation<Radix>(exec, shape, options, visit);
  }
}

/// A shape with its keys packed, and with gaps between them. Of no rows any k is valid; implementations expect one of at
/// most n.
inline std::array<Shape, 2> both_layouts(Shape shape) {
  if (shape.rows == 0) shape.k = std::min(shape.k, shape.n);
  shape.packed = true;
  Shape with_gaps = shape;
  with_gaps.packed = false;
  return {shape, with_gaps};
}

template <class Exec>
Algorithm select_algorithm(char const* function, Exec const& exec, Shape const& shape,
                           Options const& options) {
  auto const layouts = both_layouts(shape);
  Options wanted = options;
  wanted.algorithm = wanted_algorithm(function, exec, layouts[shape.packed ? 0 : 1], options);
  Algorithm served = wanted.algorithm;
  for (Shape const& layout : layouts)
    with_chosen_implementation(function, exec, layout, wanted, [&](auto implementation) {
      if constexpr (is_radix<decltype(implementation)>) served = Algorithm::radix;
    });
  return served;
}

/// Bytes that the shape's own layout needs.
template <class Exec>
std::size_t select_bytes(char const* function, Exec const& exec, Shape const& shape,
                         Options const& options) {
  if (shape.rows == 0 || shape.k == 0) return 0;
  std::size_t bytes = 0;
  with_chosen_implementation(function, exec, shape, options, [&](auto implementation) {
    bytes = decltype(implementation)::workspace_bytes(device_of(exec), shape, options);
  });
  return bytes;
}

struct StoreNoCounts {
  IntegerArray counts;
  KOKKOS_FUNCTION void operator()(std::int64_t row) const { counts.store(row, 0); }
};

template <class Exec, class Bits>
void select(char const* function, Exec const& exec, Problem<Bits> const& problem,
            Options const& options, void* workspace) {
  Shape const& shape = problem.shape;
  if (shape.rows == 0) return;
  if (shape.k == 0) {
    if (problem.counts)
      Kokkos::parallel_for("ktopk::select::no_counts",
                           Kokkos::RangePolicy<Exec>(exec, 0, shape.rows),
                           StoreNoCounts{problem.counts});
    return;
  }
  with_chosen_implementation(function, exec, shape, options, [&](auto implementation) {
    decltype(implementation)::run(exec, problem, options, workspace);
  });
}

/// Bytes at the head of a workspace that hold a copy of a host's `wanted`.
inline std::int64_t wanted_bytes(Shape const& shape) {
  return shape.k_per_row ? shape.rows * static_cast<std::int64_t>(sizeof(std::int64_t)) : 0;
}

template <class Exec>
std::size_t layout_bytes(char const* function, Exec const& exec, Shape const& shape,
                         Options const& options) {
  WorkspaceLayout total;
  total.take<std::byte>(wanted_bytes(shape));
  HostMemory const memory(total, device_of(exec), shape);
  total.take<std::byte>(static_cast<std::int64_t>(select_bytes(function, exec, shape, options)));
  return total.bytes();
}

/// Whether calls of the shape launch Kokkos's kernels.
template <class Exec>
bool is_served_by_portable(char const* function, Exec const& exec, Shape const& shape,
                           Options const& options) {
  bool served = shape.k == 0;
  with_chosen_implementation(function, exec, shape, options, [&](auto implementation) {
    served = served || is_portable<decltype(implementation)>;
  });
  return served;
}

/// Prepares for calls of a shape with each of these numbers of rows, and returns what suffices for all of them.
template <class Exec>
std::size_t prepare(char const* function, Exec const& exec, Shape shape, Options const& options,
                    std::vector<std::int64_t> const& numbers) {
  bool is_portable = false;
  std::size_t most = 0;
  for (std::int64_t const rows : numbers) {
    shape.rows = rows;
    for (Shape const& layout : both_layouts(shape)) {
      is_portable = is_portable || is_served_by_portable(function, exec, layout, options);
      most = std::max(most, layout_bytes(function, exec, layout, options));
    }
  }
  if (is_portable) launch_first(exec);
#if KTOPK_ENABLE_CUDA_TUNED
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>)
    cuda::Module::load_all(exec.cuda_device(), exec.cuda_stream());
#endif
  return most;
}

template <class Exec>
std::size_t call_bytes(char const* function, Exec const& exec, Shape const& shape,
                       Options const& options) {
  return prepare(function, exec, shape, options, {shape.rows});
}

/// Fewer rows may need more: then more groups share a row. Batches of any number of rows can be made of those whose
/// number is a power of two, so it is enough to have room for these.
template <class Exec>
std::size_t plan_bytes(char const* function, Exec const& exec, Shape const& shape,
                       Options const& options) {
  std::vector<std::int64_t> numbers{shape.rows};
  for (std::int64_t rows = 1; rows < shape.rows; rows *= 2) numbers.push_back(rows);
  return prepare(function, exec, shape, options, numbers);
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

template <class Exec, class Bits>
void select_with(Exec const& exec, Call<Bits> const& call, Options const& options,
                 std::byte* buffer) {
  Problem<Bits> problem = call.problem;
  WorkspaceLayout layout(buffer);
  auto* const wanted = layout.take<std::byte>(wanted_bytes(problem.shape));
  if (call.host_wanted)
    problem.wanted = bring_wanted(exec, problem.shape.rows, call.host_wanted, wanted);
  UseHostMemory const use(HostMemory(layout, device_of(exec), problem.shape));
  select(call.function, exec, problem, options, layout.take<std::byte>(1));
}

template <class Exec, class Bits>
void select_in(Exec const& exec, Call<Bits> const& call, Options const& options, std::byte* buffer,
               std::size_t size) {
  if (call.problem.shape.rows == 0) return;
  check_workspace(call.function, size,
                  layout_bytes(call.function, exec, call.problem.shape, options));
  select_with(exec, call, options, buffer);
}

template <class Exec, class Bits>
void select_planned(Exec const& exec, Call<Bits> const& call, Shape const& planned,
                    Options const& options, std::byte* buffer, std::size_t size) {
  Call<Bits> rest = call;
  Shape& shape = rest.problem.shape;
  if (shape.ragged) rest.problem.absent = planned.n - shape.n;
  shape.n = planned.n;
  shape.k_per_row = planned.k_per_row;
  while (shape.rows > 0 && layout_bytes(call.function, exec, shape, options) > size) {
    Call<Bits> batch = rest;
    std::int64_t& rows = batch.problem.shape.rows;
    rows = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(shape.rows)));
    select_in(exec, batch, options, buffer, size);
    rest = without_first_rows(rest, rows);
  }
  if (shape.rows > 0) select_with(exec, rest, options, buffer);
}

template <class Exec, class Bits>
void select_allocating(Exec const& exec, Call<Bits> const& call, Options const& options) {
  if (call.problem.shape.rows == 0) return;
  std::size_t const bytes =
      check_needed(call.function, layout_bytes(call.function, exec, call.problem.shape, options));
  if constexpr (is_host_space<Exec>) {
    host::CallWorkspace const workspace(bytes);
    select_with(exec, call, options, workspace.data());
  } else {
    Kokkos::View<std::byte*, typename Exec::memory_space> const workspace(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "ktopk::workspace"), bytes);
    select_with(exec, call, options, workspace.data());
  }
}

#define KTOPK_SELECT_BITS(Space, Bits)                                                        \
  template void select_in(Space const&, Call<Bits> const&, Options const&, std::byte*,        \
                          std::size_t);                                                       \
  template void select_planned(Space const&, Call<Bits> const&, Shape const&, Options const&, \
                               std::byte*, std::size_t);                                      \
  template void select_allocating(Space const&, Call<Bits> const&, Options const&);
#define KTOPK_SELECT(Space)                                                                     \
  template Algorithm select_algorithm(char const*, Space const&, Shape const&, Options const&); \
  template std::size_t call_bytes(char const*, Space const&, Shape const&, Options const&);     \
  template std::size_t plan_bytes(char const*, Space const&, Shape const&, Options const&);     \
  KTOPK_SELECT_BITS(Space, std::uint8_t)                                                        \
  KTOPK_SELECT_BITS(Space, std::uint16_t)                                                       \
  KTOPK_SELECT_BITS(Space, std::uint32_t)                                                       \
  KTOPK_SELECT_BITS(Space, std::uint64_t)
KTOPK_INSTANTIATE(KTOPK_SELECT)
#undef KTOPK_SELECT
#undef KTOPK_SELECT_BITS

}  // namespace ktopk::detail
