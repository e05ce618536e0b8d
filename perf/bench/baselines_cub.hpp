// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ktopk::perf {

/// cub::DeviceTopK::MaxPairs on one row, keys with their positions, in any order.
struct CubTopK {
  std::string type;
  void const* keys;
  std::int64_t n, k;
  void* values;
  std::int32_t* indices;

  /// Whether the baseline is built for these keys.
  bool supported() const;
  std::size_t workspace_bytes() const;
  void run(void* workspace, std::size_t bytes, cudaStream_t stream) const;
};

/// cub::DeviceBatchedTopK::MaxPairs on rows of equal length, keys with their positions, in any order.
struct CubBatchedTopK {
  std::string type;
  void const* keys;
  std::int64_t rows, n, k;
  void* values;
  std::int32_t* indices;

  static constexpr std::int64_t longest_row = 8192;

  /// Whether CCCL has it and the baseline is built for these keys.
  bool supported() const;
  std::size_t workspace_bytes() const;
  void run(void* workspace, std::size_t bytes, cudaStream_t stream) const;
};

/// cub::DeviceTopK::MaxPairs on one row of floats that an iterator makes of stored ones, |x| or x / 2 + 1; or behind
/// cub::DeviceSelect::Flagged, for which how many keys the mask leaves is found beforehand: a program would wait for it.
struct CubQuestion {
  float const* keys;
  bool const* marks;  ///< null without a mask; with one, keys are as they are stored
  bool is_affine;
  std::int64_t n, k;
  float* values;
  std::int32_t* indices;

  bool supported() const;
  std::size_t workspace_bytes() const;
  /// Finds `left`, if there is a mask; waits.
  void prepare(void* workspace, std::size_t bytes, cudaStream_t stream);
  void run(void* workspace, std::size_t bytes, cudaStream_t stream) const;
  std::int64_t left = 0;  ///< how many keys the mask leaves
};

}  // namespace ktopk::perf
