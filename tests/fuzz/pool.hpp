// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

namespace ktopk::fuzz {

/// Memory that grows and is kept from case to case.
template <class Exec>
class Pool {
 public:
  /// At least so many bytes, in whole words of 8. What a larger request finds is new memory.
  std::byte* reserve(Exec const& exec, std::size_t bytes) {
    if (bytes > m_bytes.size()) {
      exec.fence("fuzz: a pool grows");
      m_bytes = View();
      m_bytes = View(Kokkos::view_alloc(Kokkos::WithoutInitializing, "fuzz::pool"),
                     (bytes + bytes / 2 + 4096) / 8 * 8);
    }
    return m_bytes.data();
  }

 private:
  using View = Kokkos::View<std::byte*, typename Exec::memory_space>;
  View m_bytes;
};

}  // namespace ktopk::fuzz
