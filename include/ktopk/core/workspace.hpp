// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace ktopk::detail {

/// Divides one buffer into arrays. Without a buffer it only adds up their sizes, so that the same code lays out a
/// workspace and returns its size.
class WorkspaceLayout {
 public:
  static constexpr std::size_t alignment = 256;
  /// A larger workspace counts as this, which is more than any machine has.
  static constexpr std::size_t most = std::size_t{1} << 63;

  WorkspaceLayout() = default;
  explicit WorkspaceLayout(void* buffer)
      : m_base(aligned(reinterpret_cast<std::uintptr_t>(buffer))) {}

  template <class T>
  T* take(std::int64_t count) {
    std::size_t const begin = m_used;
    bool const fits = static_cast<std::size_t>(count) <= (most - begin) / sizeof(T);
    m_used = fits ? aligned(begin + static_cast<std::size_t>(count) * sizeof(T)) : most;
    return m_base ? reinterpret_cast<T*>(m_base + begin) : nullptr;
  }

  /// How large a buffer of any alignment must be for all arrays taken.
  std::size_t bytes() const { return m_used == 0 ? 0 : m_used + alignment; }

 private:
  static constexpr std::uintptr_t aligned(std::uintptr_t x) {
    return (x + alignment - 1) & ~static_cast<std::uintptr_t>(alignment - 1);
  }

  std::uintptr_t m_base = 0;
  std::size_t m_used = 0;
};

}  // namespace ktopk::detail
