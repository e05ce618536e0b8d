// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#include <Kokkos_Core.hpp>

#include "../backends/cuda/common/device.hpp"
#include "../backends/cuda/common/per_device.hpp"

// The workspace that a call on CUDA allocates for itself: memory of CUDA's stream-ordered allocator. It is taken and given
// back in the order of the stream, so the host waits for nothing, where freeing a View waits for the device.

namespace ktopk::detail::cuda {

/// The library's own pool of a device. It keeps what was given back, up to `kept_bytes`, for later calls; what is more goes
/// back to the device at the next synchronization. The process's end frees the rest.
class WorkspacePool {
 public:
  static constexpr std::uint64_t kept_bytes = std::uint64_t{256} << 20;

  static cudaMemPool_t of(int device) {
    static std::mutex mutex;
    static std::map<int, cudaMemPool_t> pools;
    std::lock_guard const lock(mutex);
    auto const found = pools.find(device);
    if (found != pools.end()) return found->second;
    return pools.emplace(device, make(device)).first->second;
  }

  static bool is_supported(int device) {
    static PerDevice supports;
    return supports(device, [&] {
             return attribute(device, cudaDevAttrMemoryPoolsSupported) != 0 ? 2 : 1;
           }) == 2;
  }

 private:
  static cudaMemPool_t make(int device) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t pool = nullptr;
    check(cudaMemPoolCreate(&pool, &properties), "pool");
    std::uint64_t kept = kept_bytes;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "pool");
    // A stream would wait for another one that gave memory back.
    int allowed = 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &allowed),
          "pool");
    return pool;
  }
};

/// Profiling tools see this memory as they see a View's.
class CallWorkspace {
 public:
  /// \throws std::bad_alloc where the device has not so much memory, std::runtime_error where it has failed
  CallWorkspace(Kokkos::Cuda const& exec, std::size_t bytes)
      : m_stream(exec.cuda_stream()), m_bytes(bytes) {
    if (bytes == 0) return;
    cudaMemPool_t const pool = WorkspacePool::of(exec.cuda_device());
    cudaError_t const error = cudaMallocFromPoolAsync(&m_data, bytes, pool, m_stream);
    if (error == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      throw std::bad_alloc();
    }
    check(error, "workspace");
    Kokkos::Tools::allocateData(space(), label, m_data, bytes);
  }
  ~CallWorkspace() {
    if (m_data == nullptr) return;
    Kokkos::Tools::deallocateData(space(), label, m_data, m_bytes);
    cudaFreeAsync(m_data, m_stream);
  }
  CallWorkspace(CallWorkspace const&) = delete;
  CallWorkspace& operator=(CallWorkspace const&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(m_data); }

 private:
  static constexpr char const* label = "ktopk::workspace";

  static Kokkos::Tools::SpaceHandle space() {
    return Kokkos::Tools::make_space_handle(Kokkos::CudaSpace::name());
  }

  cudaStream_t m_stream;
  std::size_t m_bytes;
  void* m_data = nullptr;
};

}  // namespace ktopk::detail::cuda
