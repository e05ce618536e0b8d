// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ktopk::testing {

/// FNV-1a of 64 bits over the bytes of what is added, least significant byte first on every machine.
class Digest {
 public:
  template <class T>
  void add(T const& element) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    if constexpr (sizeof(T) == 1) bits = std::bit_cast<std::uint8_t>(element);
    if constexpr (sizeof(T) == 2) bits = std::bit_cast<std::uint16_t>(element);
    if constexpr (sizeof(T) == 4) bits = std::bit_cast<std::uint32_t>(element);
    if constexpr (sizeof(T) == 8) bits = std::bit_cast<std::uint64_t>(element);
    for (std::size_t byte = 0; byte < sizeof(T); ++byte)
      add_byte(static_cast<std::uint8_t>(bits >> (8 * byte)));
  }

  template <class T>
  void add(std::vector<T> const& elements) {
    for (T const& element : elements) add(element);
  }

  std::uint64_t value() const { return m_state; }

 private:
  void add_byte(std::uint8_t byte) { m_state = (m_state ^ byte) * UINT64_C(0x100000001b3); }

  std::uint64_t m_state = UINT64_C(0xcbf29ce484222325);
};

}  // namespace ktopk::testing
