// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "baselines_cub.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cub/device/device_select.cuh>
#include <cub/device/device_topk.cuh>
#include <cuda/iterator>
#include <cuda/stream_ref>

#include <algorithm>
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

/// The best of `n` keys, to the outputs of a call.
template <class Call, class Keys, class T, class Positions>
void select_best(Call const& call, Keys keys, T* values, Positions positions, std::int64_t n,
                 void* workspace, std::size_t& bytes, cudaStream_t stream) {
  auto const requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  auto const environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  check(cub::DeviceTopK::MaxPairs(workspace, bytes, keys, values, positions, call.indices,
                                  static_cast<std::int32_t>(n), static_cast<std::int32_t>(call.k),
                                  environment));
}

template <class T>
void run_typed(CubTopK const& call, void* workspace, std::size_t& bytes, cudaStream_t stream) {
  select_best(call, static_cast<T const*>(call.keys), static_cast<T*>(call.values),
              cuda::counting_iterator<std::int32_t>(0), call.n, workspace, bytes, stream);
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

struct Absolute {
  __host__ __device__ float operator()(float key) const { return key < 0 ? -key : key; }
};
struct Affine {
  __host__ __device__ float operator()(float key) const { return key / 2 + 1; }
};

/// What a mask leaves, and memory for both calls behind it.
struct Selected {
  static constexpr std::size_t aligned = 256;
  float* keys;
  std::int32_t* positions;
  std::int32_t* count;
  std::byte* rest;

  Selected(void* workspace, std::int64_t n)
      : keys(static_cast<float*>(workspace)),
        positions(reinterpret_cast<std::int32_t*>(keys + n)),
        count(positions + n),
        rest(static_cast<std::byte*>(workspace) + bytes_for(n)) {}
  static std::size_t bytes_for(std::int64_t n) {
    return (static_cast<std::size_t>(2 * n + 1) * 4 / aligned + 1) * aligned;
  }
};

void select_marked(CubQuestion const& call, Selected const& to, void* workspace, std::size_t& bytes,
                   cudaStream_t stream) {
  auto const from = cuda::zip_iterator(call.keys, cuda::counting_iterator<std::int32_t>(0));
  check(cub::DeviceSelect::Flagged(workspace, bytes, from, call.marks,
                                   cuda::zip_iterator(to.keys, to.positions), to.count,
                                   static_cast<std::int32_t>(call.n), stream));
}
void select_best_of(CubQuestion const& call, Selected const& from, void* workspace,
                    std::size_t& bytes, cudaStream_t stream) {
  select_best(call, static_cast<float const*>(from.keys), call.values,
              static_cast<std::int32_t const*>(from.positions), call.left, workspace, bytes,
              stream);
}
template <class Map>
void select_best_made(CubQuestion const& call, Map map, void* workspace, std::size_t& bytes,
                      cudaStream_t stream) {
  select_best(call, cuda::transform_iterator(call.keys, map), call.values,
              cuda::counting_iterator<std::int32_t>(0), call.n, workspace, bytes, stream);
}
void select_best_made(CubQuestion const& call, void* workspace, std::size_t& bytes,
                      cudaStream_t stream) {
  if (call.is_affine) return select_best_made(call, Affine{}, workspace, bytes, stream);
  select_best_made(call, Absolute{}, workspace, bytes, stream);
}

}  // namespace

bool CubQuestion::supported() const { return n <= INT32_MAX; }

std::size_t CubQuestion::workspace_bytes() const {
  std::size_t selecting = 0, best = 0;
  if (marks == nullptr) {
    select_best_made(*this, nullptr, best, nullptr);
    return best;
  }
  Selected const selected(nullptr, n);
  CubQuestion all = *this;
  all.left = n;
  select_marked(*this, selected, nullptr, selecting, nullptr);
  select_best_of(all, selected, nullptr, best, nullptr);
  return Selected::bytes_for(n) + std::max(selecting, best);
}

void CubQuestion::prepare(void* workspace, std::size_t bytes, cudaStream_t stream) {
  if (marks == nullptr) return;
  Selected const selected(workspace, n);
  std::size_t rest = bytes - Selected::bytes_for(n);
  select_marked(*this, selected, selected.rest, rest, stream);
  std::int32_t count = 0;
  check(cudaMemcpyAsync(&count, selected.count, sizeof count, cudaMemcpyDefault, stream));
  check(cudaStreamSynchronize(stream));
  left = count;
}

void CubQuestion::run(void* workspace, std::size_t bytes, cudaStream_t stream) const {
  if (marks == nullptr) return select_best_made(*this, workspace, bytes, stream);
  Selected const selected(workspace, n);
  std::size_t rest = bytes - Selected::bytes_for(n);
  select_marked(*this, selected, selected.rest, rest, stream);
  rest = bytes - Selected::bytes_for(n);
  select_best_of(*this, selected, selected.rest, rest, stream);
}

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
