// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

// What the API's headers know of the library: the functions of the dispatcher. The compiled library contains them for
// every enabled execution space and every key width.

namespace ktopk {
struct Explanation;
}

namespace ktopk::detail {

/// A call without Views.
template <Rows R>
struct CallOf {
  char const* function;
  Problem<R> problem;
  IntegerArray host_wanted;  ///< the k of each row, where only the host can read them
  std::int64_t columns = 0;  ///< of outputs, where rows have room for more than all their keys
  bool skips_nan = false;
  bool by_magnitude_of_integers = false;  ///< which no ordered bits can say
};

/// A call whose keys lie in memory.
template <class Bits>
using Call = CallOf<StoredRows<Bits>>;

/// A line of the table of what may run on an execution space.
template <class Exec>
struct Kernel;

/// What serves the calls of a Plan, decided once.
template <class Exec>
struct Resolved {
  Shape shape;
  Options options;  ///< with the algorithm that serves, never `automatic`
  std::array<Kernel<Exec> const*, 3> kernels{};  ///< for each KeyLayout
  std::size_t bytes = 0;  ///< of workspace, for all layouts, and for fewer rows, too
};

/// Bytes of workspace that suffice for every call of this shape, whatever the layout of its keys.
template <class Exec>
std::size_t call_bytes(Exec const& exec, Shape const& shape, Options const& options);

/// Decides by what calls of this shape, or of fewer rows, are served, and has the device load it. The algorithm is that
/// which is chosen for the layout of the shape, if it serves the other layouts, too; otherwise radix.
template <class Exec>
Resolved<Exec> resolve(Exec const& exec, Shape const& shape, Options const& options);

/// Selects on `exec`, in a buffer of at least call_bytes.
/// \throws std::invalid_argument where `size` is less than the call needs
template <class Exec, class Bits>
void select_in(Exec const& exec, Call<Bits> const& call, Options const& options, std::byte* buffer,
               std::size_t size);

/// The same in a buffer of at least resolved.bytes, from as many rows as were resolved, or fewer. A call of fewer rows that
/// would need a larger buffer is done in batches of rows, one after the other.
template <class Exec, class Bits>
void select_resolved(Exec const& exec, Call<Bits> const& call, Resolved<Exec> const& resolved,
                     std::byte* buffer);

/// The same in a buffer that it allocates and frees.
template <class Exec, class Bits>
void select_allocating(Exec const& exec, Call<Bits> const& call, Options const& options);

/// The algorithm that serves a call whose keys are computed, in the caller's own file, and its workspace.
struct Served {
  Algorithm algorithm;
  std::size_t bytes;
};
template <class Exec>
Served served_by(Exec const& exec, Shape const& shape, Options const& options);

template <class Exec>
Explanation explain(Exec const& exec, Shape const& shape, Options const& options);

}  // namespace ktopk::detail
