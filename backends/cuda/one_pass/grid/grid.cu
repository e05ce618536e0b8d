// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include "../../common/key_widths.hpp"
#include "../../common/sort_rows.cuh"
#include "../../common/this_module.cuh"
#include "run.cuh"

// Keys in memory.

namespace ktopk::detail::cuda {

namespace {

template <class Bits, class CompositeKey>
using StoredWork = grid::Work<StoredRows<Bits>, CompositeKey>;

/// Stores the counts, and fills the slots that a row leaves open.
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(256) store_missing(StoredWork<Bits, CompositeKey> const w) {
  unsigned const row = blockIdx.y;
  std::int64_t const wanted = w.problem.selected_count(row);
  std::int64_t const slot = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (slot == 0 && w.problem.counts) w.problem.counts.store(row, wanted);
  if (slot >= wanted && slot < w.problem.shape.k) w.problem.out.store_missing(row, slot);
}

template <class Bits, class CompositeKey>
std::size_t lay_out_stored(StoredWork<Bits, CompositeKey>& w, void* workspace, Shape const& shape,
                           Options const& options) {
  WorkspaceLayout layout(workspace);
  grid::lay_out(w, layout, shape.rows);
  bool const sorted = options.sorted == Sorted::yes;
  w.selected = sorted ? layout.take<CompositeKey>(shape.rows * shape.k) : nullptr;
  w.spare = sorted && needs_merges<CompositeKey>(shape.k)
                ? layout.take<CompositeKey>(shape.rows * shape.k)
                : nullptr;
  return layout.bytes();
}

template <class Bits, class CompositeKey>
void sort_and_store(cudaStream_t stream, StoredWork<Bits, CompositeKey> const& w) {
  Shape const& shape = w.problem.shape;
  auto const rows = static_cast<unsigned>(shape.rows);
  dim3 const by_slot(grid::blocks_for(shape.k, 256), rows);
  if (shape.k_per_row || w.problem.counts) store_missing<<<by_slot, 256, 0, stream>>>(w);
  if (w.selected != nullptr)
    sort_rows(stream, RowsToSort<Bits, CompositeKey>{w.problem, w.map}, w.selected, w.spare);
}

template <class Bits, class CompositeKey>
void run(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
         Options const& options, void* workspace) {
  Shape const& shape = problem.shape;
  StoredWork<Bits, CompositeKey> w{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      grid::plan_of(shape), forced_threshold};
  lay_out_stored(w, workspace, shape, options);
  grid::enqueue(device, stream, w);
  sort_and_store(stream, w);
  check(cudaGetLastError(), "launch");
}

}  // namespace

/// Whether few enough keys are selected for the threshold that a sample gives.
static bool is_for_sample(Shape const& shape) {
  OnePassPlan const plan = grid::plan_of(shape);
  return plan.order * 2 <= plan.groups;
}

bool one_pass_supports(Shape const& shape) {
  if (shape.ragged || !shape.packed || shape.rows > 64 || shape.n < (1 << 17)) return false;
  return is_for_sample(shape);
}

/// No other kernel serves batches of such keys, so there may be as many rows as the device has processors. Where a mask leaves
/// few keys, many more are examined than are kept: of many rows so many that the portable kernels are faster.
/// \see perf/results/h200-computed-grid.csv
bool one_pass_supports_computed(int device, Shape const& shape) {
  constexpr std::int64_t most_kept_behind_mask = 1 << 19;
  if (shape.ragged || !shape.packed || shape.n < (1 << 17) || shape.n > std::int64_t{1} << 31 ||
      shape.rows > processors(device) || !is_for_sample(shape))
    return false;
  return !shape.masked || shape.rows * grid::plan_of(shape).capacity <= most_kept_behind_mask;
}

std::size_t one_pass_workspace_bytes(Shape const& shape, Options const& options) {
  OnePassPlan const plan = grid::plan_of(shape);
  if (composite_key_bytes(shape.key_bytes, shape.n) == sizeof(CompositeKey64)) {
    StoredWork<std::uint32_t, CompositeKey64> w{};
    w.plan = plan;
    return lay_out_stored(w, nullptr, shape, options);
  }
  StoredWork<std::uint64_t, CompositeKey128> w{};
  w.plan = plan;
  return lay_out_stored(w, nullptr, shape, options);
}

template <class Bits>
void one_pass(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
              Options const& options, void* workspace) {
  OnDevice const here(device);
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    run<Bits, decltype(composite)>(device, stream, problem, options, workspace);
  });
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass(int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
