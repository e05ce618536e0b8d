// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The streaming bound on an NVIDIA GPU: a maximum over 16-byte loads. Also the kernel that holds a stream while the host
// enqueues work on it.

#include <cstddef>
#include <stdexcept>

namespace ktopk::perf {

namespace {

constexpr int threads = 512;

__device__ unsigned largest_word(uint4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

template <int Loads>
__global__ void __launch_bounds__(threads)
    read_all(uint4 const* __restrict__ words, std::size_t count, unsigned* scratch) {
  std::size_t const stride = std::size_t(gridDim.x) * threads * Loads;
  unsigned largest = 0;
  for (std::size_t base = std::size_t(blockIdx.x) * threads * Loads + threadIdx.x; base < count;
       base += stride) {
    uint4 loaded[Loads];
#pragma unroll
    for (int j = 0; j < Loads; ++j) {
      std::size_t const at = base + std::size_t(j) * threads;
      loaded[j] = at < count ? __ldcs(words + at) : uint4{};
    }
#pragma unroll
    for (int j = 0; j < Loads; ++j) largest = max(largest, largest_word(loaded[j]));
  }
  if (largest == 0x9e3779b9u) *scratch = largest;
}

struct Variant {
  int loads;
  int blocks_per_multiprocessor;
};
constexpr Variant variants[] = {{1, 4}, {2, 4}, {4, 2}, {4, 4}, {8, 2}, {8, 4}};

int multiprocessors() {
  static int const count = [] {
    int device = 0, number = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&number, cudaDevAttrMultiProcessorCount, device);
    return number;
  }();
  return count;
}

template <int Loads>
void launch(Variant variant, uint4 const* words, std::size_t count, unsigned* scratch,
            cudaStream_t stream) {
  std::size_t const most = std::size_t(multiprocessors()) * variant.blocks_per_multiprocessor;
  std::size_t const useful = (count + threads * Loads - 1) / (threads * Loads);
  std::size_t const blocks = useful < most ? (useful > 0 ? useful : 1) : most;
  read_all<Loads><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(words, count, scratch);
}

/// Ends when the host has set `released`, or after 20 ms: what fences in a timed call waits for it.
__global__ void wait_for_release(unsigned const volatile* released) {
  constexpr unsigned long long patience = 20'000'000;
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (*released == 0 && now - begin < patience);
}

}  // namespace

void cuda_hold(unsigned const volatile* released, cudaStream_t stream) {
  wait_for_release<<<1, 1, 0, stream>>>(released);
  if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(error));
}

int cuda_read_variants() { return static_cast<int>(sizeof variants / sizeof *variants); }

void cuda_read(int variant, void const* bytes, std::size_t count, unsigned* scratch,
               cudaStream_t stream) {
  auto const* const words = static_cast<uint4 const*>(bytes);
  std::size_t const length = count / sizeof(uint4);
  Variant const chosen = variants[variant];
  switch (chosen.loads) {
    case 1: launch<1>(chosen, words, length, scratch, stream); break;
    case 2: launch<2>(chosen, words, length, scratch, stream); break;
    case 4: launch<4>(chosen, words, length, scratch, stream); break;
    default: launch<8>(chosen, words, length, scratch, stream); break;
  }
  if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace ktopk::perf
