// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass_batch_launch.hpp"

#include "batch_launch.cuh"
#include "key_widths.hpp"
#include "one_pass_interleaved.cuh"

namespace ktopk::detail::cuda {

namespace {

template <class Bits, class Item, int Threads, bool Clustered, bool Strided>
__global__ void __launch_bounds__(Threads, tuning.blocks* tuning.threads / Threads)
    select_rows(__grid_constant__ Batch<Bits, Item> const batch) {
  RowSelection<Bits, Item, Threads, Clustered, Strided> const selection(batch);
  int const parts = Clustered ? batch.parts : 1;
  int turn = 0;
  for (std::int64_t row = blockIdx.x / parts; row < batch.problem.shape.rows;
       row += gridDim.x / parts) {
    selection.run(row, turn);
    turn ^= 1;
    __syncthreads();
  }
  if constexpr (Clustered)
    cluster_sync();  // the first block's shared memory stays until all are done with it
}

template <class Bits, class Item, bool Clustered>
__global__ void __launch_bounds__(tuning.threads, tuning.blocks)
    select_interleaved(__grid_constant__ Batch<Bits, Item> const batch) {
  InterleavedSelection<Bits, Item, tuning.threads, Clustered> const selection(batch);
  int const parts = Clustered ? batch.parts : 1;
  std::int64_t const groups = (batch.problem.shape.rows + batch.lists - 1) / batch.lists;
  for (std::int64_t group = blockIdx.x / parts; group < groups; group += gridDim.x / parts) {
    selection.run(group);
    if constexpr (Clustered) cluster_sync();
  }
}

// ---- host side

/// The mean where rows differ.
std::int64_t length_of(Shape const& shape) {
  return shape.ragged ? shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
}

/// Blocks that share a row of `length` keys, or a group of such rows.
int parts_of(std::int64_t rows, std::int64_t length, int device) {
  if (!has_clusters(device)) return 1;
  std::int64_t const blocks =
      std::int64_t{processors(device)} * (length >= tuning.long_row ? 2 : 1);
  int parts = 1;
  while (parts < tuning.most_parts && rows * parts * 2 <= blocks &&
         length >= parts * 2 * std::int64_t{tuning.least_part})
    parts *= 2;
  return parts;
}

bool are_short(Shape const& shape) {
  return shape.packed && !shape.ragged && shape.n <= tuning.short_row &&
         shape.rows >= tuning.many_rows;
}

int threads_of(Shape const& shape, int parts, int processors) {
  if (are_short(shape)) return tuning.short_threads;
  if (!shape.packed || shape.ragged || shape.n / parts < tuning.wide_part) return tuning.threads;
  // Large clusters of blocks that have a processor each do not fit a device side by side.
  std::int64_t const blocks = shape.rows * parts * (parts > 4 ? 2 : 1);
  return blocks <= processors ? tuning.wide_threads : tuning.threads;
}

/// How many neighboring rows are read together: those whose keys lie side by side, and whose lists have room. The ends of
/// their tiles, which lie behind the rows', are positions of 31 bits, too.
template <class Bits, class Item>
int lists_of(Batch<Bits, Item> const& batch) {
  Shape const& shape = batch.problem.shape;
  constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max() - (1 << 18);
  if (shape.packed || shape.ragged || batch.problem.key_row != 1 || shape.n > longest) return 1;
  int lists = tuning.most_lists;
  while (lists > 1 && (lists / 2 >= shape.rows ||
                       shared_bytes<Item>(lists, batch.capacity, batch.ordered) > room_for(200)))
    lists /= 2;
  return lists;
}

template <class Bits, class Item>
void run(int device, cudaStream_t stream, Problem<Bits> const& problem, Options const& options) {
  Shape const& shape = problem.shape;
  Batch<Bits, Item> batch{problem, make_item_map<Item>(problem.rank, shape.n, options.ties),
                          forced_threshold, options.sorted};
  batch.ordered = ordered_of(shape, options.sorted);
  auto const launch_rows = [&]<int Threads, bool Strided> {
    launch(device, stream,
           batch.parts == 1 ? select_rows<Bits, Item, Threads, false, Strided>
                            : select_rows<Bits, Item, Threads, true, Strided>,
           Threads, shape.rows, batch);
  };
  batch.capacity = capacity_of(shape, tuning.threads);
  batch.lists = lists_of(batch);
  if (batch.lists > 1) {
    std::int64_t const groups = (shape.rows + batch.lists - 1) / batch.lists;
    batch.parts = parts_of(groups, shape.n * batch.lists, device);
    return launch(device, stream,
                  batch.parts == 1 ? select_interleaved<Bits, Item, false>
                                   : select_interleaved<Bits, Item, true>,
                  tuning.threads, groups, batch);
  }
  batch.parts = parts_of(shape.rows, length_of(shape), device);
  int const threads = threads_of(shape, batch.parts, processors(device));
  batch.capacity = capacity_of(shape, threads);
  if (!shape.packed)
    launch_rows.template operator()<tuning.threads, true>();
  else if (threads == tuning.short_threads)
    launch_rows.template operator()<tuning.short_threads, false>();
  else if (threads == tuning.wide_threads)
    launch_rows.template operator()<tuning.wide_threads, false>();
  else
    launch_rows.template operator()<tuning.threads, false>();
}

}  // namespace

bool one_pass_batch_supports(Shape const& shape) {
  if (shape.n >= std::numeric_limits<std::int32_t>::max()) return false;
  if (shape.k > shape.n || shape.k > 8192) return false;
  int const threads = are_short(shape) ? tuning.short_threads : tuning.threads;
  int const capacity = capacity_of(shape, threads), ordered = ordered_of(shape, Sorted::yes);
  std::size_t const bytes = shape.key_bytes == 8 ? shared_bytes<Item128>(1, capacity, ordered)
                                                 : shared_bytes<Item64>(1, capacity, ordered);
  return bytes <= room_for(160);
}

template <class Bits>
void one_pass_batch(int device, cudaStream_t stream, Problem<Bits> const& problem,
                    Options const& options) {
  OnDevice const here(device);
  run<Bits, ItemOf<Bits>>(device, stream, problem, options);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_batch(int, cudaStream_t, Problem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
