// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <ktopk/core/problem.hpp>

#include "block.cuh"
#include "block_order.cuh"
#include "device.hpp"

// Sorts the selected keys of every row, best first, and stores them: tiles by bins, then merges in pairs, and at last of
// up to 16 runs at once. Each kernel is launched early.

namespace ktopk::detail::cuda {

/// Stores a composite key as key and position. If several keys have its rank, the key is read again.
template <class Bits, class CompositeKey>
__device__ void store_composite_key(StoredProblem<Bits> const& problem,
                                    CompositeKeyMap<Bits, CompositeKey> const& map,
                                    std::int64_t row, std::int64_t slot, CompositeKey composite) {
  std::uint64_t const position = map.position(composite);
  Bits const rank = map.ordered_bits_of(composite);
  Bits const key =
      map.rank.has_one_key(rank)
          ? map.rank.key_of(rank)
          : problem.rows.pointer(row)[static_cast<std::int64_t>(position) * problem.rows.step];
  problem.out.store(row, slot, key, position);
}

inline constexpr int sort_threads = 512;
inline constexpr unsigned crowded_bin = 64;  // if a bin has more, a network sorts
/// Composite keys that a block sorts; a power of two.
template <class CompositeKey>
inline constexpr int sort_tile = 16384 / static_cast<int>(sizeof(CompositeKey));
inline constexpr int place_threads = 512;
/// Up to so many selected keys, a warp counts the better ones for each.
template <class CompositeKey>
inline constexpr int most_placed = 32768 / static_cast<int>(sizeof(CompositeKey));
inline constexpr int merge_threads = 256;
inline constexpr int merged_by_thread = 4;
inline constexpr int merge_tile = merge_threads * merged_by_thread;
inline constexpr int final_runs = 16;  // are merged at once, if they are no longer than final_run
inline constexpr std::int64_t final_run = 8192;

/// The selected keys of all rows, shape.k slots a row.
template <class Bits, class CompositeKey>
struct RowsToSort {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;

  __device__ std::int64_t first(std::int64_t row) const { return row * problem.shape.k; }
  /// Writes a composite key to the next list, or stores it in the output if nothing is left to merge.
  __device__ void put(std::int64_t row, std::int64_t slot, CompositeKey composite,
                      CompositeKey* to) const {
    if (to == nullptr)
      store_composite_key(problem, map, row, slot, composite);
    else
      to[first(row) + slot] = composite;
  }
};

/// Places the selected keys of a few rows: a warp counts the better ones for each. Faster than a sort while the warps fill
/// no more than the device.
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(place_threads)
    place_few(__grid_constant__ RowsToSort<Bits, CompositeKey> const rows,
              CompositeKey const* from) {
  __shared__ CompositeKey tile[most_placed<CompositeKey>];
  wait_for_previous_kernel();
  std::int64_t const row = blockIdx.y;
  int const count = static_cast<int>(rows.problem.selected_count(row));
  int const first = static_cast<int>(blockIdx.x) * (place_threads / 32);
  if (first >= count) return;
  for (int i = threadIdx.x; i < count; i += place_threads) tile[i] = from[rows.first(row) + i];
  __syncthreads();
  int const mine = first + static_cast<int>(threadIdx.x) / 32;
  if (mine >= count) return;
  CompositeKey const composite = tile[mine];
  unsigned better = 0;
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.x) % 32; i < count; i += 32)
    better += tile[i] > composite;
  unsigned const place = warp_total(better);
  if (threadIdx.x % 32 == 0) store_composite_key(rows.problem, rows.map, row, place, composite);
}

/// \param to  null if a tile holds a row: then the selected keys are stored
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(sort_threads)
    sort_tiles(__grid_constant__ RowsToSort<Bits, CompositeKey> const rows,
               CompositeKey const* from, CompositeKey* to) {
  using Order = BlockOrder<CompositeKey, sort_threads>;
  constexpr int tile = sort_tile<CompositeKey>;
  __shared__ CompositeKey composites[tile], spare[tile];
  wait_for_previous_kernel();
  std::int64_t const begin = std::int64_t{blockIdx.x} * tile;
  for (std::int64_t row = blockIdx.y; row < rows.problem.shape.rows; row += gridDim.y) {
    std::int64_t const rest = rows.problem.selected_count(row) - begin;
    int const count = static_cast<int>(rest < tile ? rest : tile);
    if (count <= 0) continue;
    Order::clear();
    for (int i = threadIdx.x; i < count; i += sort_threads)
      composites[i] = from[rows.first(row) + begin + i];
    __syncthreads();
    CompositeKey const* const in_order =
        Order::in_order(composites, spare, static_cast<unsigned>(count), crowded_bin);
    for (int i = threadIdx.x; i < count; i += sort_threads)
      rows.put(row, begin + i, in_order[i], to);
    __syncthreads();
  }
}

/// How many of the `diagonal` best of two runs are in the first (merge path).
template <class CompositeKey>
__device__ std::int64_t split_runs(CompositeKey const* a, std::int64_t a_size,
                                   CompositeKey const* b, std::int64_t b_size,
                                   std::int64_t diagonal) {
  std::int64_t low = diagonal > b_size ? diagonal - b_size : 0;
  std::int64_t high = diagonal < a_size ? diagonal : a_size;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (a[middle] > b[diagonal - 1 - middle])
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Merges pairs of sorted runs of `run` composite keys; each block makes a tile of the output.
/// \param to  null for the last merge: then the selected keys are stored
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(merge_threads)
    merge_runs(__grid_constant__ RowsToSort<Bits, CompositeKey> const rows,
               CompositeKey const* from, CompositeKey* to, std::int64_t run) {
  __shared__ CompositeKey composites[merge_tile];
  __shared__ std::int64_t cut[2];
  wait_for_previous_kernel();
  std::int64_t const begin = std::int64_t{blockIdx.x} * merge_tile;
  for (std::int64_t row = blockIdx.y; row < rows.problem.shape.rows; row += gridDim.y) {
    std::int64_t const wanted = rows.problem.selected_count(row);
    if (begin >= wanted) continue;
    std::int64_t const pair = begin / (2 * run) * (2 * run);
    CompositeKey const* const a = from + rows.first(row) + pair;
    CompositeKey const* const b = a + run;
    std::int64_t const a_size = wanted - pair < run ? wanted - pair : run;
    std::int64_t const b_rest = wanted - pair - a_size;
    std::int64_t const b_size = b_rest < run ? b_rest : run;
    std::int64_t const first = begin - pair;
    int const count = static_cast<int>(wanted - begin < merge_tile ? wanted - begin : merge_tile);
    if (threadIdx.x < 2)
      cut[threadIdx.x] = split_runs(a, a_size, b, b_size, first + (threadIdx.x == 0 ? 0 : count));
    __syncthreads();
    std::int64_t const a_first = cut[0], b_first = first - a_first;
    int const of_a = static_cast<int>(cut[1] - a_first), of_b = count - of_a;
    for (int i = threadIdx.x; i < count; i += merge_threads)
      composites[i] = i < of_a ? a[a_first + i] : b[b_first + i - of_a];
    __syncthreads();
    int const diagonal = static_cast<int>(threadIdx.x) * merged_by_thread;
    int i = diagonal < count
                ? static_cast<int>(split_runs(composites, of_a, composites + of_a, of_b, diagonal))
                : 0;
    int j = diagonal - i;
    CompositeKey merged[merged_by_thread];
#pragma unroll
    for (int m = 0; m < merged_by_thread; ++m) {
      if (diagonal + m >= count) break;
      bool const take_a = j >= of_b || (i < of_a && composites[i] > composites[of_a + j]);
      merged[m] = take_a ? composites[i++] : composites[of_a + j++];
    }
    __syncthreads();
#pragma unroll
    for (int m = 0; m < merged_by_thread; ++m)
      if (diagonal + m < count) composites[diagonal + m] = merged[m];
    __syncthreads();
    for (int s = threadIdx.x; s < count; s += merge_threads)
      rows.put(row, begin + s, composites[s], to);
    __syncthreads();
  }
}

/// Stores selected keys that are sorted in up to final_runs runs: the place of each is the number of better ones in all
/// runs. It searches all together, so that the loads of a step are in flight together.
/// \param run  a power of two
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(merge_threads)
    store_runs(__grid_constant__ RowsToSort<Bits, CompositeKey> const rows,
               CompositeKey const* from, std::int64_t run) {
  wait_for_previous_kernel();
  std::int64_t const i = std::int64_t{blockIdx.x} * merge_threads + threadIdx.x;
  for (std::int64_t row = blockIdx.y; row < rows.problem.shape.rows; row += gridDim.y) {
    std::int64_t const wanted = rows.problem.selected_count(row);
    if (i >= wanted) continue;
    CompositeKey const* const list = from + rows.first(row);
    CompositeKey const composite = list[i];
    std::int64_t better[final_runs] = {};
    for (std::int64_t half = run; half > 0; half /= 2)
      for (int r = 0; r < final_runs; ++r) {
        std::int64_t const reach = better[r] + half;
        std::int64_t const end = r * run + reach;
        if (reach <= run && end <= wanted && list[end - 1] > composite) better[r] = reach;
      }
    std::int64_t place = 0;
    for (int r = 0; r < final_runs; ++r) place += better[r];
    store_composite_key(rows.problem, rows.map, row, place, composite);
  }
}

/// Whether a second list is needed to merge the selected keys into.
template <class CompositeKey>
constexpr bool needs_merges(std::int64_t k) {
  return k > sort_tile<CompositeKey>;
}

/// Enqueues kernels that sort the selected keys and store them.
/// \param spare  a list of the same size; used only if needs_merges
template <class Bits, class CompositeKey>
void sort_rows(cudaStream_t stream, RowsToSort<Bits, CompositeKey> const& rows,
               CompositeKey* selected, CompositeKey* spare) {
  constexpr int tile = sort_tile<CompositeKey>;
  static_assert((tile & (tile - 1)) == 0 && tile % merge_tile == 0);
  Shape const& shape = rows.problem.shape;
  auto const in_y = static_cast<unsigned>(std::min<std::int64_t>(shape.rows, 65535));
  auto const grid = [&](int size) {
    return dim3(static_cast<unsigned>((shape.k + size - 1) / size), in_y);
  };
  if (shape.rows * shape.k <= most_placed<CompositeKey>)
    return launch_early(place_few<Bits, CompositeKey>,
                        {grid(place_threads / 32), place_threads, stream}, rows, selected);
  bool const merge = needs_merges<CompositeKey>(shape.k);
  launch_early(sort_tiles<Bits, CompositeKey>, {grid(tile), sort_threads, stream}, rows, selected,
               merge ? spare : nullptr);
  for (std::int64_t run = tile; run < shape.k; run *= 2) {
    std::swap(selected, spare);
    if (run <= final_run && run * final_runs >= shape.k)
      return launch_early(store_runs<Bits, CompositeKey>,
                          {grid(merge_threads), merge_threads, stream}, rows, selected, run);
    bool const is_last = 2 * run >= shape.k;
    launch_early(merge_runs<Bits, CompositeKey>, {grid(merge_tile), merge_threads, stream}, rows,
                 selected, is_last ? nullptr : spare, run);
  }
}

}  // namespace ktopk::detail::cuda
