// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>

#include "../one_pass/block/row.cuh"
#include "device.hpp"

// The host side of the kernels that select rows of a batch: their resources, and how they are launched.

namespace ktopk::detail::cuda {

namespace {

/// The static shared memory of a block, at most, beside what the launch asks for.
constexpr std::size_t fixed_bytes = 2048;

/// The bytes of so many KB, or what a block of any of the compiled architectures can have.
constexpr std::size_t room_for(std::size_t kilobytes) {
  return std::min(kilobytes * 1024, most_shared_bytes() - fixed_bytes);
}

int round_up_to_power_of_two(std::int64_t k) {
  int power = 2;
  while (power < k) power *= 2;
  return power;
}

/// The capacity for kept composite keys. For rows of different lengths it is that of the length that keeps the most.
int capacity_of(Shape const& shape, int threads) {
  std::int64_t const longest =
      std::int64_t{std::max(threads * sample_neighbors, tuning.least_samples)} *
      tuning.keys_a_sample;
  std::int64_t const n = shape.ragged && shape.n > longest ? longest : shape.n;
  int const kept = kept_capacity(n, std::min(shape.k, n), threads);
  int const of_threshold = 16 / shape.key_bytes;  // a vector more than reach it may be kept
  return static_cast<int>(std::max<std::int64_t>(kept, std::min(shape.k, shape.n))) + of_threshold;
}

int ordered_of(Shape const& shape, Sorted sorted) {
  if (sorted == Sorted::no) return 0;
  return std::max(round_up_to_power_of_two(shape.k), static_cast<int>(shape.k) + tuning.boundary);
}

/// The blocks of a launch, and what each of them has.
struct Blocks {
  int threads;
  std::int64_t groups;  // of rows; each has `parts` blocks
  int parts;
  std::size_t bytes;  // of shared memory
};

template <class Argument>
void launch(int device, cudaStream_t stream, void (*kernel)(Argument), Blocks const& blocks,
            Argument const& argument) {
  allow_all_shared_memory(kernel);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(blocks.parts), 1, 1};
  if (blocks.parts > 8)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "cluster");
  std::int64_t const by_threads = tuning.blocks * tuning.threads / blocks.threads;
  auto const by_memory =
      static_cast<std::int64_t>(most_shared_bytes() / (blocks.bytes + fixed_bytes));
  std::int64_t const resident =
      processors(device) * std::max<std::int64_t>(1, std::min(by_threads, by_memory));
  std::int64_t const most = std::max<std::int64_t>(1, resident / blocks.parts);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min(blocks.groups, most) * blocks.parts));
  config.blockDim = dim3(static_cast<unsigned>(blocks.threads));
  config.dynamicSmemBytes = blocks.bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = blocks.parts > 1 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, argument), "launch");
}

/// \param inbox  how many composite keys a block receives besides those that it keeps
template <class Bits, class CompositeKey>
void launch(int device, cudaStream_t stream, void (*kernel)(Batch<Bits, CompositeKey>), int threads,
            std::int64_t rows, Batch<Bits, CompositeKey> const& batch, int inbox = 0) {
  std::size_t const bytes =
      shared_bytes<CompositeKey>(threads, batch.lists, batch.capacity + inbox, batch.ordered);
  launch(device, stream, kernel, Blocks{threads, rows, batch.parts, bytes}, batch);
}

}  // namespace

}  // namespace ktopk::detail::cuda
