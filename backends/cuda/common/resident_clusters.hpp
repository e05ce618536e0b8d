// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "device.hpp"

namespace ktopk::detail::cuda {

inline constexpr int largest_cluster = 16;  ///< blocks, of sm_90

/// How many clusters of so many blocks the device, which must be the current one, holds at once if each block has a
/// processor to itself. They may be fewer than processors / blocks, for a cluster has the processors of one GPC.
/// \param blocks  at most largest_cluster
template <auto Kernel>
int resident_clusters(int device, int blocks) {
  static std::array<PerDevice, largest_cluster + 1> known;
  return known[static_cast<std::size_t>(blocks)](device, [&] {
    constexpr int more_than_half = most_shared_bytes() / 2 + 1024;
    allow_all_shared_memory(Kernel);
    check(cudaFuncSetAttribute(Kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "cluster");
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = more_than_half;
    config.attrs = &cluster;
    config.numAttrs = 1;
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, Kernel, &config), "clusters");
    return clusters;
  });
}

/// How many blocks, at most `most`, may share each of so many rows, such that the device holds the clusters of all rows
/// at once with a processor for each block. A cluster more than it holds takes as long as all the others together, and
/// blocks that share a processor take longer than the others. A GPC holds two clusters of 8 or one of more, so of these
/// only the largest is worth it.
template <auto Kernel>
int most_parts_of(int device, std::int64_t rows, std::int64_t most) {
  if (!has_clusters(device)) return 1;
  if (most >= largest_cluster && rows <= resident_clusters<Kernel>(device, largest_cluster))
    return largest_cluster;
  auto parts = static_cast<int>(std::clamp<std::int64_t>(most, 1, 8));
  while (parts > 1 && rows > resident_clusters<Kernel>(device, parts)) --parts;
  return parts;
}

}  // namespace ktopk::detail::cuda
