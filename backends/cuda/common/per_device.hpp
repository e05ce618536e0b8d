// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace ktopk::detail::cuda {

/// A positive number for each device of a process, computed once: devices may differ from each other, and several
/// threads may ask at the same time. Two that ask first both compute it. Beyond `known` devices it is computed each
/// time.
class PerDevice {
 public:
  static constexpr int known = 64;

  template <class FindOut>
  int operator()(int device, FindOut const& find_out) {
    if (device < 0 || device >= known) return find_out();
    std::atomic<int>& number = m_numbers[static_cast<std::size_t>(device)];
    if (int const before = number.load(std::memory_order_relaxed); before != 0) return before;
    int const found = find_out();
    number.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  std::array<std::atomic<int>, known> m_numbers{};
};

}  // namespace ktopk::detail::cuda
