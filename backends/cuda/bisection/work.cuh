// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/problem.hpp>

#include "../common/warp.cuh"
#include "tuning.hpp"

// The parameters of the CUDA bisection, and how its rows are copied to shared memory.

namespace ktopk::detail::cuda {

/// How keys are copied to shared memory. `bulk`: the copy engine copies whole rows. `rows`: a warp copies one row after
/// the other. `columns`: a block loads one column of all its rows after the other, if the rows lie side by side.
enum class Loading { bulk, rows, columns };

/// `regular`: rows of exactly as many 32-bit floating-point keys as their lanes hold, one after the other in memory, all
/// with the same k.
/// `ragged`: rows of different lengths, at most as long as their lanes hold.
enum class Form { any, regular, ragged };

/// Neighboring keys that a lane reads together.
template <class Bits>
struct alignas(sizeof(Bits) < 4 ? 4 * sizeof(Bits) : 16) Chunk {
  static constexpr int size = 4;
  Bits keys[size];
};

/// Loads a chunk by one instruction; the compiler would load one key after the other.
template <class Bits>
__device__ __forceinline__ Chunk<Bits> load_chunk(Chunk<Bits> const* from) {
  if constexpr (sizeof(Bits) != 4) return *from;
  Chunk<Bits> chunk;
  *reinterpret_cast<uint4*>(&chunk) = *reinterpret_cast<uint4 const*>(from);
  return chunk;
}

/// Which keys form a group. The least of the groups' maxima is the low end of the bracket.
struct Fold {
  static constexpr int single = -1, pair = 0;  // any other value: so many chunks of a lane
};

KTOPK_FUNCTION constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }
KTOPK_FUNCTION constexpr int round_up(int a, int to) { return divide_up(a, to) * to; }

/// The largest groups, of up to `most` chunks, such that a row of n keys on `lanes` lanes has at least k of them.
KTOPK_FUNCTION constexpr int fold_for(int n, int k, int lanes, int most) {
  int const chunks = divide_up(n, 4);
  int largest = 1;
  while (largest < most) largest *= 2;
  for (int fold = largest; fold > 0; fold /= 2) {
    int const span = fold * lanes, rest = chunks % span;
    if (chunks / span * lanes + (rest < lanes ? rest : lanes) >= k) return fold;
  }
  return divide_up(n, 2) >= k ? Fold::pair : Fold::single;
}

template <class Bits>
struct Work {
  using CompositeKey =
      std::conditional_t<(sizeof(Bits) < 4), std::uint32_t,
                         std::conditional_t<sizeof(Bits) == 4, CompositeKey64, CompositeKey128>>;

  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Bits padding;  // the key that fills a row up
  Sorted sorted;
  Loading loading;
  Form form;
  int row_bytes;   // from one row to the next in shared memory
  int warp_bytes;  // of shared memory for a warp: keys, ties, the list of selected keys
  int ties_begin, list_begin;
  int fold;                  // if all rows have the same k
  bool by_magnitude;         // signs are cleared in shared memory, and `map` is that of values
  bool stores_quads;         // outputs can be stored four at a time
  int left_out;              // ragged rows up to this length are selected elsewhere
  unsigned slot_reciprocal;  // 2^24 / k, rounded up

  KTOPK_FUNCTION int n() const { return static_cast<int>(problem.shape.n); }
  KTOPK_FUNCTION int k() const { return static_cast<int>(problem.shape.k); }
  /// How many groups of chunks bound the k-th key; with two ranks in a register a group counts twice, for its two halves.
  KTOPK_FUNCTION static int groups_for(int k) { return sizeof(Bits) <= 2 ? divide_up(k, 2) : k; }
};

/// \param n  the number of keys if rows are ragged
template <int Length, Form form, class Bits>
__device__ __forceinline__ int keys_of_row(Work<Bits> const& work, int n) {
  return form == Form::ragged ? n : form == Form::regular ? Length : work.n();
}

/// The shared memory of a warp. Every row in it is filled up to `Lanes * Keys` keys.
template <class Bits>
struct WarpMemory {
  unsigned char* base;
  Work<Bits> const& work;

  __device__ Bits* row(int r) const { return reinterpret_cast<Bits*>(base + r * work.row_bytes); }
  /// The columns of the ties of row r, where each row has up to `most`.
  __device__ std::uint16_t* ties(int r, int most) const {
    return reinterpret_cast<std::uint16_t*>(base + work.ties_begin) + r * most;
  }
  /// The columns of selected keys, k places a row.
  __device__ std::uint16_t* list() const {
    return reinterpret_cast<std::uint16_t*>(base + work.list_begin);
  }
};

/// Fills rows up. Once is enough, because no load writes behind the end of a row.
template <int Rows, int Length, class Bits>
__device__ __forceinline__ void fill_up(WarpMemory<Bits> const& memory) {
  for (int r = 0; r < Rows; ++r)
    for (int column = memory.work.n() + static_cast<int>(threadIdx.x) % 32; column < Length;
         column += 32)
      memory.row(r)[column] = memory.work.padding;
}

/// The number of keys of a ragged row, or 0 if its lanes cannot hold it: such a row is selected from elsewhere.
template <int Length, class Bits>
__device__ __forceinline__ int held_length(StoredProblem<Bits> const& problem, std::int64_t row) {
  std::int64_t const length = problem.length(row);
  return length <= Length ? static_cast<int>(length) : 0;
}

/// Clears the signs of a warp's keys, not of what fills rows up. The copy engine writes there next.
template <int Rows, int Length, Form form, class Bits>
__device__ __forceinline__ void clear_signs(WarpMemory<Bits> const& memory, std::int64_t first) {
  auto const& problem = memory.work.problem;
  Bits const kept = problem.rank.magnitude;
  for (int r = 0; r < Rows && first + r < problem.shape.rows; ++r) {
    int const held = form == Form::ragged ? held_length<Length>(problem, first + r) : 0;
    int const n = keys_of_row<Length, form>(memory.work, held);
    auto* const row = reinterpret_cast<Chunk<Bits>*>(memory.row(r));
    for (int c = static_cast<int>(threadIdx.x) % 32; 4 * c < n; c += 32) {
      Chunk<Bits> chunk = load_chunk(row + c);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (4 * c + i < n) chunk.keys[i] &= kept;
      row[c] = chunk;
    }
  }
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncwarp();
}

/// Begins the copies of a warp's rows; each lane starts one.
template <int Rows, class Bits>
__device__ __forceinline__ void begin_bulk_load(WarpMemory<Bits> const& memory,
                                                CopyBarrier const& barrier, std::int64_t first) {
  auto const& problem = memory.work.problem;
  int const lane = threadIdx.x % 32;
  std::int64_t const rest = problem.shape.rows - first;
  if (rest <= 0) return;
  auto const bytes = static_cast<unsigned>(problem.shape.n * sizeof(Bits));
  auto const rows = static_cast<int>(rest < Rows ? rest : Rows);
  if (lane == 0) barrier.expect(bytes * rows);
  __syncwarp();
  if (lane < rows) barrier.copy(memory.row(lane), problem.rows.pointer(first + lane), bytes);
}

/// Begins one copy of all of a warp's regular rows.
template <int Rows, class Bits>
__device__ __forceinline__ void begin_load_regular(WarpMemory<Bits> const& memory,
                                                   CopyBarrier const& barrier, std::int64_t first) {
  auto const& problem = memory.work.problem;
  std::int64_t const rest = problem.shape.rows - first;
  if (rest <= 0 || threadIdx.x % 32 != 0) return;
  auto const bytes = static_cast<unsigned>((rest < Rows ? rest : Rows) * memory.work.row_bytes);
  barrier.expect(bytes);
  barrier.copy(memory.row(0), problem.rows.keys + first * problem.shape.n, bytes);
}

/// Begins the copies of a warp's rows, one for each key.
template <int Rows, class Bits>
__device__ __forceinline__ void begin_load_rows(WarpMemory<Bits> const& memory,
                                                std::int64_t first) {
  auto const& problem = memory.work.problem;
  int const n = memory.work.n();
  std::int64_t const step = problem.rows.step;
  for (int r = 0; r < Rows && first + r < problem.shape.rows; ++r) {
    Bits const* const from = problem.rows.pointer(first + r);
    Bits* const to = memory.row(r);
#pragma unroll 8
    for (int column = static_cast<int>(threadIdx.x) % 32; column < n; column += 32)
      begin_copy(to + column, from + column * step);
  }
}

/// The same for ragged rows, which it fills up.
template <int Rows, int Length, class Bits>
__device__ __forceinline__ void begin_load_ragged(WarpMemory<Bits> const& memory,
                                                  std::int64_t first) {
  auto const& problem = memory.work.problem;
  std::int64_t const step = problem.rows.step;
  for (int r = 0; r < Rows && first + r < problem.shape.rows; ++r) {
    int const n = held_length<Length>(problem, first + r);
    Bits const* const from = problem.rows.pointer(first + r);
    Bits* const to = memory.row(r);
    int column = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 4
    for (; column < n; column += 32) begin_copy(to + column, from + column * step);
    for (; column < Length; column += 32) to[column] = memory.work.padding;
  }
}

/// Loads a key, and with it the line of 128 bytes to L2, where neighboring blocks find their keys.
template <class Bits>
__device__ __forceinline__ Bits load_with_line(Bits const* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(Bits) == 4) {
    unsigned key;
    asm volatile("ld.global.nc.L2::128B.u32 %0, [%1];" : "=r"(key) : "l"(from));
    return key;
  } else if constexpr (sizeof(Bits) == 8) {
    unsigned long long key;
    asm volatile("ld.global.nc.L2::128B.u64 %0, [%1];" : "=l"(key) : "l"(from));
    return key;
  } else {
    return __ldg(from);
  }
#else
  return __ldg(from);
#endif
}

/// Loads the rows of a block; all its warps call it. A thread loads chunks of one row, neighboring threads those of
/// neighboring rows.
template <int Rows, class Bits>
__device__ __forceinline__ void load_columns(Work<Bits> const& w, unsigned char* block_memory,
                                             std::int64_t first) {
  int const rows = static_cast<int>(blockDim.x) / 32 * Rows;
  int const r = static_cast<int>(threadIdx.x) % rows;
  std::int64_t const row = first + r;
  if (row >= w.problem.shape.rows) return;
  int const n = w.n();
  Bits const* const from = w.problem.rows.pointer(row);
  std::int64_t const step = w.problem.rows.step;
  WarpMemory<Bits> const memory{block_memory + r / Rows * w.warp_bytes, w};
  Bits* const to = memory.row(r % Rows);
#pragma unroll 4
  for (int c = static_cast<int>(threadIdx.x) / rows; c * 4 < n; c += 32 / Rows) {
    Chunk<Bits> chunk;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const column = 4 * c + i;
      chunk.keys[i] = column < n ? load_with_line(from + column * step) : w.padding;
    }
    reinterpret_cast<Chunk<Bits>*>(to)[c] = chunk;
  }
}

/// Prefetches to L2 what a block loads next; all its threads call it.
template <class Bits>
__device__ __forceinline__ void prefetch_columns(Work<Bits> const& w, std::int64_t first) {
  if (first >= w.problem.shape.rows) return;
  Bits const* const from = w.problem.rows.pointer(first);
  for (int column = static_cast<int>(threadIdx.x); column < w.n();
       column += static_cast<int>(blockDim.x))
    prefetch(from + column * w.problem.rows.step);
}

/// Prefetches to L2 the rows that a warp loads next, if their keys lie close together.
template <int Rows, class Bits>
__device__ __forceinline__ void prefetch_rows(Work<Bits> const& w, std::int64_t first) {
  constexpr int line = 128 / static_cast<int>(sizeof(Bits));
  std::int64_t const step = w.problem.rows.step;
  if (step < 1 || step > line) return;
  auto const stride = static_cast<int>(line / step);
  for (int r = 0; r < Rows && first + r < w.problem.shape.rows; ++r)
    for (int column = static_cast<int>(threadIdx.x) % 32 * stride; column < w.n();
         column += 32 * stride)
      prefetch(w.problem.rows.pointer(first + r) + column * step);
}

}  // namespace ktopk::detail::cuda
