// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include "../../common/batch_launch.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/resident_clusters.hpp"
#include "../../common/this_module.cuh"

namespace ktopk::detail::cuda {

namespace {

/// The rows of a block, one after the other. If short rows are left out, each thread reads the length of another row.
template <int Threads, class Bits, class CompositeKey>
class RowsOfBlock {
 public:
  __device__ RowsOfBlock(Batch<Bits, CompositeKey> const& batch, int parts)
      : m_batch(batch), m_step(gridDim.x / parts), m_row(blockIdx.x / parts - m_step) {}

  /// Returns the next row, or the number of rows after the last. All threads of the block call it.
  __device__ std::int64_t next() {
    std::int64_t const rows = m_batch.problem.shape.rows;
    if (m_batch.left_out < 0) return m_row + m_step < rows ? m_row += m_step : rows;
    while (m_row < rows) {
      for (; m_warp < Threads / 32; ++m_warp)
        if (unsigned const found = found_by(m_warp); m_seen < 32 && found >> m_seen != 0) {
          int const bit = m_seen + __ffs(static_cast<int>(found >> m_seen)) - 1;
          m_seen = bit + 1;
          return m_row + (m_warp * 32 + bit) * m_step;
        } else {
          m_seen = 0;
        }
      look();
    }
    return rows;
  }

 private:
  __device__ static unsigned& found_by(int warp) {
    __shared__ unsigned found[Threads / 32];
    return found[warp];
  }
  /// Notes which of the next rows, one for each thread, are not left out.
  __device__ void look() {
    m_row = m_row < 0 ? m_row + m_step : m_row + Threads * m_step;
    std::int64_t const row = m_row + threadIdx.x * m_step;
    bool const is_wanted =
        row < m_batch.problem.shape.rows && m_batch.problem.length(row) > m_batch.left_out;
    unsigned const found = __ballot_sync(full_warp, is_wanted);
    __syncthreads();
    if (threadIdx.x % 32 == 0) found_by(static_cast<int>(threadIdx.x) / 32) = found;
    __syncthreads();
    m_warp = m_seen = 0;
  }

  Batch<Bits, CompositeKey> const& m_batch;
  std::int64_t m_step, m_row;
  int m_warp = Threads / 32, m_seen = 0;
};

/// How many blocks a multiprocessor holds.
constexpr int blocks_of(int threads, int vectors) {
  return vectors > tuning.vectors_in_flight ? 1 : tuning.blocks * tuning.threads / threads;
}

template <class Bits, class CompositeKey, int Threads, bool Clustered, bool Strided,
          int Vectors = tuning.vectors_in_flight>
__global__ void __launch_bounds__(Threads, blocks_of(Threads, Vectors))
    select_rows(__grid_constant__ Batch<Bits, CompositeKey> const batch) {
  RowSelection<Bits, CompositeKey, Threads, Clustered, Strided, Vectors> const selection(batch);
  RowsOfBlock<Threads, Bits, CompositeKey> rows(batch, Clustered ? batch.parts : 1);
  int turn = 0;
  for (std::int64_t row = rows.next(); row < batch.problem.shape.rows; row = rows.next()) {
    selection.run(row, turn);
    turn ^= 1;
    __syncthreads();
  }
  if constexpr (Clustered)
    cluster_sync();  // the first block's shared memory must exist until all blocks are done with it
}

// ---- host side

/// The length of the rows, or the mean if they differ.
std::int64_t length_of(Shape const& shape) {
  return shape.ragged ? shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
}

/// How many blocks share a row.
int parts_of(Shape const& shape, int device) {
  std::int64_t const length = length_of(shape);
  std::int64_t const most =
      std::min<std::int64_t>(length / tuning.least_part, tuning.most_in_batch);
  bool const is_shared =
      length * shape.key_bytes >= tuning.alone_bytes || shape.k >= tuning.least_shared;
  return is_shared ? most_parts_of<load_this_module>(device, shape.rows, most) : 1;
}

/// The threads of a block if there are more rows than the device holds blocks of more threads. Small blocks take fewer
/// instructions a row, but the lists of as many as a multiprocessor holds must fit it.
template <class CompositeKey>
int threads_for_many(Shape const& shape, Sorted sorted) {
  for (int const threads : {tuning.short_threads, tuning.middle_threads}) {
    if (threads == tuning.short_threads && shape.n > tuning.short_row) continue;
    std::size_t const bytes = shared_bytes<CompositeKey>(threads, 1, capacity_of(shape, threads),
                                                         ordered_of(shape, sorted));
    int const blocks = blocks_of(threads, tuning.vectors_in_flight);
    if ((bytes + fixed_bytes) * static_cast<std::size_t>(blocks) <= most_shared_bytes())
      return threads;
  }
  return tuning.threads;
}

template <class CompositeKey>
int threads_of(Shape const& shape, Sorted sorted, int parts, int processors) {
  if (!shape.packed || parts > 1) return tuning.threads;
  if (shape.rows > tuning.blocks * processors) return threads_for_many<CompositeKey>(shape, sorted);
  bool const wide = !shape.ragged && shape.n >= tuning.wide_part && shape.rows <= processors;
  return wide ? tuning.wide_threads : tuning.threads;
}

template <class Bits, class CompositeKey>
void run(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
         Options const& options, std::int64_t left_out = -1) {
  Shape const& shape = problem.shape;
  Batch<Bits, CompositeKey> batch{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      forced_threshold, options.sorted};
  batch.ordered = ordered_of(shape, options.sorted);
  batch.left_out = left_out;
  auto const launch_rows = [&]<int Threads, bool Strided> {
    launch(device, stream, select_rows<Bits, CompositeKey, Threads, false, Strided>, Threads,
           shape.rows, batch);
  };
  auto const launch_shared = [&]<bool Strided> {
    constexpr int vectors = Strided ? tuning.vectors_in_flight : tuning.vectors_if_alone;
    launch(device, stream, select_rows<Bits, CompositeKey, tuning.threads, true, Strided, vectors>,
           tuning.threads, shape.rows, batch);
  };
  if (left_out < 0) batch.parts = parts_of(shape, device);
  int const threads =
      threads_of<CompositeKey>(shape, options.sorted, batch.parts, processors(device));
  batch.capacity = capacity_of(shape, threads);
  if (batch.parts > 1 && !shape.packed)
    launch_shared.template operator()<true>();
  else if (batch.parts > 1)
    launch_shared.template operator()<false>();
  else if (!shape.packed)
    launch_rows.template operator()<tuning.threads, true>();
  else if (threads == tuning.short_threads)
    launch_rows.template operator()<tuning.short_threads, false>();
  else if (threads == tuning.middle_threads)
    launch_rows.template operator()<tuning.middle_threads, false>();
  else if (threads == tuning.wide_threads)
    launch_rows.template operator()<tuning.wide_threads, false>();
  else
    launch_rows.template operator()<tuning.threads, false>();
}

}  // namespace

bool one_pass_batch_supports(Shape const& shape) {
  if (shape.n >= std::numeric_limits<std::int32_t>::max()) return false;
  if (shape.k > shape.n || shape.k > 8192) return false;
  constexpr int threads = tuning.threads;
  int const capacity = capacity_of(shape, threads), ordered = ordered_of(shape, Sorted::yes);
  std::size_t const bytes = shape.key_bytes == 8
                                ? shared_bytes<CompositeKey128>(threads, 1, capacity, ordered)
                                : shared_bytes<CompositeKey64>(threads, 1, capacity, ordered);
  return bytes <= room_for(180);
}

template <class Bits>
void one_pass_batch(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                    Options const& options) {
  OnDevice const here(device);
  run<Bits, CompositeKeyOf<Bits>>(device, stream, problem, options);
}

template <class Bits>
void one_pass_of_longer_rows(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                             Options const& options, std::int64_t held) {
  OnDevice const here(device);
  run<Bits, CompositeKeyOf<Bits>>(device, stream, problem, options, held);
}

#define KTOPK_INSTANTIATE(Bits)                                                                \
  template void one_pass_batch(int, cudaStream_t, StoredProblem<Bits> const&, Options const&); \
  template void one_pass_of_longer_rows(int, cudaStream_t, StoredProblem<Bits> const&,         \
                                        Options const&, std::int64_t);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
