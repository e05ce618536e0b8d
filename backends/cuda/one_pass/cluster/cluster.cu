// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.cuh"

#include <algorithm>
#include <cmath>

#include "../../common/batch_launch.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/resident_clusters.hpp"
#include "../../common/this_module.cuh"
#include "launch.hpp"

namespace ktopk::detail::cuda {

namespace {

template <class Bits, class CompositeKey, int Vectors>
__global__ void __launch_bounds__(cluster_tuning.threads, 2)
    select_in_clusters(__grid_constant__ Batch<Bits, CompositeKey> const batch) {
  ClusterSelection<Bits, CompositeKey, Vectors> const selection(batch);
  selection.init();
  unsigned turn = 0;
  for (std::int64_t row = blockIdx.x / batch.parts; row < batch.problem.shape.rows;
       row += gridDim.x / batch.parts) {
    selection.run(row, turn);
    turn ^= 1;
    __syncthreads();
  }
}

// ---- host side

/// How many 16-byte vectors a thread loads together; a batch has no more keys than a word has bits.
template <class Bits>
constexpr int vectors_of(int bytes) {
  return std::min(bytes / 16, 2 * static_cast<int>(sizeof(Bits)));
}

/// How many blocks share a row, such that the device holds the clusters of all rows at once. Two blocks may share a
/// processor, which slows those of narrow keys, for these take more instructions a byte.
int parts_of(Shape const& shape, int device) {
  std::int64_t const most = shape.n / cluster_tuning.least_part;
  if (shape.key_bytes < 4 && shape.k < cluster_tuning.many_selected)
    return most_parts_of<load_this_module>(device, shape.rows, most);
  int parts = 1;
  while (parts < tuning.most_parts && shape.rows * parts * 2 <= processors(device) &&
         parts * 2 <= most)
    parts *= 2;
  return parts;
}

/// In how many batches of loads the blocks read a row.
std::int64_t batches_of(Shape const& shape, int parts, int bytes) {
  std::int64_t const batch = std::int64_t{parts} * cluster_tuning.threads * bytes;
  return (shape.n * shape.key_bytes + batch - 1) / batch;
}

bool is_short(Shape const& shape, int parts) {
  return batches_of(shape, parts, cluster_tuning.bytes_of_short) <= 1;
}

int bytes_in_flight(Shape const& shape, int parts) {
  int const most =
      is_short(shape, parts) ? cluster_tuning.bytes_of_short : cluster_tuning.bytes_in_flight;
  return std::min(most, 32 * shape.key_bytes);
}

/// Whether a sample of one block's keys gives a threshold, and the keys that reach it fit. \see
/// ClusterSelection::order_of
bool has_threshold(Shape const& shape, int parts) {
  auto const batches = static_cast<double>(batches_of(shape, parts, bytes_in_flight(shape, parts)));
  double const vectors = static_cast<double>(shape.n * shape.key_bytes / 16);
  double const groups = std::min<double>(cluster_tuning.threads, vectors / parts);
  double const selected =
      groups * -std::expm1(-static_cast<double>(shape.k) / (parts * batches * groups));
  double const order = selected + 4 * std::sqrt(selected) + 4;
  double const kept = -groups * std::log1p(-order / groups) * batches;
  return order <= cluster_tuning.most_order * groups && kept <= cluster_tuning.expected;
}

template <class CompositeKey>
int capacity_of_cluster(Shape const& shape) {
  return std::max(cluster_inbox<CompositeKey>, capacity_of(shape, cluster_tuning.threads));
}

template <class CompositeKey>
bool has_room(Shape const& shape) {
  int const composites = capacity_of_cluster<CompositeKey>(shape) + cluster_inbox<CompositeKey>;
  return shared_bytes<CompositeKey>(cluster_tuning.threads, 1, composites,
                                    ordered_of(shape, Sorted::yes)) <= room_for(200);
}

}  // namespace

bool one_pass_cluster_supports(int device, Shape const& shape) {
  if (!has_clusters(device) || !shape.packed || shape.ragged) return false;
  int const parts = parts_of(shape, device);
  if (parts < cluster_tuning.least_parts(shape.k) ||
      batches_of(shape, parts, bytes_in_flight(shape, parts)) > cluster_tuning.most_batches(parts))
    return false;
  return has_threshold(shape, parts) && (shape.key_bytes == 8 ? has_room<CompositeKey128>(shape)
                                                              : has_room<CompositeKey64>(shape));
}

template <class Bits>
void one_pass_cluster(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                      Options const& options) {
  using CompositeKey = CompositeKeyOf<Bits>;
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  Batch<Bits, CompositeKey> batch{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      forced_threshold, options.sorted};
  batch.parts = parts_of(shape, device);
  batch.capacity = capacity_of_cluster<CompositeKey>(shape);
  batch.ordered = ordered_of(shape, options.sorted);
  constexpr int few = vectors_of<Bits>(cluster_tuning.bytes_of_short),
                many = vectors_of<Bits>(cluster_tuning.bytes_in_flight);
  launch(device, stream,
         is_short(shape, batch.parts) ? select_in_clusters<Bits, CompositeKey, few>
                                      : select_in_clusters<Bits, CompositeKey, many>,
         cluster_tuning.threads, shape.rows, batch, cluster_inbox<CompositeKey>);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_cluster(int, cudaStream_t, StoredProblem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
