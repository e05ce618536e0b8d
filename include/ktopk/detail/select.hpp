// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>

// The hall's door: what the headers of ground floor know of the floor above. The compiled library
// holds these functions for every enabled execution space and every key width.

namespace ktopk::detail {

/// Selects on `exec`, in `workspace` of at least select_bytes(exec, problem.shape, options).
template <class Exec, class Bits>
void select(Exec const& exec, Problem<Bits> const& problem, Options const& options,
            void* workspace);

template <class Exec>
std::size_t select_bytes(Exec const& exec, Shape const& shape, Options const& options);

/// The algorithm that serves the shape: never `automatic`.
template <class Exec>
Algorithm select_algorithm(Exec const& exec, Shape const& shape, Options const& options);

}  // namespace ktopk::detail
