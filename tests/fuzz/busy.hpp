// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include <Kokkos_Core.hpp>

/// Something unrelated that keeps half of the processors busy.

namespace ktopk::fuzz {

#if defined(KOKKOS_ENABLE_CUDA)

inline __global__ void spin(long long clocks) {
  long long const begin = clock64();
  while (clock64() - begin < clocks) {}
}

/// Launches blocks that fill half of the device's processors, some milliseconds at a time, on a stream of their own.
class BusyDevice {
 public:
  BusyDevice() {
    int device = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&m_processors, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&m_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    // Beside a block with all the shared memory there is no other that needs some.
    cudaFuncSetAttribute(spin, cudaFuncAttributeMaxDynamicSharedMemorySize, m_bytes);
    cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking);
  }
  ~BusyDevice() { cudaStreamDestroy(m_stream); }
  BusyDevice(BusyDevice const&) = delete;
  BusyDevice& operator=(BusyDevice const&) = delete;

  /// Ends when the blocks have ended. Then there is a pause, in which a kernel that needs all processors may begin.
  void work() {
    spin<<<m_processors / 2, 1024, m_bytes, m_stream>>>(5'000'000);
    cudaStreamSynchronize(m_stream);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }

 private:
  int m_processors = 0, m_bytes = 0;
  cudaStream_t m_stream;
};

#else

class BusyDevice {
 public:
  void work() {
    auto const begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(5)) {}
  }
};

#endif

/// Works from its construction to its end.
class Busy {
 public:
  Busy() : m_thread([this] { run(); }) {}
  ~Busy() {
    m_ends = true;
    m_thread.join();
  }
  Busy(Busy const&) = delete;
  Busy& operator=(Busy const&) = delete;

 private:
  void run() {
    BusyDevice device;
    while (!m_ends) device.work();
  }

  std::atomic<bool> m_ends{false};
  std::thread m_thread;
};

}  // namespace ktopk::fuzz
