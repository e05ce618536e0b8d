// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "baselines_cub.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream_ref>

#include <stdexcept>

#if __has_include(<cub/device/device_batched_topk.cuh>)
#include <cub/device/device_batched_topk.cuh>
#define KTOPK_PERF_CUB_BATCHED
#endif

namespace ktopk::perf {

namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("CUB: ") + cudaGetErrorString(error));
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

#ifdef KTOPK_PERF_CUB_BATCHED
/// The segments of a matrix: where each begins.
template <class T>
auto rows_at(T* begin, std::int64_t length) {
  return cuda::strided_iterator(cuda::counting_iterator<T*>(begin), length);
}

/// A length that is known to be at most `longest` when it is compiled, which decides what a block holds.
template <std::int64_t longest, class T>
void run_rows_of(CubBatchedTopK const& call, void* workspace, std::size_t& bytes,
                 cudaStream_t stream) {
  auto const requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::tie_break::unspecified,
                                                     cuda::execution::output_ordering::unsorted);
  auto const environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  cuda::constant_iterator const positions(cuda::counting_iterator<std::int32_t>(0));
  check(cub::DeviceBatchedTopK::MaxPairs(
      workspace, bytes, rows_at(static_cast<T const*>(call.keys), call.n),
      rows_at(static_cast<T*>(call.values), call.k), positions, rows_at(call.indices, call.k),
      cuda::args::immediate{call.n, cuda::args::bounds<std::int64_t{1}, longest>()},
      cuda::args::immediate{call.k, cuda::args::bounds<std::int64_t{1}, longest>()}, call.rows,
      environment));
}

template <class T>
void run_rows(CubBatchedTopK const& call, void* workspace, std::size_t& bytes,
              cudaStream_t stream) {
  if (call.n <= 512) return run_rows_of<512, T>(call, workspace, bytes, stream);
  if (call.n <= 2048) return run_rows_of<2048, T>(call, workspace, bytes, stream);
  run_rows_of<CubBatchedTopK::longest_row, T>(call, workspace, bytes, stream);
}

void run_any(CubBatchedTopK const& call, void* workspace, std::size_t& bytes, cudaStream_t stream) {
  if (call.type == "bf16") return run_rows<__nv_bfloat16>(call, workspace, bytes, stream);
  run_rows<float>(call, workspace, bytes, stream);
}
#else
void run_any(CubBatchedTopK const&, void*, std::size_t&, cudaStream_t) {
  throw std::runtime_error("this CCCL has no cub::DeviceBatchedTopK");
}
#endif

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

bool CubBatchedTopK::supported() const {
#ifdef KTOPK_PERF_CUB_BATCHED
  return (type == "bf16" || type == "f32") && n > 0 && n <= longest_row && k > 0;
#else
  return false;
#endif
}

std::size_t CubBatchedTopK::workspace_bytes() const {
  std::size_t bytes = 0;
  run_any(*this, nullptr, bytes, nullptr);
  return bytes;
}

void CubBatchedTopK::run(void* workspace, std::size_t bytes, cudaStream_t stream) const {
  run_any(*this, workspace, bytes, stream);
}

}  // namespace ktopk::perf
