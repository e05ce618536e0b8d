// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "files/matrix.hpp"
#include "spaces.hpp"

// Keys and results where an execution space can use them. For the sources that include Kokkos.

namespace ktopk::tools {

using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;

template <class T, class Space>
Kokkos::View<T*, Space, Unmanaged> array_at(T* data, std::size_t size) {
  return Kokkos::View<T*, Space, Unmanaged>(data, size);
}

template <class T, class Space>
auto rows_at(std::byte* data, std::int64_t rows, std::int64_t k) {
  return Kokkos::View<T**, Kokkos::LayoutRight, Space, Unmanaged>(reinterpret_cast<T*>(data), rows,
                                                                  k);
}

/// Keys that KeyPlace brought.
template <class T, class Space>
auto keys_at(Matrix const& keys) {
  auto const size = [](std::int64_t extent) { return static_cast<std::size_t>(extent); };
  Kokkos::LayoutStride const layout(size(keys.rows), size(keys.row_stride), size(keys.n),
                                    size(keys.key_stride));
  return Kokkos::View<T const**, Kokkos::LayoutStride, Space, Unmanaged>(
      reinterpret_cast<T const*>(keys.data), layout);
}

template <class Space>
using Buffer = Kokkos::View<std::byte*, Space>;

template <class Space>
std::byte* space_for(Buffer<Space>& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) {
    buffer = Buffer<Space>();
    buffer = Buffer<Space>(Kokkos::view_alloc(Kokkos::WithoutInitializing, "ktopk::tools::buffer"),
                           bytes);
  }
  return buffer.data();
}

/// The same keys row after row without gaps, in a buffer.
inline Matrix packed(Matrix const& keys, std::vector<std::byte>& buffer) {
  buffer.resize(static_cast<std::size_t>(keys.rows * keys.n * width(keys.type)));
  gather(keys, buffer.data());
  Matrix result = keys;
  result.data = buffer.data();
  result.row_stride = keys.n;
  result.key_stride = 1;
  return result;
}

/// Brings keys to where an execution space can read them. A host reads them in place, unless they are not aligned; for a
/// device they are copied. What it returned is valid until the next call.
template <class Exec>
class KeyPlace {
 public:
  Matrix bring(Exec const& exec, Matrix const& block) {
    if constexpr (on_host<Exec>)
      return is_aligned(block) ? block : packed(block, m_packed);
    else
      return copied(exec, block);
  }

 private:
  using Space = typename Exec::memory_space;

  Matrix copied(Exec const& exec, Matrix const& block) {
    Matrix keys = block.key_stride == 1 ? block : packed(block, m_packed);
    auto const bytes = static_cast<std::size_t>(span_bytes(keys));
    std::byte* const target = space_for(m_keys, bytes);
    Kokkos::deep_copy(exec, array_at<std::byte, Space>(target, bytes),
                      array_at<std::byte const, Kokkos::HostSpace>(keys.data, bytes));
    exec.fence("ktopk::tools::bring");
    keys.data = target;
    return keys;
  }

  std::vector<std::byte> m_packed;
  Buffer<Space> m_keys;
};

/// Memory for a result that ends in a vector of the host: that vector's on a host, a buffer on a device.
template <class Exec>
class ResultPlace {
 public:
  template <class T>
  std::byte* prepare(std::vector<T>& target, std::int64_t size) {
    target.resize(static_cast<std::size_t>(size));
    if constexpr (on_host<Exec>)
      return reinterpret_cast<std::byte*>(target.data());
    else
      return space_for(m_buffer, target.size() * sizeof(T));
  }

  /// Enqueues the copy to the vector, if it takes one.
  template <class T>
  void fetch(Exec const& exec, std::vector<T>& target) {
    if constexpr (!on_host<Exec>) {
      auto const bytes = target.size() * sizeof(T);
      Kokkos::deep_copy(exec,
                        array_at<std::byte, Kokkos::HostSpace>(
                            reinterpret_cast<std::byte*>(target.data()), bytes),
                        array_at<std::byte, Space>(m_buffer.data(), bytes));
    }
  }

 private:
  using Space = typename Exec::memory_space;
  Buffer<Space> m_buffer;
};

}  // namespace ktopk::tools
