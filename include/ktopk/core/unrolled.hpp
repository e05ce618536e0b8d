// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>
#include <utility>

#include <Kokkos_Macros.hpp>

namespace ktopk::detail {

/// Calls body(j) for j = 0 .. Count - 1. Each j is a constant, so that a GPU's compiler keeps arrays in registers.
template <int Count, class Body>
KOKKOS_FORCEINLINE_FUNCTION void unrolled(Body const& body) {
  [&]<int... j>(std::integer_sequence<int, j...>) {
    (body(std::integral_constant<int, j>{}), ...);
  }(std::make_integer_sequence<int, Count>{});
}

}  // namespace ktopk::detail
