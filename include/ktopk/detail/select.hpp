// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

// What the API's headers know of the library: the functions of the dispatcher. The compiled library contains them for
// every enabled execution space and every key width.

namespace ktopk::detail {

/// A call without Views.
template <class Bits>
struct Call {
  char const* function;
  Problem<Bits> problem;
  IntegerArray host_wanted;  ///< the k of each row, where only the host can read them
};

/// Bytes of workspace that a call of this shape needs, whether its keys are packed or not: the more of the two.
/// \throws std::invalid_argument, here as below, where it is to choose by a calibration that is of no use;
///         `function` begins the message
template <class Exec>
std::size_t call_bytes(char const* function, Exec const& exec, Shape const& shape,
                       Options const& options);

/// Bytes with which select_planned serves every call of this shape, or of fewer rows.
template <class Exec>
std::size_t plan_bytes(char const* function, Exec const& exec, Shape const& shape,
                       Options const& options);

/// Selects on `exec` from as many rows as `planned` has, or fewer. A call for which the buffer is too small at once is
/// done in batches of rows, one after the other.
/// \param size  plan_bytes of `planned`
template <class Exec, class Bits>
void select_planned(Exec const& exec, Call<Bits> const& call, Shape const& planned,
                    Options const& options, std::byte* buffer, std::size_t size);

/// Selects on `exec`, in a buffer of at least call_bytes.
/// \throws std::invalid_argument where `size` is less than the call needs
template <class Exec, class Bits>
void select_in(Exec const& exec, Call<Bits> const& call, Options const& options, std::byte* buffer,
               std::size_t size);

/// The same in a buffer that it allocates and frees.
template <class Exec, class Bits>
void select_allocating(Exec const& exec, Call<Bits> const& call, Options const& options);

/// The algorithm that serves the shape, never `automatic`: the one that is chosen for the layout of the shape, if it
/// supports the other layout too; otherwise radix. If it is then requested by name, it serves every layout.
template <class Exec>
Algorithm select_algorithm(char const* function, Exec const& exec, Shape const& shape,
                           Options const& options);

}  // namespace ktopk::detail
