// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "baselines_cub.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream_ref>

#include <stdexcept>

namespace ktopk::perf {

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("cub::DeviceTopK: ") + cudaGetErrorString(error));
}

template <class T>
void run_typed(CubTopK const& call, void* workspace, std::size_t& bytes, cudaStream_t stream) {
  auto const requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  auto const environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  check(cub::DeviceTopK::MaxPairs(
      workspace, bytes, static_cast<T const*>(call.keys), static_cast<T*>(call.values),
      cuda::counting_iterator<std::int32_t>(0), call.indices, static_cast<std::int32_t>(call.n),
      static_cast<std::int32_t>(call.k), environment));
}

void run_any(CubTopK const& call, void* workspace, std::size_t& bytes, cudaStream_t stream) {
  if (call.type == "f16") return run_typed<__half>(call, workspace, bytes, stream);
  if (call.type == "bf16") return run_typed<__nv_bfloat16>(call, workspace, bytes, stream);
  if (call.type == "f32") return run_typed<float>(call, workspace, bytes, stream);
  if (call.type == "f64") return run_typed<double>(call, workspace, bytes, stream);
  return run_typed<std::int32_t>(call, workspace, bytes, stream);
}

}  // namespace

bool CubTopK::supported() const {
  bool const built =
      type == "f16" || type == "bf16" || type == "f32" || type == "f64" || type == "i32";
  return built && n <= INT32_MAX;
}

std::size_t CubTopK::workspace_bytes() const {
  std::size_t bytes = 0;
  run_any(*this, nullptr, bytes, nullptr);
  return bytes;
}

void CubTopK::run(void* workspace, std::size_t bytes, cudaStream_t stream) const {
  run_any(*this, workspace, bytes, stream);
}

}  // namespace ktopk::perf
