// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../common/batch_launch.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/this_module.cuh"
#include "warp.cuh"

namespace ktopk::detail::cuda {

namespace {

template <class Selection, bool Clustered, class Bits, class CompositeKey>
__device__ void select_groups(Columns<Bits, CompositeKey> const& columns) {
  Batch<Bits, CompositeKey> const& batch = columns.batch;
  int const parts = Clustered ? batch.parts : 1;
  std::int64_t const groups = (batch.problem.shape.rows + batch.lists - 1) / batch.lists;
  // The shared memory of a block must exist before others write to it, and until they have read it.
  if constexpr (Clustered) cluster_sync();
  for (std::int64_t group = blockIdx.x / parts; group < groups; group += gridDim.x / parts) {
    Selection(columns, group).run();
    if constexpr (Clustered) cluster_sync();
  }
}

template <class Bits, class CompositeKey, bool Clustered>
__global__ void __launch_bounds__(columns_tuning.threads, Clustered ? 1 : columns_tuning.blocks)
    select_by_blocks(__grid_constant__ Columns<Bits, CompositeKey> const columns) {
  select_groups<ColumnsByBlocks<Bits, CompositeKey, Clustered>, Clustered>(columns);
}

template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(columns_tuning.threads, columns_tuning.blocks)
    select_by_warps_of_blocks(__grid_constant__ Columns<Bits, CompositeKey> const columns) {
  select_groups<ColumnsByWarps<Bits, CompositeKey>, false>(columns);
}

// ---- host side

std::int64_t groups_of(Shape const& shape, int lists) { return (shape.rows + lists - 1) / lists; }

/// The composite keys of a row that each of `parts` blocks can keep, of `all`.
int share_of(int all, int parts) {
  if (parts == 1) return all;
  double const mean = static_cast<double>(all) / parts;
  return static_cast<int>(mean + columns_tuning.kept_deviations * std::sqrt(mean)) + 16;
}

template <class Bits, class CompositeKey>
using Kernel = void (*)(Columns<Bits, CompositeKey>);

template <class Bits, class CompositeKey>
class ColumnsLaunch {
 public:
  ColumnsLaunch(int device, StoredProblem<Bits> const& problem, Options const& options)
      : m_device(device),
        m_most_parts(has_clusters(device) ? columns_tuning.most_parts : 1),
        m_columns{
            {problem,
             make_composite_key_map<CompositeKey>(problem.rank, problem.shape.n, options.ties),
             forced_threshold, options.sorted}} {
    m_columns.batch.ordered = ordered_of(problem.shape, options.sorted);
  }

  /// Returns false if it does not serve the shape.
  bool plan() {
    // The ends of tiles, which may be behind the ends of the rows, must be positions of 31 bits too.
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max() - (1 << 18);
    if (shape().packed || shape().ragged || shape().n > longest) return false;
    m_by_warps = sizeof(Bits) <= 4 && plan_warps();
    return m_by_warps || plan_blocks();
  }
  void launch_plan(cudaStream_t stream) {
    if constexpr (sizeof(Bits) <= 4)
      if (m_by_warps) return launch_kernel(stream, select_by_warps_of_blocks<Bits, CompositeKey>);
    launch_kernel(stream, batch().parts == 1 ? select_by_blocks<Bits, CompositeKey, false>
                                             : select_by_blocks<Bits, CompositeKey, true>);
  }

 private:
  Shape const& shape() const { return m_columns.batch.problem.shape; }
  Batch<Bits, CompositeKey>& batch() { return m_columns.batch; }

  // ---- rows finished by warps

  /// How many keys of a row reach its threshold at most, but for a few rows.
  int most_kept() const {
    auto const n = static_cast<double>(shape().n);
    double low = 0, high = 1;  // the chance of a slot to reach the threshold
    for (int i = 0; i < 30; ++i) {
      double const middle = (low + high) / 2;
      (chance_below(m_columns.order, middle) > columns_tuning.unproven_share ? low : high) = middle;
    }
    double const kept = n * (1 - std::pow(1 - high, 1.0 / m_columns.slot_samples));
    return static_cast<int>(std::min(kept + 4 * std::sqrt(kept), n));
  }

  bool plan_warps() {
    if (shape().rows < columns_tuning.rows_for_warps || shape().k > columns_tuning.most_k_of_warp ||
        shape().n > columns_tuning.longest_of_warp)
      return false;
    auto const n = static_cast<double>(shape().n);
    m_columns.slot_samples = std::min(
        {static_cast<int>(columns_tuning.slot_share * n / static_cast<double>(shape().k)),
         static_cast<int>(shape().n / (4 * sample_slots)), columns_tuning.most_slot_samples});
    if (m_columns.slot_samples < 2) return false;
    m_columns.order = slots_to_reach(shape().n, shape().k, m_columns.slot_samples);
    if (m_columns.order > sample_slots) return false;
    m_columns.share = std::max(most_kept(), static_cast<int>(shape().k));
    if (m_columns.share > columns_tuning.kept_by_warp) return false;
    batch().capacity = static_cast<int>(shape().k) + 128;
    batch().parts = 1;
    batch().lists = columns_tuning.most_rows;
    while (batch().lists > columns_tuning.few_rows &&
           groups_of(shape(), batch().lists) * 4 <
               std::int64_t{processors(m_device)} * columns_tuning.blocks * 3)
      batch().lists /= 2;
    std::size_t const lists =
        static_cast<std::size_t>(batch().lists) * m_columns.share * sizeof(CompositeKey);
    std::size_t const samples =
        static_cast<std::size_t>(batch().lists) * (sample_slots + 1) * sizeof(std::uint64_t);
    std::size_t const row =
        shared_bytes<CompositeKey>(columns_tuning.threads, 1, batch().capacity, batch().ordered);
    m_bytes = std::max({lists, samples, row});
    return m_bytes <= room_for(200);
  }

  // ---- rows finished by blocks

  bool fits(int lists, int parts) {
    batch().lists = lists;
    batch().parts = parts;
    m_columns.share = share_of(batch().capacity, parts);
    int const in_gap = ColumnsByBlocks<Bits, CompositeKey, false>::kept_in_gap() / m_columns.share;
    m_bytes =
        shared_bytes<CompositeKey>(columns_tuning.threads, 1, batch().capacity, batch().ordered) +
        static_cast<std::size_t>(std::max(0, lists - in_gap)) * m_columns.share *
            sizeof(CompositeKey);
    return m_bytes <= room_for(224);
  }

  /// About how many cycles it takes if groups have `lists` rows and `parts` blocks.
  double cycles(int lists, int parts) const {
    std::int64_t const together = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(columns_tuning.processors_in_clusters * processors(m_device)) /
               parts);
    auto const turns = static_cast<double>((groups_of(shape(), lists) + together - 1) / together);
    double const bytes = static_cast<double>(shape().n * lists) * sizeof(Bits) / parts;
    double const bytes_a_cycle =
        columns_tuning.bytes_a_cycle *
        std::min(1.0, columns_tuning.share_of_sectors + lists * sizeof(Bits) / columns_tuning.line);
    return turns * (std::max(1, lists / parts) * columns_tuning.row_cycles + bytes / bytes_a_cycle);
  }

  bool plan_blocks() {
    batch().capacity = capacity_of(shape(), columns_tuning.threads);
    int best_lists = 0, best_parts = 1;
    for (int lists = 2; lists <= columns_tuning.most_rows; lists *= 2)
      for (int parts = 1; parts <= m_most_parts; parts *= 2) {
        if (lists / 2 >= shape().rows ||
            (parts > 1 && shape().n < parts * std::int64_t{columns_tuning.least_part}))
          continue;
        if (fits(lists, parts) &&
            (best_lists == 0 || cycles(lists, parts) < cycles(best_lists, best_parts))) {
          best_lists = lists;
          best_parts = parts;
        }
      }
    return best_lists > 0 && fits(best_lists, best_parts);
  }

  void launch_kernel(cudaStream_t stream, Kernel<Bits, CompositeKey> kernel) {
    int const parts = batch().parts;
    launch(m_device, stream, kernel,
           Blocks{columns_tuning.threads, groups_of(shape(), batch().lists), parts, m_bytes},
           m_columns);
  }

  int m_device, m_most_parts;
  Columns<Bits, CompositeKey> m_columns;
  std::size_t m_bytes = 0;
  bool m_by_warps = false;
};

template <class Bits>
bool has_plan(int device, Shape const& shape, Options const& options) {
  auto problem = make_stored_problem<Bits>(shape);
  return ColumnsLaunch<Bits, CompositeKeyOf<Bits>>(device, problem, options).plan();
}

}  // namespace

bool one_pass_columns_supports(int device, Shape const& shape, Options const& options) {
  switch (shape.key_bytes) {
    case 1: return has_plan<std::uint8_t>(device, shape, options);
    case 2: return has_plan<std::uint16_t>(device, shape, options);
    case 4: return has_plan<std::uint32_t>(device, shape, options);
    default: return has_plan<std::uint64_t>(device, shape, options);
  }
}

template <class Bits>
void one_pass_columns(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                      Options const& options) {
  OnDevice const here(device);
  ColumnsLaunch<Bits, CompositeKeyOf<Bits>> launch(device, problem, options);
  launch.plan();
  launch.launch_plan(stream);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_columns(int, cudaStream_t, StoredProblem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
