// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <ktopk/core/testing.hpp>

// The memory of a host's thread besides its stack. On some systems a stack has 512 KB or less, and the caller uses a
// part of it, so arrays of more than some KB lie in the workspace.

namespace ktopk::detail {

/// The rest of a thread's part of the workspace.
struct ThreadMemory {
  std::byte *next = nullptr, *end = nullptr;
};
inline constinit thread_local ThreadMemory thread_memory{};

/// While it lives, arrays of this thread lie in its part of the workspace.
class UseThreadMemory {
 public:
  explicit UseThreadMemory(ThreadMemory const& memory) : m_before(thread_memory) {
    if (memory.next != nullptr) thread_memory = memory;
  }
  ~UseThreadMemory() { thread_memory = m_before; }
  UseThreadMemory(UseThreadMemory const&) = delete;
  UseThreadMemory& operator=(UseThreadMemory const&) = delete;

 private:
  ThreadMemory m_before;
};

/// An array of this thread, aligned for SIMD and not initialized. Arrays that are made later must end earlier. It is
/// allocated if the part is too small, which never happens in a call, or if there is no part, as in a test.
template <class T>
class ThreadArray {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  explicit ThreadArray(std::int64_t count) {
    ThreadMemory& memory = thread_memory;
    std::int64_t const bytes = (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    m_is_allocated = bytes > memory.end - memory.next;
    m_data = reinterpret_cast<T*>(m_is_allocated ? allocate(bytes) : memory.next);
    if (!m_is_allocated) memory.next += bytes;
  }
  ~ThreadArray() {
    if (m_is_allocated)
      ::operator delete(m_data, alignment);
    else
      thread_memory.next = reinterpret_cast<std::byte*>(m_data);
  }
  ThreadArray(ThreadArray const&) = delete;
  ThreadArray& operator=(ThreadArray const&) = delete;

  T* get() const { return m_data; }

 private:
  static constexpr std::align_val_t alignment{64};

  static std::byte* allocate(std::int64_t bytes) {
    ++arrays_beyond_workspace;
    return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), alignment));
  }

  T* m_data;
  bool m_is_allocated;
};

}  // namespace ktopk::detail
