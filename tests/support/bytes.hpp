// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

namespace ktopk::testing {

/// The memory of a contiguous View as bytes, to be filled or copied: Kokkos would compile these kernels anew for every
/// type of View.
template <class View>
auto bytes_of(View const& view) {
  using Bytes = Kokkos::View<unsigned char*, typename View::memory_space,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Bytes(reinterpret_cast<unsigned char*>(view.data()),
               view.size() * sizeof(typename View::value_type));
}

}  // namespace ktopk::testing
