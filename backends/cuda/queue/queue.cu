// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include <ktopk/core/workspace.hpp>

#include "../common/composite_keys.hpp"
#include "../common/device.hpp"
#include "../common/key_widths.hpp"
#include "../common/sort_rows.cuh"
#include "../common/this_module.cuh"
#include "neighbors.cuh"
#include "select.cuh"

// GridSelect: each warp keeps the best composite keys that it has read in registers. Those that beat the k-th wait in
// the warp's queue until they are merged. A row has a warp (WarpSelect), or a block (BlockSelect), or several blocks:
// then the first block of a cluster, or another kernel, merges their lists. If rows lie side by side, each warp of a
// block has one.

namespace ktopk::detail::cuda {

namespace {

constexpr QueueTuning tuning = queue_tuning;
constexpr int block_threads = 32 * tuning.warps;

template <class Bits, class CompositeKey>
struct Work {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  unsigned parts = 1;             // blocks that share a row
  bool neighbors = false;         // rows lie side by side
  bool clustered = false;         // whether those blocks are a cluster
  CompositeKey* lists = nullptr;  // of shape.k composite keys for each part of each row, if
                                  // there are several
  int samples = 0;                // tiles of a row for which a kernel finds bounds beforehand
  BoundWord* bounds = nullptr;    // these bounds
};

template <class CompositeKey, int Count>
constexpr int words_of_lane = Count * static_cast<int>(sizeof(CompositeKey)) / 8;

template <class CompositeKey, int Count, int Warps>
constexpr int blocks_of_processor =
    Warps == 1 ? tuning.warp_blocks(words_of_lane<CompositeKey, Count>)
               : tuning.blocks(words_of_lane<CompositeKey, Count>);

/// Stores the selected keys of a row; `threads` threads call it, of which this is number `thread`.
template <class Bits, class CompositeKey>
__device__ __forceinline__ void store_row(Work<Bits, CompositeKey> const& work, std::int64_t row,
                                          int k, CompositeKey const* best, int thread,
                                          int threads) {
  auto const& problem = work.problem;
  if (problem.counts && thread == 0) problem.counts.store(row, k);
  for (int slot = thread; slot < problem.shape.k; slot += threads) {
    if (slot < k)
      store_composite_key(problem, work.map, row, slot, best[slot]);
    else
      problem.out.store_missing(row, slot);
  }
}

/// Finds bounds of some tiles of a row, as a sample of it.
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(block_threads)
    bound_samples(__grid_constant__ Work<Bits, CompositeKey> const work) {
  __shared__ SharedBounds<tuning.warps> bounds;
  let_next_kernel_start();
  auto const samples = static_cast<unsigned>(work.samples);
  std::int64_t const row = blockIdx.x / samples;
  auto const k = static_cast<int>(work.problem.selected_count(row));
  if (k == 0) return;
  int const deep = SharesOfBounds(k, work.samples, tuning.warps).deep;
  QueueSelection<Bits, CompositeKey, 1, tuning.warps> selection(work.map, deep, nullptr, &bounds);
  BoundWord const bound =
      selection.bound_sample(work.problem.rows.pointer(row), work.problem.length(row),
                             work.problem.rows.step, blockIdx.x % samples, samples);
  if (threadIdx.x == 0) work.bounds[blockIdx.x] = bound;
}

template <class Bits, class CompositeKey, int Count, int Warps>
__global__ void __launch_bounds__(block_threads, blocks_of_processor<CompositeKey, Count, Warps>)
    select_rows(__grid_constant__ Work<Bits, CompositeKey> const work) {
  using Selection = QueueSelection<Bits, CompositeKey, Count, Warps>;
  constexpr int rows_of_block = tuning.warps / Warps;
  __shared__ CompositeKey waiting[tuning.warps * WarpQueue<CompositeKey, Count>::size];
  __shared__ CompositeKey lists[rows_of_block][Selection::lists * Selection::list_size];
  __shared__ SharedBounds<Warps> bounds;
  let_next_kernel_start();
  int const place = Warps == 1 ? threadIdx.x / 32 : 0;
  int const thread = Warps == 1 ? threadIdx.x % 32 : threadIdx.x;
  unsigned const parts = Warps == 1 ? 1 : work.parts, part = blockIdx.x % parts;
  std::int64_t const row = std::int64_t{blockIdx.x / parts} * rows_of_block + place;
  if (row >= work.problem.shape.rows) return;
  auto const k = static_cast<int>(work.problem.selected_count(row));
  CompositeKey const* best = nullptr;
  if (k > 0) {
    Selection selection(work.map, k, waiting + place * WarpQueue<CompositeKey, Count>::size,
                        &bounds);
    selection.see_row(work.problem.rows.pointer(row), work.problem.length(row),
                      work.problem.rows.step, part, parts,
                      {work.bounds + row * work.samples, work.samples});
    // In the second round the first block gathers the others' lists.
    int const rounds = work.clustered ? 2 : 1;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      if (round > 0) cluster_sync();
      if (round > 0 && part == 0) selection.see_cluster(lists[place], static_cast<int>(work.parts));
      if (round == 0 || part == 0) best = selection.collect(lists[place]);
    }
    if (work.clustered) cluster_sync();  // a block must exist until the first has read its list
  }
  if (work.clustered && part > 0) return;
  if (work.parts == 1 || work.clustered)
    return store_row(work, row, k, best, thread, Selection::threads);
  CompositeKey* const to = work.lists + std::int64_t{blockIdx.x} * work.problem.shape.k;
  for (int slot = thread; slot < k; slot += Selection::threads) to[slot] = best[slot];
}

/// Each warp of a block selects from the same part of one of neighboring rows.
template <class Bits, class CompositeKey, int Count>
__global__ void __launch_bounds__(block_threads, tuning.blocks(words_of_lane<CompositeKey, Count>))
    select_neighbors(__grid_constant__ Work<Bits, CompositeKey> const work) {
  using Tiles = NeighborTiles<Bits>;
  using Selection = QueueSelection<Bits, CompositeKey, Count, 1, typename Tiles::Keys>;
  __shared__ CompositeKey waiting[tuning.warps * WarpQueue<CompositeKey, Count>::size];
  __shared__ CompositeKey lists[tuning.warps][Selection::list_size];
  __shared__ __align__(16) Bits keys[Tiles::size];
  let_next_kernel_start();
  int const warp = static_cast<int>(threadIdx.x) / 32;
  unsigned const part = blockIdx.x % work.parts;
  std::int64_t const first_row = std::int64_t{blockIdx.x / work.parts} * tuning.warps;
  std::int64_t const row = first_row + warp;
  StoredProblem<Bits> const& problem = work.problem;
  bool const is_row = row < problem.shape.rows;
  auto const k = is_row ? static_cast<int>(problem.selected_count(row)) : 0;
  Tiles tiles(problem, first_row, keys);
  Selection selection(work.map, k, waiting + warp * WarpQueue<CompositeKey, Count>::size, nullptr);
  selection.see_row(tiles, problem.rows.pointer(row), problem.shape.n, problem.rows.step, part,
                    work.parts, k > 0);
  if (!is_row) return;
  CompositeKey const* const best = selection.collect(lists[warp]);
  int const lane = static_cast<int>(threadIdx.x) % 32;
  if (work.parts == 1) return store_row(work, row, k, best, lane, 32);
  CompositeKey* const to = work.lists + (row * work.parts + part) * problem.shape.k;
  for (int slot = lane; slot < k; slot += 32) to[slot] = best[slot];
}

/// Merges the lists of a row's parts.
template <class Bits, class CompositeKey, int Count, int Warps>
__global__ void __launch_bounds__(32 * Warps, 1)
    merge_parts(__grid_constant__ Work<Bits, CompositeKey> const work) {
  using Selection = QueueSelection<Bits, CompositeKey, Count, Warps>;
  __shared__ CompositeKey waiting[Warps * WarpQueue<CompositeKey, Count>::size];
  __shared__ CompositeKey lists[Selection::lists * Selection::list_size];
  __shared__ SharedBounds<Warps> bounds;
  std::int64_t const row = blockIdx.x;
  auto const k = static_cast<int>(work.problem.selected_count(row));
  wait_for_previous_kernel();
  CompositeKey const* best = nullptr;
  if (k > 0) {
    Selection selection(work.map, k, waiting, &bounds);
    selection.see_lists(work.lists + row * work.parts * work.problem.shape.k, work.problem.shape.k,
                        static_cast<int>(work.parts));
    best = selection.collect(lists);
  }
  store_row(work, row, k, best, threadIdx.x, 32 * Warps);
}

// ---- host side

/// How many registers of a lane hold a list of the k best.
int count_for(std::int64_t k) {
  return k <= 32 ? 1 : k <= 128 ? 4 : k <= 256 ? 8 : k <= 512 ? 16 : 32;
}

int words_for(Shape const& shape) { return count_for(shape.k) * (shape.key_bytes < 8 ? 1 : 2); }

bool has_row_of_warp(Shape const& shape) {
  return words_for(shape) <= tuning.warp_words && !shape.ragged && shape.n <= tuning.warp_row &&
         shape.rows >= tuning.warp_rows;
}

/// Whether there are enough rows for the warps of a block, if they lie side by side.
bool may_have_neighbors(Shape const& shape) {
  return words_for(shape) <= tuning.warp_words && !shape.ragged && shape.rows >= tuning.warps;
}

/// Whether rows lie side by side.
template <class Bits>
bool has_neighbors(StoredProblem<Bits> const& problem) {
  return may_have_neighbors(problem.shape) &&
         std::abs(problem.rows.row_stride) < std::abs(problem.rows.step);
}

std::int64_t tile_of(Shape const& shape) {
  return std::int64_t{block_threads} * tuning.block_vectors(shape.key_bytes) * 16 / shape.key_bytes;
}

/// Whether so many blocks that share a row may be a cluster, if the device has clusters.
bool fits_clusters(Shape const& shape, std::int64_t parts) {
  return parts > 1 && parts <= tuning.most_clustered && shape.n <= tuning.clustered_row;
}

std::int64_t parts_of(int concurrency, Shape const& shape) {
  if (has_row_of_warp(shape) || shape.n < tuning.least_shared_row) return 1;
  constexpr int threads_of_processor = 2048;
  std::int64_t const blocks = std::int64_t{std::max(1, concurrency / threads_of_processor)} *
                              tuning.blocks(words_for(shape));
  std::int64_t const part = std::max(tile_of(shape), tuning.keys_of_selected * shape.k);
  std::int64_t const parts =
      std::max<std::int64_t>(1, std::min(blocks / shape.rows, shape.n / part));
  return fits_clusters(shape, parts) ? std::bit_floor(static_cast<std::uint64_t>(parts)) : parts;
}

/// How many blocks share a group of neighboring rows that are read together.
std::int64_t neighbor_parts_of(int concurrency, Shape const& shape) {
  if (!may_have_neighbors(shape)) return 1;
  constexpr int threads_of_processor = 2048;
  std::int64_t const blocks = std::int64_t{std::max(1, concurrency / threads_of_processor)} *
                              tuning.blocks(words_for(shape));
  std::int64_t const groups = (shape.rows + tuning.warps - 1) / tuning.warps;
  std::int64_t const part =
      std::max(tile_of(shape) / tuning.warps, tuning.keys_of_selected * shape.k);
  return std::max<std::int64_t>(1, std::min(blocks / groups, shape.n / part));
}

/// For how many tiles of a row bounds are found beforehand.
std::int64_t samples_of(std::int64_t parts, Shape const& shape) {
  std::int64_t const samples = shape.n / tile_of(shape) / tuning.tiles_of_sample;
  if (parts == 1 || samples < tuning.least_sample) return 0;
  return std::min<std::int64_t>(samples, block_threads);
}

/// Takes the memory of a launch, for rows that lie side by side or not. Returns its layout.
template <class Bits, class CompositeKey>
std::size_t lay_out(Work<Bits, CompositeKey>& work, void* workspace, int concurrency,
                    Shape const& shape) {
  WorkspaceLayout layout(workspace);
  std::int64_t const parts = parts_of(concurrency, shape);
  std::int64_t const neighbor_parts = neighbor_parts_of(concurrency, shape);
  std::int64_t const samples = samples_of(parts, shape);
  std::int64_t const most_parts = std::max(parts, neighbor_parts);
  work.neighbors = has_neighbors(work.problem);
  work.parts = static_cast<unsigned>(work.neighbors ? neighbor_parts : parts);
  work.samples = static_cast<int>(samples);
  if (most_parts > 1) work.lists = layout.take<CompositeKey>(shape.rows * most_parts * shape.k);
  if (samples > 0) work.bounds = layout.take<BoundWord>(shape.rows * samples);
  return layout.bytes();
}

cudaLaunchAttribute clusters_of(unsigned blocks) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {blocks, 1, 1};
  return attribute;
}

template <class Bits, class CompositeKey>
void launch_as(cudaLaunchAttribute attribute, void (*kernel)(Work<Bits, CompositeKey>),
               unsigned blocks, int threads, cudaStream_t stream,
               Work<Bits, CompositeKey> const& work) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, work), "launch");
}

/// Each warp of a block selects for itself.
template <int Count, class Bits, class CompositeKey>
void launch_warps(cudaStream_t stream, Work<Bits, CompositeKey> const& work) {
  auto const kernel = work.neighbors ? select_neighbors<Bits, CompositeKey, Count>
                                     : select_rows<Bits, CompositeKey, Count, 1>;
  std::int64_t const groups = (work.problem.shape.rows + tuning.warps - 1) / tuning.warps;
  kernel<<<static_cast<unsigned>(groups) * work.parts, block_threads, 0, stream>>>(work);
  check(cudaGetLastError(), "launch");
}

template <int Count, class Bits, class CompositeKey>
void launch_blocks(cudaStream_t stream, Work<Bits, CompositeKey> const& work) {
  auto const kernel = select_rows<Bits, CompositeKey, Count, tuning.warps>;
  auto const rows = static_cast<unsigned>(work.problem.shape.rows);
  unsigned const blocks = rows * work.parts;
  if (work.clustered)
    return launch_as(clusters_of(work.parts), kernel, blocks, block_threads, stream, work);
  if (work.samples > 0) {
    bound_samples<<<rows * work.samples, block_threads, 0, stream>>>(work);
    check(cudaGetLastError(), "launch");
    return launch_as(early_launch(), kernel, blocks, block_threads, stream, work);
  }
  kernel<<<blocks, block_threads, 0, stream>>>(work);
  check(cudaGetLastError(), "launch");
}

template <int Count, class Bits, class CompositeKey>
void launch(cudaStream_t stream, Work<Bits, CompositeKey> const& work) {
  constexpr int words = words_of_lane<CompositeKey, Count>;
  if (words <= tuning.warp_words && (work.neighbors || has_row_of_warp(work.problem.shape))) {
    if constexpr (words <= tuning.warp_words) launch_warps<Count>(stream, work);
  } else {
    launch_blocks<Count>(stream, work);
  }
  constexpr int warps = words <= tuning.merging_words ? tuning.merging_warps : tuning.warps;
  if (work.parts > 1 && !work.clustered)
    launch_as(early_launch(), merge_parts<Bits, CompositeKey, Count, warps>,
              static_cast<unsigned>(work.problem.shape.rows), 32 * warps, stream, work);
}

}  // namespace

bool queue_supports(Shape const& shape) {
  return shape.k <= queue_largest_k(shape.key_bytes) &&
         fits_composite_key(shape.key_bytes, shape.n);
}

std::size_t queue_workspace_bytes(int concurrency, Shape const& shape) {
  if (shape.key_bytes == 8) {
    Work<std::uint64_t, CompositeKey128> work{};
    return lay_out(work, nullptr, concurrency, shape);
  }
  Work<std::uint32_t, CompositeKey64> work{};
  return lay_out(work, nullptr, concurrency, shape);
}

template <class Bits>
void queue(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
           Options const& options, void* workspace) {
  using CompositeKey = CompositeKeyOf<Bits>;
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  Work<Bits, CompositeKey> work{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties)};
  lay_out(work, workspace, concurrency, shape);
  work.clustered = !work.neighbors && fits_clusters(shape, work.parts) && has_clusters(device);
  switch (count_for(shape.k)) {
    case 1: return launch<1>(stream, work);
    case 4: return launch<4>(stream, work);
    case 8: return launch<8>(stream, work);
    case 16: return launch<16>(stream, work);
    default:
      if constexpr (sizeof(Bits) < 8) launch<32>(stream, work);
  }
}

#define KTOPK_INSTANTIATE(Bits) \
  template void queue(int, int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
