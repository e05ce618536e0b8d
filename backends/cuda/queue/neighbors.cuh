// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/problem.hpp>

#include "../common/stream.cuh"
#include "tuning.hpp"

// Rows whose keys lie side by side, as in LayoutLeft. Each warp of a block has a row, and all threads of the block read
// the tiles of these rows in the order of memory.

namespace ktopk::detail::cuda {

/// Loads one tile after the other of neighboring rows through shared memory. All threads of the block call it.
template <class Bits>
class NeighborTiles {
  static constexpr int rows = queue_tuning.warps, threads = 32 * rows;
  static constexpr int keys_of_thread =
      queue_tuning.neighbor_vectors(sizeof(Bits)) * Vector<Bits>::size;
  static constexpr int tile = 32 * keys_of_thread;  // keys of a row in a tile
  static constexpr int apart = threads / rows;      // the distance of a thread's keys
  /// From one row to the next in shared memory, such that the threads of a warp write to different banks.
  static constexpr int pitch = tile + Vector<Bits>::size;

 public:
  using Keys = Tile<Bits, 32, queue_tuning.neighbor_vectors(sizeof(Bits))>;
  static constexpr int size = rows * pitch;  ///< keys in shared memory

  __device__ NeighborTiles(StoredProblem<Bits> const& problem, std::int64_t first_row, Bits* shared)
      : m_own(problem.rows.pointer(first_row + row()) + position() * problem.rows.step),
        m_step(problem.rows.step),
        m_end(first_row + row() < problem.shape.rows ? problem.shape.n - position() : 0),
        m_shared(shared) {}

  /// Begins to load a tile, from key `first` of each row on.
  __device__ __forceinline__ void load(std::int64_t first) {
    Bits const* const from = m_own + first * m_step;
    std::int64_t const count = m_end - first;
    if (count > tile - apart) {
#pragma unroll
      for (int i = 0; i < keys_of_thread; ++i) m_loaded[i] = from[i * apart * m_step];
    } else {
#pragma unroll
      for (int i = 0; i < keys_of_thread; ++i)
        m_loaded[i] = i * apart < count ? from[i * apart * m_step] : Bits{0};
    }
  }

  /// Gives each warp its row of the tile that was loaded.
  __device__ __forceinline__ void exchange(Keys& keys) {
#pragma unroll
    for (int i = 0; i < keys_of_thread; ++i)
      m_shared[row() * pitch + position() + i * apart] = m_loaded[i];
    __syncthreads();
    auto const* const own =
        reinterpret_cast<uint4 const*>(m_shared + static_cast<int>(threadIdx.x) / 32 * pitch);
#pragma unroll
    for (int v = 0; v < Keys::in_flight; ++v) {
      uint4 const raw = own[32 * v + static_cast<int>(threadIdx.x) % 32];
      unsigned (&word)[4] = keys.vectors[v].word;
      word[0] = raw.x, word[1] = raw.y, word[2] = raw.z, word[3] = raw.w;
    }
    __syncthreads();
  }

 private:
  __device__ static int row() { return static_cast<int>(threadIdx.x) % rows; }
  __device__ static int position() { return static_cast<int>(threadIdx.x) / rows; }

  Bits const* m_own;
  std::int64_t m_step;
  std::int64_t m_end;
  Bits* m_shared;
  Bits m_loaded[keys_of_thread];
};

}  // namespace ktopk::detail::cuda
