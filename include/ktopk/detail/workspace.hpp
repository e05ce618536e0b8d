// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace ktopk::detail {

/// One buffer, handed out piece by piece. Without a buffer it only counts, so that the code that
/// lays a workspace out is also the code that sizes it.
class Pieces {
 public:
  static constexpr std::size_t alignment = 256;
  /// What takes more counts as this, of which no machine has as much.
  static constexpr std::size_t most = std::size_t{1} << 63;

  Pieces() = default;
  explicit Pieces(void* buffer) : m_base(aligned(reinterpret_cast<std::uintptr_t>(buffer))) {}

  template <class T>
  T* take(std::int64_t count) {
    std::size_t const begin = m_used;
    bool const fits = static_cast<std::size_t>(count) <= (most - begin) / sizeof(T);
    m_used = fits ? aligned(begin + static_cast<std::size_t>(count) * sizeof(T)) : most;
    return m_base ? reinterpret_cast<T*>(m_base + begin) : nullptr;
  }

  /// What a buffer of any alignment must hold for all that was taken.
  std::size_t bytes() const { return m_used == 0 ? 0 : m_used + alignment; }

 private:
  static constexpr std::uintptr_t aligned(std::uintptr_t x) {
    return (x + alignment - 1) & ~static_cast<std::uintptr_t>(alignment - 1);
  }

  std::uintptr_t m_base = 0;
  std::size_t m_used = 0;
};

}  // namespace ktopk::detail
