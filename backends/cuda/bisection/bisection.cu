// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>
#include <cstdlib>

#include "../common/device.hpp"
#include "../common/key_widths.hpp"
#include "../common/this_module.cuh"
#include "../one_pass/block/launch.hpp"
#include "selected.cuh"

// A part of a warp selects from a row: 1 to 32 lanes with up to 128 keys each. The keys are in the warp's shared
// memory, their codes in registers. A row is read once.

namespace ktopk::detail::cuda {

namespace {

constexpr BisectionTuning tuning = bisection_tuning;

template <int Lanes, int Keys, Form form, class Bits>
__device__ __forceinline__ void select_batch(Work<Bits> const& w, WarpMemory<Bits> const& memory,
                                             std::int64_t first) {
  auto const& problem = w.problem;
  int const place = static_cast<int>(threadIdx.x) % 32 / Lanes;
  std::int64_t const row = first + place;
  int n = 0, k = 0;
  if (row < problem.shape.rows) {
    if constexpr (form == Form::ragged) {
      n = held_length<Lanes * Keys>(problem, row);
      k = n > 0 ? static_cast<int>(problem.selected_count(row)) : 0;
    } else {
      k = form != Form::regular && problem.wanted ? static_cast<int>(problem.selected_count(row))
                                                  : w.k();
    }
    if (problem.counts && threadIdx.x % Lanes == 0) problem.counts.store(row, k);
  }
  if constexpr (sizeof(Bits) > 1)
    if (w.by_magnitude) clear_signs<32 / Lanes, Lanes * Keys, form>(memory, first);
  RowSearch<Bits, Lanes, Keys, form> search(w, memory.row(place), n, k);
  search.run();
  WarpSelection<Bits, Lanes, Keys, form> selected(memory, n, k);
  selected.list(search);
  if (w.sorted == Sorted::yes) selected.sort();
  selected.store(first);
}

template <class Bits, int Lanes, int Keys>
__global__ void __launch_bounds__(32 * tuning.most_warps(Keys, sizeof(Bits)),
                                  tuning.warps_of_processor(Keys, sizeof(Bits)) /
                                      tuning.most_warps(Keys, sizeof(Bits)))
    select_rows(Work<Bits> const __grid_constant__ w) {
  constexpr int rows = 32 / Lanes;
  extern __shared__ __align__(128) unsigned char block_memory[];
  __shared__ std::uint64_t barriers[tuning.most_warps(Keys, sizeof(Bits))];
  auto const warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  WarpMemory<Bits> const memory{block_memory + warp * w.warp_bytes, w};
  CopyBarrier const barrier(&barriers[warp]);
  auto const begin_load = [&](std::int64_t of) {
    if (w.loading == Loading::bulk) begin_bulk_load<rows>(memory, barrier, of);
    if (w.loading == Loading::rows) begin_load_rows<rows>(memory, of);
  };
  std::int64_t first = std::int64_t{blockIdx.x} * warps * rows;
  std::int64_t const step = std::int64_t{gridDim.x} * warps * rows;
  int const mine = warp * rows;
  if (w.loading == Loading::bulk) {
    if (threadIdx.x % 32 == 0) barrier.init();
    __syncwarp();
  }
  begin_load(first + mine);
  fill_up<rows, Lanes * Keys>(memory);
  __syncwarp();
  for (unsigned turn = 0; first < w.problem.shape.rows; first += step, turn ^= 1) {
    if (w.loading == Loading::columns) {
      load_columns<rows>(w, block_memory, first);
      prefetch_columns(w, first + step);
      __syncthreads();
    }
    if (first + mine < w.problem.shape.rows) {
      if (w.loading == Loading::bulk) barrier.wait(turn);
      if (w.loading == Loading::rows) {
        wait_for_copies();
        __syncwarp();
        prefetch_rows<rows>(w, first + step + mine);
      }
      select_batch<Lanes, Keys, Form::any>(w, memory, first + mine);
      __syncwarp();
    }
    begin_load(first + step + mine);
    if (w.loading == Loading::columns) __syncthreads();
  }
}

template <class Bits, int Lanes, int Keys>
__global__ void __launch_bounds__(32 * tuning.warps,
                                  tuning.warps_of_regular(Lanes, Keys) / tuning.warps)
    select_regular_rows(Work<Bits> const __grid_constant__ w) {
  constexpr int rows = 32 / Lanes;
  extern __shared__ __align__(128) unsigned char block_memory[];
  __shared__ std::uint64_t barriers[tuning.warps];
  auto const warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  WarpMemory<Bits> const memory{block_memory + warp * w.warp_bytes, w};
  CopyBarrier const barrier(&barriers[warp]);
  if (threadIdx.x % 32 == 0) barrier.init();
  __syncwarp();
  std::int64_t first = (std::int64_t{blockIdx.x} * warps + warp) * rows;
  std::int64_t const step = std::int64_t{gridDim.x} * warps * rows;
  begin_load_regular<rows>(memory, barrier, first);
  for (unsigned turn = 0; first < w.problem.shape.rows; first += step, turn ^= 1) {
    barrier.wait(turn);
    select_batch<Lanes, Keys, Form::regular>(w, memory, first);
    __syncwarp();
    begin_load_regular<rows>(memory, barrier, first + step);
  }
}

template <int Lanes, int Keys, class Bits>
__device__ __forceinline__ void select_ragged_batch(Work<Bits> const& w,
                                                    WarpMemory<Bits> const& memory,
                                                    std::int64_t first) {
  begin_load_ragged<32 / Lanes, Lanes * Keys>(memory, first);
  wait_for_copies();
  __syncwarp();
  select_batch<Lanes, Keys, Form::ragged>(w, memory, first);
  __syncwarp();
}

/// A warp that has a row to itself reads the lengths of 32 rows together.
template <class Bits, int Lanes, int Keys>
__global__ void __launch_bounds__(32 * tuning.warps,
                                  tuning.warps_of_processor(Keys, sizeof(Bits)) / tuning.warps)
    select_ragged_rows(Work<Bits> const __grid_constant__ w) {
  extern __shared__ __align__(128) unsigned char block_memory[];
  auto const warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  WarpMemory<Bits> const memory{block_memory + warp * w.warp_bytes, w};
  std::int64_t const rows = w.problem.shape.rows, step = std::int64_t{gridDim.x} * warps;
  std::int64_t const mine = std::int64_t{blockIdx.x} * warps + warp;
  if constexpr (Lanes < 32) {
    constexpr int together = 32 / Lanes;
    for (std::int64_t first = mine * together; first < rows; first += step * together)
      select_ragged_batch<Lanes, Keys>(w, memory, first);
  } else {
    for (std::int64_t first = mine; first < rows; first += 32 * step) {
      std::int64_t const row = first + threadIdx.x % 32 * step;
      bool const is_wanted =
          row < rows && (w.left_out == 0 || held_length<Lanes * Keys>(w.problem, row) > w.left_out);
      for (unsigned left = __ballot_sync(full_warp, is_wanted); left != 0; left &= left - 1)
        select_ragged_batch<Lanes, Keys>(w, memory,
                                         first + (__ffs(static_cast<int>(left)) - 1) * step);
    }
  }
}

// ---- host side

bool is_aligned(void const* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

/// The bytes from one row to the next in shared memory, such that lanes access different banks at a time.
int row_bytes_for(int length, int key_bytes, int lanes, Loading loading) {
  int const chunk = 4 * key_bytes, together = chunk * lanes;
  int const bytes = round_up(length * key_bytes, 16);
  int const phase = loading == Loading::columns ? (chunk <= 16 ? 80 : 16)
                                                : (together < 128 ? std::max(together, 16)
                                                   : chunk > 16   ? 16
                                                                  : bytes % 128);
  return bytes + (phase - bytes % 128 + 128) % 128;
}

template <class Bits>
bool can_bulk_load(int device, StoredProblem<Bits> const& problem) {
  return !problem.rows.are_ragged() && (problem.rows.step == 1 || problem.shape.n == 1) &&
         problem.shape.n % Chunk<Bits>::size == 0 && problem.shape.n * sizeof(Bits) % 16 == 0 &&
         is_aligned(problem.rows.keys, 16) &&
         (problem.rows.row_stride * sizeof(Bits) % 16 == 0 || problem.shape.rows == 1) &&
         attribute(device, cudaDevAttrComputeCapabilityMajor) >= 9;
}

template <class Bits>
Loading loading_for(int device, StoredProblem<Bits> const& problem) {
  if (can_bulk_load(device, problem)) return Loading::bulk;
  bool const rows_are_nearer =
      std::abs(problem.rows.row_stride) < std::abs(problem.rows.step) && problem.shape.rows > 1;
  return rows_are_nearer && !problem.rows.are_ragged() ? Loading::columns : Loading::rows;
}

template <class Bits>
bool stores_quads(StoredProblem<Bits> const& problem) {
  Shape const& shape = problem.shape;
  bool const packed = (problem.out.values == nullptr ||
                       (problem.out.value_row == shape.k && problem.out.value_step == 1)) &&
                      (problem.out.indices == nullptr ||
                       (problem.out.index_row == shape.k && problem.out.index_step == 1));
  return packed && shape.k % 4 == 0 && !problem.rows.are_ragged() && !problem.wanted &&
         is_aligned(problem.out.values, alignof(Chunk<Bits>)) &&
         is_aligned(problem.out.indices, 16);
}

/// Keys of other widths gain too little. With two lanes, rows would take their chunks in four turns, which costs more
/// than the other kernel.
template <class Bits, int Lanes>
constexpr bool may_be_regular = sizeof(Bits) == 4 && Lanes >= 4;

template <int Lanes, int Keys, class Bits>
Form form_of(Work<Bits> const& w) {
  auto const& problem = w.problem;
  if (problem.shape.ragged) return Form::ragged;
  bool const whole = problem.shape.n == Lanes * Keys && problem.rows.row_stride == problem.shape.n;
  bool const floats = may_be_regular<Bits, Lanes> && problem.rank.magnitude != 0;
  return floats && whole && w.loading == Loading::bulk && !problem.wanted ? Form::regular
                                                                          : Form::any;
}

/// Of keys by value.
template <class Bits>
Bits worst_number(OrderedBitsMap<Bits> const& rank) {
  bool const largest = (rank.always & rank.minus_zero) != 0;
  return static_cast<Bits>(rank.infinity | (largest ? rank.minus_zero : Bits{0}));
}

template <class Bits, int Lanes, int Keys>
Work<Bits> make_work(int device, StoredProblem<Bits> const& problem, Options const& options) {
  constexpr int rows = 32 / Lanes;
  Work<Bits> w{};
  w.problem = problem;
  int const n = w.n(), k = w.k();
  w.by_magnitude = problem.rank.is_by_magnitude();
  OrderedBitsMap<Bits> rank = problem.rank;
  if (w.by_magnitude) rank.negative = rank.magnitude;
  w.map = make_composite_key_map<typename Work<Bits>::CompositeKey>(rank, std::int64_t{1} << 16,
                                                                    options.ties);
  w.padding = w.by_magnitude ? worst_number(rank) : problem.out.worst;
  w.sorted = options.sorted;
  w.loading = loading_for(device, problem);
  w.stores_quads = stores_quads(problem);
  w.form = form_of<Lanes, Keys>(w);
  w.row_bytes = w.form == Form::regular
                    ? Lanes * Keys * static_cast<int>(sizeof(Bits))
                    : row_bytes_for(Lanes * Keys, sizeof(Bits), Lanes, w.loading);
  w.ties_begin = rows * w.row_bytes;
  w.list_begin = round_up(w.ties_begin + rows * 2 * tuning.ties(Lanes), 16);
  w.warp_bytes = round_up(w.list_begin + rows * k * 2, 128);
  w.fold = fold_for(n, w.groups_for(k), Lanes, Keys / 4);
  w.slot_reciprocal = ((1u << 24) + k - 1) / k;
  return w;
}

template <int Rows, class Bits>
void launch(int device, cudaStream_t stream, void (*kernel)(Work<Bits>), Work<Bits> const& w,
            int most_warps) {
  std::int64_t const batches = (w.problem.shape.rows + Rows - 1) / Rows;
  int const all = processors(device);
  int const most_bytes = attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  int warps = most_warps;
  while (warps > 1 && (warps * w.warp_bytes > most_bytes / 2 || batches <= all * warps / 2))
    warps /= 2;
  int const bytes = warps * w.warp_bytes;
  allow_all_shared_memory(kernel);
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32 * warps, bytes),
        "occupancy");
  std::int64_t const wanted = (batches + warps - 1) / warps;
  auto const grid = static_cast<unsigned>(std::min(wanted, std::int64_t{blocks} * all));
  kernel<<<grid, 32 * warps, bytes, stream>>>(w);
  check(cudaGetLastError(), "launch");
}

template <int Lanes, int Keys, class Bits>
void launch(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
            Options const& options) {
  Work<Bits> const w = make_work<Bits, Lanes, Keys>(device, problem, options);
  constexpr int rows = 32 / Lanes;
  auto kernel = select_rows<Bits, Lanes, Keys>;
  if constexpr (may_be_regular<Bits, Lanes>)
    if (w.form == Form::regular) kernel = select_regular_rows<Bits, Lanes, Keys>;
  launch<rows>(device, stream, kernel, w,
               w.loading == Loading::columns && rows <= 4 ? tuning.most_warps(Keys, sizeof(Bits))
                                                          : tuning.warps);
}

template <int Lanes, int Keys, class Bits>
void launch_ragged(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                   Options const& options, int left_out = 0) {
  Work<Bits> w = make_work<Bits, Lanes, Keys>(device, problem, options);
  w.left_out = left_out;
  launch<32 / Lanes>(device, stream, select_ragged_rows<Bits, Lanes, Keys>, w, tuning.warps);
}

/// How many keys of a ragged row its lanes hold: most rows are no longer than twice the mean. Few rows are spread over
/// whole warps, which saves a launch for the longer ones.
int held_of_ragged(Shape const& shape) {
  std::int64_t const most = 2 * (shape.n / shape.rows);
  if (most > 2048 && shape.key_bytes < 8) return 4096;
  if (most > 1024 || shape.rows < tuning.many_ragged) return 2048;
  return most <= 512 ? 512 : 1024;
}

/// Rows are spread over more lanes where there are too few for the device.
std::int64_t spread_length(int device, Shape const& shape) {
  std::int64_t const few = std::int64_t{tuning.batches_of_processor} * processors(device);
  std::int64_t length = std::max(shape.n, shape.k);
  for (std::int64_t rows = shape.rows;
       length < 1024 && rows * length < few * 2048 && length < 4 * shape.n;)
    length *= 2;
  return length;
}

/// Selects from the rows that are too long for their lanes: by whole warps, and the longest by one_pass.
template <class Bits>
void select_ragged(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                   Options const& options) {
  constexpr int by_warp = 2048;
  int const held = held_of_ragged(problem.shape);
  if (held == 512) launch_ragged<8, 64>(device, stream, problem, options);
  if (held == 1024) launch_ragged<16, 64>(device, stream, problem, options);
  if (held <= by_warp)
    launch_ragged<32, 64>(device, stream, problem, options, held < by_warp ? held : 0);
  else if constexpr (sizeof(Bits) < 8)
    launch_ragged<32, 128>(device, stream, problem, options);
  one_pass_of_longer_rows(device, stream, problem, options, std::max(held, by_warp));
}

}  // namespace

bool bisection_supports(Shape const& shape, Options const& options) {
  if (!is_exact(options)) return false;
  if (options.sorted == Sorted::yes && shape.k > tuning.most_sorted(shape.key_bytes)) return false;
  if (shape.ragged)
    return shape.rows > 0 && shape.k <= held_of_ragged(shape) &&
           shape.n / shape.rows <= bisection_longest_row(shape.key_bytes) / 2 &&
           one_pass_batch_supports(shape);
  return shape.n <= bisection_longest_row(shape.key_bytes) && shape.k <= shape.n;
}

template <class Bits>
void bisection(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
               Options const& options) {
  OnDevice const here(device);
  if (problem.rows.are_ragged()) return select_ragged(device, stream, problem, options);
  std::int64_t const n = spread_length(device, problem.shape);
  constexpr bool every_length = sizeof(Bits) == 4;
  if (n <= 64) return launch<2, 32>(device, stream, problem, options);
  if constexpr (every_length)
    if (n <= 128) return launch<4, 32>(device, stream, problem, options);
  if (n <= 256) return launch<4, 64>(device, stream, problem, options);
  if constexpr (every_length)
    if (n <= 384) return launch<8, 48>(device, stream, problem, options);
  if (n <= 512) return launch<8, 64>(device, stream, problem, options);
  if constexpr (every_length)
    if (n <= 768) return launch<16, 48>(device, stream, problem, options);
  if (n <= 1024) return launch<16, 64>(device, stream, problem, options);
  if constexpr (sizeof(Bits) < 8)
    if (n > 2048) return launch<32, 128>(device, stream, problem, options);
  launch<32, 64>(device, stream, problem, options);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void bisection(int, cudaStream_t, StoredProblem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
