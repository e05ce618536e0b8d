// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include "per_device.hpp"

// What the host needs to know of a device to launch a kernel on it.

namespace ktopk::detail::cuda {

/// \throws std::runtime_error where CUDA reports an error
inline void check(cudaError_t error, char const* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("ktopk::cuda: ") + what + ": " +
                             cudaGetErrorString(error));
}

inline int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "device");
  return value;
}

inline int processors(int device) { return attribute(device, cudaDevAttrMultiProcessorCount); }

/// Whether the code that the device runs was compiled for clusters; it may be older than the device.
inline bool has_clusters(int device) {
  int const own = 100 * attribute(device, cudaDevAttrComputeCapabilityMajor) +
                  10 * attribute(device, cudaDevAttrComputeCapabilityMinor);
  int runs = 0;
  for (int const architecture : {__CUDA_ARCH_LIST__})
    if (architecture <= own) runs = architecture > runs ? architecture : runs;
  return runs >= 900;
}

/// Bytes of shared memory that a block may ask for, by the CUDA C++ Programming Guide's table of compute capabilities.
constexpr int most_shared_bytes_of(int architecture) {
  switch (architecture / 10) {
    case 75: return 64 * 1024;
    case 80:
    case 87: return 163 * 1024;
    case 86:
    case 89:
    case 120:
    case 121: return 99 * 1024;
    default: return 227 * 1024;
  }
}

/// The same on every architecture that this is compiled for.
constexpr int most_shared_bytes() {
  int most = most_shared_bytes_of(0);
  for (int const architecture : {__CUDA_ARCH_LIST__}) {
    int const here = most_shared_bytes_of(architecture);
    most = here < most ? here : most;
  }
  return most;
}

/// Lets a block of the kernel have all the shared memory that the current device gives one. That limit is the kernel's, for
/// the whole process: were it set to what each launch needs, a thread could lower it between the two calls of another.
inline void allow_all_shared_memory(void const* kernel) {
  static std::mutex mutex;
  static std::set<std::pair<void const*, int>> allowed;
  int device = 0;
  check(cudaGetDevice(&device), "device");
  std::lock_guard const lock(mutex);
  if (allowed.contains({kernel, device})) return;
  cudaFuncAttributes of_kernel{};
  check(cudaFuncGetAttributes(&of_kernel, kernel), "kernel");
  int const most = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                   static_cast<int>(of_kernel.sharedSizeBytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
        "shared memory");
  allowed.insert({kernel, device});
}
template <class... Parameters>
void allow_all_shared_memory(void (*kernel)(Parameters...)) {
  allow_all_shared_memory(reinterpret_cast<void const*>(kernel));
}

/// Lets a kernel start while the previous one still runs; the kernel waits for that one itself.
inline cudaLaunchAttribute early_launch() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

struct EarlyLaunch {
  dim3 grid;
  int threads;  // of a block
  cudaStream_t stream;
  bool cooperative = false;
};

/// Launches a kernel early.
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), EarlyLaunch const& launch,
                  Arguments const&... arguments) {
  cudaLaunchAttribute attributes[2]{early_launch()};
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = launch.cooperative ? 1 : 0;
  cudaLaunchConfig_t config{};
  config.gridDim = launch.grid;
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.stream = launch.stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch");
}

/// While it lives, the device is the current one.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&m_before), "device");
    if (m_before != device) check(cudaSetDevice(device), "device");
  }
  ~OnDevice() { cudaSetDevice(m_before); }
  OnDevice(OnDevice const&) = delete;
  OnDevice& operator=(OnDevice const&) = delete;

 private:
  int m_before = 0;
};

/// How many blocks of a kernel the device, which must be the current one, holds at once.
template <auto Kernel>
int resident_blocks(int device, int threads) {
  static PerDevice known;
  return known(device, [&] {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Kernel, threads, 0), "occupancy");
    return blocks * processors(device);
  });
}

}  // namespace ktopk::detail::cuda
