// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <vector>

#include <Kokkos_Core.hpp>

#include "inputs.hpp"

// Copies between vectors and Views of a space.

namespace ktopk::testing {

template <class Memory, class T>
Kokkos::View<T*, Memory> copied_to(std::vector<T> const& from) {
  Kokkos::View<T*, Memory> to("ktopk::tests::keys", from.size());
  Kokkos::deep_copy(
      to, Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
              from.data(), from.size()));
  return to;
}

template <class Memory, class Layout, class T>
Kokkos::View<T**, Layout, Memory> copied_to(std::vector<T> const& from, std::int64_t rows,
                                            std::int64_t n) {
  Kokkos::View<T**, Layout, Memory> to("ktopk::tests::keys", rows, n);
  auto const host = Kokkos::create_mirror_view(to);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < n; ++i) host(r, i) = from[r * n + i];
  Kokkos::deep_copy(to, host);
  return to;
}

template <class View>
auto on_host(View const& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
}

/// Rows of an input, each with a seed of its own.
template <class T>
std::vector<T> filled(Input input, std::int64_t rows, std::int64_t n) {
  std::vector<T> keys(static_cast<std::size_t>(rows * n));
  for (std::int64_t r = 0; r < rows; ++r)
    fill(keys.data() + r * n, input, n, static_cast<std::uint64_t>(r + 1));
  return keys;
}

}  // namespace ktopk::testing
