// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "placement.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define KTOPK_FUZZ_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KTOPK_FUZZ_HAS_ASAN 1
#endif
#endif
#if defined(KTOPK_FUZZ_HAS_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace ktopk::fuzz {

/// Memory of a host that a call must not touch, not even read. Without AddressSanitizer it does nothing.
class Guards {
 public:
  ~Guards() { allow(); }

  /// Forbids so many bytes.
  void forbid(void const* first, std::size_t bytes) {
#if defined(KTOPK_FUZZ_HAS_ASAN)
    ASAN_POISON_MEMORY_REGION(first, bytes);
    m_forbidden.emplace_back(first, bytes);
#else
    (void)first, (void)bytes;
#endif
  }

  /// Forbids what lies before and behind a matrix.
  void forbid_around(void const* buffer, int element_bytes, Placement const& where) {
    auto const* const first = static_cast<std::byte const*>(buffer);
    std::int64_t const end = where.shift + where.span();
    forbid(first, static_cast<std::size_t>(where.shift * element_bytes));
    forbid(first + end * element_bytes, static_cast<std::size_t>(guard * element_bytes));
  }

  /// Allows all again.
  void allow() {
#if defined(KTOPK_FUZZ_HAS_ASAN)
    for (auto const& [first, bytes] : m_forbidden) ASAN_UNPOISON_MEMORY_REGION(first, bytes);
    m_forbidden.clear();
#endif
  }

 private:
#if defined(KTOPK_FUZZ_HAS_ASAN)
  std::vector<std::pair<void const*, std::size_t>> m_forbidden;
#endif
};

}  // namespace ktopk::fuzz
