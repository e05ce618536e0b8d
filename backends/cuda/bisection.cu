// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bisection_launch.hpp"

#include <algorithm>
#include <cstdlib>

#include "bisection_winners.cuh"
#include "device.hpp"

// A part of a warp takes a row: 4, 8, 16 or 32 lanes with up to 64 keys each. The keys lie in the warp's
// shared memory, their codes in registers. A row is read once.

namespace ktopk::detail::cuda {

namespace {

constexpr BisectionTuning tuning = bisection_tuning;

template <class Bits, int Lanes>
__device__ __forceinline__ void select_batch(Work<Bits> const& w, WarpMemory<Bits> const& memory,
                                             std::int64_t first) {
  auto const& problem = w.problem;
  int const place = static_cast<int>(threadIdx.x) % 32 / Lanes;
  std::int64_t const row = first + place;
  int n = 0, k = 0;
  if (row < problem.shape.rows) {
    k = static_cast<int>(w.is_uniform() ? problem.shape.k : problem.winners(row));
    n = k > 0 ? static_cast<int>(problem.length(row)) : 0;
    if (problem.counts && threadIdx.x % Lanes == 0) problem.counts.store(row, k);
  }
  RowSearch<Bits, Lanes> search(w, memory.row(place), n, k);
  search.run();
  RowWinners<Bits, Lanes> winners(memory, k);
  winners.list(search);
  if (w.sorted == Sorted::yes) winners.sort();
  winners.store(first);
}

template <class Bits, int Lanes>
__global__ void __launch_bounds__(32 * tuning.warps, tuning.blocks)
    select_rows(Work<Bits> const __grid_constant__ w) {
  constexpr int rows = 32 / Lanes;
  extern __shared__ __align__(128) unsigned char block_memory[];
  __shared__ std::uint64_t barriers[tuning.warps];
  auto const warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  WarpMemory<Bits> const memory{block_memory + warp * w.warp_bytes, w};
  CopyBarrier const barrier(&barriers[warp]);
  std::int64_t first = std::int64_t{blockIdx.x} * warps * rows;
  std::int64_t const step = std::int64_t{gridDim.x} * warps * rows;
  int const mine = warp * rows;
  if (w.loading == Loading::bulk) {
    if (threadIdx.x % 32 == 0) barrier.init();
    __syncwarp();
    begin_bulk_load<rows>(w, memory, barrier, first + mine);
  }
  for (unsigned turn = 0; first < w.problem.shape.rows; first += step, turn ^= 1) {
    if (w.loading == Loading::columns) {
      load_columns<rows>(w, block_memory, first);
      __syncthreads();
    }
    if (first + mine < w.problem.shape.rows) {
      if (w.loading == Loading::bulk) barrier.wait(turn);
      if (w.loading == Loading::rows) {
        load_rows<rows>(w, memory, first + mine, tuning.keys_of_lane * Lanes);
        __syncwarp();
      }
      select_batch<Bits, Lanes>(w, memory, first + mine);
      __syncwarp();
    }
    if (w.loading == Loading::bulk) begin_bulk_load<rows>(w, memory, barrier, first + step + mine);
    if (w.loading == Loading::columns) __syncthreads();
  }
}

// ---- host side

int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "device");
  return value;
}

bool is_aligned(void const* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

constexpr int round_up(int a, int to) { return divide_up(a, to) * to; }

/// Bytes between rows in shared memory, such that what lanes access together lies in different banks.
int row_bytes_for(int n, int key_bytes, int lanes, Loading loading) {
  int const chunk = 4 * key_bytes, together = chunk * lanes;
  int const bytes = std::max(round_up(divide_up(n, 4) * chunk, 16), 16);
  int const phase = loading == Loading::columns ? (chunk <= 16 ? 80 : 16)
                                                : (together < 128 ? together : bytes % 128);
  return bytes + (phase - bytes % 128 + 128) % 128;
}

template <class Bits>
bool can_bulk_load(int device, Problem<Bits> const& problem) {
  return !problem.offsets && (problem.key_step == 1 || problem.shape.n == 1) &&
         problem.shape.n * sizeof(Bits) % 16 == 0 && is_aligned(problem.keys, 16) &&
         (problem.key_row * sizeof(Bits) % 16 == 0 || problem.shape.rows == 1) &&
         attribute(device, cudaDevAttrComputeCapabilityMajor) >= 9;
}

template <class Bits>
Loading loading_for(int device, Problem<Bits> const& problem) {
  if (can_bulk_load(device, problem)) return Loading::bulk;
  bool const rows_are_nearer =
      std::abs(problem.key_row) < std::abs(problem.key_step) && problem.shape.rows > 1;
  return rows_are_nearer && !problem.offsets ? Loading::columns : Loading::rows;
}

template <class Bits>
bool stores_quads(Problem<Bits> const& problem) {
  Shape const& shape = problem.shape;
  bool const packed =
      (problem.values == nullptr || (problem.value_row == shape.k && problem.value_step == 1)) &&
      (problem.indices == nullptr || (problem.index_row == shape.k && problem.index_step == 1));
  return packed && shape.k % 4 == 0 && !problem.offsets && !problem.wanted &&
         is_aligned(problem.values, alignof(Chunk<Bits>)) && is_aligned(problem.indices, 16);
}

template <class Bits>
Work<Bits> make_work(int device, Problem<Bits> const& problem, Options const& options, int lanes) {
  Shape const& shape = problem.shape;
  int const longest = tuning.keys_of_lane * lanes, rows = 32 / lanes;
  int const n = problem.offsets ? longest : static_cast<int>(shape.n);
  int const k = static_cast<int>(shape.k);
  Work<Bits> w{};
  w.problem = problem;
  w.map =
      make_item_map<typename Work<Bits>::Item>(problem.rank, std::int64_t{1} << 16, options.ties);
  w.sorted = options.sorted;
  w.loading = loading_for(device, problem);
  w.row_bytes = row_bytes_for(n, sizeof(Bits), lanes, w.loading);
  w.list_begin = rows * w.row_bytes;
  w.ties_begin = w.list_begin + round_up(rows * k * 2, 16);
  w.warp_bytes = round_up(w.ties_begin + rows * tuning.ties * 2, 128);
  w.fold = fold_for(n, k, lanes);
  w.stores_quads = stores_quads(problem);
  w.slot_reciprocal = ((1u << 24) + k - 1) / k;
  return w;
}

template <class Bits, int Lanes>
void launch(int device, cudaStream_t stream, Problem<Bits> const& problem, Options const& options) {
  Work<Bits> const w = make_work(device, problem, options, Lanes);
  constexpr int rows = 32 / Lanes;
  std::int64_t const batches = (problem.shape.rows + rows - 1) / rows;
  int const all = processors(device);
  int const most_bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  int warps = tuning.warps;
  while (warps > 1 && (warps * w.warp_bytes > most_bytes / 2 || batches <= all * warps / 2))
    warps /= 2;
  int const bytes = warps * w.warp_bytes;
  auto const kernel = select_rows<Bits, Lanes>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "memory");
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32 * warps, bytes),
        "occupancy");
  std::int64_t const wanted = (batches + warps - 1) / warps;
  auto const grid = static_cast<unsigned>(std::min(wanted, std::int64_t{blocks} * all));
  kernel<<<grid, 32 * warps, bytes, stream>>>(w);
  check(cudaGetLastError(), "launch");
}

/// As few lanes as hold a row, more where there are too few rows for the device.
int lanes_for(int device, Shape const& shape) {
  int lanes = 4;
  while (lanes * tuning.keys_of_lane < std::max(shape.n, shape.k)) lanes *= 2;
  std::int64_t const few = std::int64_t{tuning.batches_of_processor} * processors(device);
  while (lanes < 32 && shape.rows * lanes / 32 < few && lanes * 8 < shape.n) lanes *= 2;
  return lanes;
}

}  // namespace

bool bisection_supports(Shape const& shape, Options const& options) {
  return !shape.ragged && shape.key_bytes <= 4 && shape.n <= bisection_longest_row &&
         shape.k <= bisection_longest_row && options.max_iterations == 0 && options.epsilon == 0;
}

template <class Bits>
void bisection(int device, cudaStream_t stream, Problem<Bits> const& problem,
               Options const& options) {
  OnDevice const here(device);
  switch (lanes_for(device, problem.shape)) {
    case 4: return launch<Bits, 4>(device, stream, problem, options);
    case 8: return launch<Bits, 8>(device, stream, problem, options);
    case 16: return launch<Bits, 16>(device, stream, problem, options);
    default: return launch<Bits, 32>(device, stream, problem, options);
  }
}

template void bisection(int, cudaStream_t, Problem<std::uint8_t> const&, Options const&);
template void bisection(int, cudaStream_t, Problem<std::uint16_t> const&, Options const&);
template void bisection(int, cudaStream_t, Problem<std::uint32_t> const&, Options const&);
template void bisection(int, cudaStream_t, Problem<std::uint64_t> const&, Options const&);

}  // namespace ktopk::detail::cuda
