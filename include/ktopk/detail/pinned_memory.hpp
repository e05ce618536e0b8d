// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <Kokkos_Core.hpp>

#include <ktopk/core/backend.hpp>

namespace ktopk::detail {

/// Memory of the host that the instance's kernels reach: pinned, if the instance is of a GPU.
#if defined(KOKKOS_HAS_SHARED_HOST_PINNED_SPACE)
template <class Exec>
using PinnedMemory =
    std::conditional_t<is_host_space<Exec>, Kokkos::HostSpace, Kokkos::SharedHostPinnedSpace>;
#else
template <class Exec>
using PinnedMemory = Kokkos::HostSpace;
#endif

}  // namespace ktopk::detail
