// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include <Kokkos_Core.hpp>

#include "copies.hpp"
#include "oracle.hpp"

namespace ktopk::testing {

/// Outputs of rows on a space: values, indices and counts, which integers of type I hold.
template <class T, class I, class Memory>
struct Results {
  Results(std::int64_t rows, std::int64_t k)
      : values("test::values", rows, k),
        indices("test::indices", rows, k),
        counts("test::counts", rows) {
    Kokkos::deep_copy(indices, -7);
  }
  Answer<T> fetch() const {
    auto const v = on_host(values);
    auto const i = on_host(indices);
    auto const c = on_host(counts);
    return {{v.data(), v.data() + v.size()},
            {i.data(), i.data() + i.size()},
            {c.data(), c.data() + c.size()}};
  }

  Kokkos::View<T**, Kokkos::LayoutRight, Memory> values;
  Kokkos::View<I**, Kokkos::LayoutRight, Memory> indices;
  Kokkos::View<I*, Memory> counts;
};

}  // namespace ktopk::testing
