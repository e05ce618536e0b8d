// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ktopk/core/backend.hpp>

#include "thread_memory.hpp"

namespace ktopk::detail {

/// The memory of a call for the threads of a host. Each thread has a part to itself.
struct HostMemory {
  HostMemory() = default;
  /// Takes nothing if the device is not a host.
  HostMemory(WorkspaceLayout& layout, Device const& device, Shape const& shape)
      : threads(device.host ? most_threads(device, shape) : 0),
        part_bytes(device.host ? bytes_for(shape) : 0),
        parts(layout.take<std::byte>(threads * part_bytes)) {}

  ThreadMemory part(std::int64_t thread) const {
    if (thread >= threads) return {};
    return {parts + thread * part_bytes, parts + (thread + 1) * part_bytes};
  }

  std::int64_t threads = 0;
  std::int64_t part_bytes = 0;
  std::byte* parts = nullptr;

 private:
  /// The most parts: if there were more, each thread would have little to do.
  static std::int64_t most_threads(Device const& device, Shape const& shape) {
    if (shape.k == 0) return 0;
    return std::min<std::int64_t>(device.concurrency, shape.rows + shape.keys() / 1024);
  }
  /// The size of a part: ordered bits and composite keys of a row, and a group's shared memory.
  static std::int64_t bytes_for(Shape const& shape) {
    std::int64_t const key = shape.key_bytes;
    auto const composite =
        static_cast<std::int64_t>(composite_key_bytes(shape.key_bytes, composite_positions(shape)));
    std::int64_t const row =
        std::min<std::int64_t>(shape.n, 8192) * std::max(4 * key + 8, 2 * composite + key);
    return (row + 255) / 256 * 256 + 64 * 1024;
  }
};

/// The memory of the call that this thread is in.
inline constinit thread_local HostMemory call_memory{};

/// While it lives, kernels that this thread launches use this memory.
class UseHostMemory {
 public:
  explicit UseHostMemory(HostMemory const& memory) : m_before(call_memory) { call_memory = memory; }
  ~UseHostMemory() { call_memory = m_before; }
  UseHostMemory(UseHostMemory const&) = delete;
  UseHostMemory& operator=(UseHostMemory const&) = delete;

 private:
  HostMemory m_before;
};

}  // namespace ktopk::detail
