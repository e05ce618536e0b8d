// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <ktopk/detail/rank.hpp>
#include <ktopk/problem.hpp>

#include "bisection_tuning.hpp"
#include "warp.cuh"

// What the CUDA bisection knows of its rows, and how they come to shared memory.

namespace ktopk::detail::cuda {

/// How keys come to shared memory. `bulk`: the copy engine brings whole rows. `rows`: a warp loads one
/// row after the other. `columns`: a block loads one column of all its rows after the other, where
/// neighboring rows are neighbors in memory.
enum class Loading { bulk, rows, columns };

/// Neighboring keys that a lane reads together.
template <class Bits>
struct alignas(sizeof(Bits) < 4 ? 4 * sizeof(Bits) : 16) Chunk {
  static constexpr int size = 4;
  Bits keys[size];
};

/// Which keys share a maximum, of which the bracket takes the least.
struct Fold {
  static constexpr int single = -1, pair = 0;  // otherwise so many chunks of a lane
};

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

/// The largest groups of which a row of n keys on `lanes` lanes has at least k.
KTOPK_FUNCTION constexpr int fold_for(int n, int k, int lanes) {
  int const chunks = (n + 3) / 4;
  for (int fold = 16; fold > 0; fold /= 2) {
    int const span = fold * lanes, rest = chunks % span;
    if (chunks / span * lanes + (rest < lanes ? rest : lanes) >= k) return fold;
  }
  return (n + 1) / 2 >= k ? Fold::pair : Fold::single;
}

template <class Bits>
struct Work {
  using Item = std::conditional_t<sizeof(Bits) == 8, Item128, Item64>;

  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  Sorted sorted;
  Loading loading;
  int row_bytes;   // from one row to the next in shared memory
  int warp_bytes;  // of a warp's shared memory: keys, the list of winners, ties
  int list_begin, ties_begin;
  int fold;                  // where all rows have the same length and k
  bool stores_quads;         // outputs can be stored four at a time
  unsigned slot_reciprocal;  // 2^24 / k, rounded up

  KTOPK_FUNCTION bool is_uniform() const { return !problem.offsets && !problem.wanted; }
};

/// The shared memory of a warp.
template <class Bits>
struct WarpMemory {
  unsigned char* base;
  Work<Bits> const& work;

  __device__ Bits* row(int r) const { return reinterpret_cast<Bits*>(base + r * work.row_bytes); }
  /// The columns of winners, k places a row.
  __device__ std::uint16_t* list() const {
    return reinterpret_cast<std::uint16_t*>(base + work.list_begin);
  }
  __device__ std::uint16_t* ties() const {
    return reinterpret_cast<std::uint16_t*>(base + work.ties_begin);
  }
};

/// Begins the copies of a warp's rows, a lane each.
template <int Rows, class Bits>
__device__ __forceinline__ void begin_bulk_load(Work<Bits> const& w, WarpMemory<Bits> const& memory,
                                                CopyBarrier const& barrier, std::int64_t first) {
  int const lane = threadIdx.x % 32;
  std::int64_t const rest = w.problem.shape.rows - first;
  if (rest <= 0) return;
  auto const bytes = static_cast<unsigned>(w.problem.shape.n * sizeof(Bits));
  auto const rows = static_cast<int>(rest < Rows ? rest : Rows);
  if (lane == 0) barrier.expect(bytes * rows);
  __syncwarp();
  if (lane < rows) barrier.copy(memory.row(lane), w.problem.row_keys(first + lane), bytes);
}

/// Fills whole chunks: what is behind a row's end repeats its last key.
template <int Rows, class Bits>
__device__ void load_rows(Work<Bits> const& w, WarpMemory<Bits> const& memory, std::int64_t first,
                          int longest) {
  int const lane = threadIdx.x % 32;
  for (int r = 0; r < Rows && first + r < w.problem.shape.rows; ++r) {
    std::int64_t const length = w.problem.length(first + r);
    int const n = static_cast<int>(length < longest ? length : longest);
    Bits const* const from = w.problem.row_keys(first + r);
    Bits* const to = memory.row(r);
    int const end = n > 0 ? (n + 3) / 4 * 4 : 0;
    std::int64_t const step = w.problem.key_step;
#pragma unroll 4
    for (int column = lane; column < end; column += 32)
      to[column] = __ldg(from + (column < n ? column : n - 1) * step);
  }
}

/// By all warps of a block: a thread loads chunks of one row, neighboring threads those of neighboring rows.
template <int Rows, class Bits>
__device__ void load_columns(Work<Bits> const& w, unsigned char* block_memory, std::int64_t first) {
  int const rows = static_cast<int>(blockDim.x) / 32 * Rows;
  int const r = static_cast<int>(threadIdx.x) % rows;
  std::int64_t const row = first + r;
  if (row >= w.problem.shape.rows) return;
  int const n = static_cast<int>(w.problem.shape.n);
  Bits const* const from = w.problem.row_keys(row);
  std::int64_t const step = w.problem.key_step;
  WarpMemory<Bits> const memory{block_memory + r / Rows * w.warp_bytes, w};
  auto* const to = reinterpret_cast<Chunk<Bits>*>(memory.row(r % Rows));
#pragma unroll 4
  for (int c = static_cast<int>(threadIdx.x) / rows; c * 4 < n; c += 32 / Rows) {
    Chunk<Bits> chunk;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const column = 4 * c + i;
      chunk.keys[i] = __ldg(from + (column < n ? column : n - 1) * step);
    }
    to[c] = chunk;
  }
}

}  // namespace ktopk::detail::cuda
