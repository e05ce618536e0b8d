// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>

#include <ktopk/core/testing.hpp>
#include <ktopk/core/workspace.hpp>

#include "../common/device.hpp"
#include "../common/key_widths.hpp"
#include "../common/this_module.cuh"
#include "../one_pass/block/launch.hpp"
#include "../one_pass/grid/launch.hpp"
#include "../radix/launch.hpp"
#include "build.cuh"
#include "concatenate.cuh"

// Dr. Top-k (Gaihre et al., SC '21). The delegate of a subrange of 2^alpha neighboring keys is its greatest rank.
// build:        one read of the row makes the delegate vector.
// first top-k:  selects the k best delegates. Subranges keep the order of the row, so a tie is decided as in the row.
// concatenate:  lists the keys of their subranges that may be selected, the candidates, in the order of the row.
// second top-k: selects among the candidates. The selected ones are stored as keys and positions of the row.
// Both top-k are the tuned one_pass or radix. A subrange without a chosen delegate holds no selected key, because k
// composite keys are better than its best. So the answer is exact whatever the keys, and at most k subranges have
// candidates.

namespace ktopk::detail::cuda {

namespace {

constexpr DelegateTuning tuning = delegate_tuning;

// ---- the two selections

enum class Selector { one_pass_batch, one_pass, radix };

/// Only one kernel of one_pass, that for batches, takes a row whose length the device alone knows.
Selector selector_of(Shape const& shape) {
  if (one_pass_batch_supports(shape) && (shape.ragged || shape.n < tuning.one_pass_from))
    return Selector::one_pass_batch;
  return one_pass_supports(shape) ? Selector::one_pass : Selector::radix;
}

std::size_t selector_bytes(int concurrency, Shape const& shape, Options const& options) {
  switch (selector_of(shape)) {
    case Selector::one_pass_batch: return 0;
    case Selector::one_pass: return one_pass_workspace_bytes(shape, options);
    default: return radix_workspace_bytes(concurrency, shape, options);
  }
}

template <class Bits>
void select(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
            Options const& options, void* workspace) {
  switch (selector_of(problem.shape)) {
    case Selector::one_pass_batch: return one_pass_batch(device, stream, problem, options);
    case Selector::one_pass: return one_pass(device, stream, problem, options, workspace);
    default: return radix(device, concurrency, stream, problem, options, workspace);
  }
}

// ---- plan and workspace

DelegatePlan plan_of(Shape const& shape) {
  return delegate_plan(shape.n, shape.k, shape.key_bytes, forced_alpha);
}

/// The first selection: from the delegates' ranks; their positions, the subranges, are wanted too.
Shape first_shape(Shape const& shape) {
  return {1, plan_of(shape).subranges, shape.k, shape.key_bytes, sizeof(unsigned)};
}

/// The second selection: from the candidates' ranks; only their positions in the list are wanted.
Shape second_shape(Shape const& shape) {
  Shape second{1, plan_of(shape).candidates(shape.n, shape.k, shape.key_bytes), shape.k,
               shape.key_bytes, sizeof(std::int64_t)};
  second.ragged = true;
  second.k_per_row = shape.k_per_row;
  return second;
}

Options first_options(Options const& options) {
  Options first = options;
  first.sorted = Sorted::no;
  return first;
}

int chunk_words_of(std::int64_t subranges) {
  constexpr std::int64_t words = 32, chunk = words * 32;
  return static_cast<int>((subranges / tuning.most_chunks + chunk) / chunk * words);
}

/// The most blocks that share the concatenation on any device.
constexpr std::int64_t most_blocks = 4096;

template <class Bits>
struct Workspace {
  Workspace(void* workspace, int concurrency, Shape const& shape, Options const& options)
      : layout(workspace) {
    std::int64_t const subranges = plan_of(shape).subranges, k = shape.k;
    std::int64_t const candidates = second_shape(shape).n;
    int const chunk_words = chunk_words_of(subranges);
    std::int64_t const chunks = (subranges + chunk_words * 32 - 1) / (chunk_words * 32);
    lists.delegates = layout.take<Bits>(subranges);
    lists.chosen = layout.take<unsigned>(k);
    lists.chosen_ranks = layout.take<Bits>(k);
    lists.in_order = layout.take<unsigned>(k);
    lists.is_chosen = layout.take<unsigned>(chunks * chunk_words);
    lists.chunk_sums = layout.take<unsigned>(chunks);
    lists.counters = layout.take<DelegateCounters>(1);
    lists.block_sums = layout.take<unsigned long long>(most_blocks);
    lists.candidates = layout.take<Bits>(candidates);
    int const position_bytes = shape.n >> 31 == 0 ? 4 : 8;
    lists.positions = {layout.take<std::byte>(candidates * position_bytes), 1, position_bytes};
    lists.candidate_offsets = layout.take<std::int64_t>(2);
    lists.selected = layout.take<std::int64_t>(k);
    selection = layout.take<std::byte>(static_cast<std::int64_t>(
        std::max(selector_bytes(concurrency, first_shape(shape), first_options(options)),
                 selector_bytes(concurrency, second_shape(shape), options))));
  }

  WorkspaceLayout layout;
  DelegateLists<Bits> lists;
  std::byte* selection;
};

// ---- steps

template <class Bits>
DelegateRow<Bits> row_of(StoredProblem<Bits> const& problem, std::int64_t row,
                         DelegateLists<Bits> const& lists) {
  constexpr std::int64_t width = Vector<Bits>::size;
  Shape const& shape = problem.shape;
  DelegatePlan const plan = plan_of(shape);
  Bits const* const keys = problem.rows.pointer(row);
  auto const misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(keys) % 16);
  std::int64_t const head =
      problem.rows.step == 1 ? (16 - misaligned) % 16 / static_cast<std::int64_t>(sizeof(Bits)) : 0;
  return {problem.rank,
          keys,
          problem.rows.step,
          shape.n,
          shape.k,
          head,
          (shape.n - head) / width,
          plan.subranges,
          plan.alpha - (static_cast<int>(std::bit_width(unsigned{width})) - 1),
          chunk_words_of(plan.subranges),
          lists};
}

template <class Bits, bool Packed>
void build(int device, cudaStream_t stream, DelegateRow<Bits> const& row) {
  std::int64_t const vectors = row.subranges << row.log_vectors;
  std::int64_t const tiles = (vectors + delegate_tile_vectors - 1) / delegate_tile_vectors;
  std::int64_t const most = resident_blocks<build_delegates<Bits, Packed>>(device, tuning.threads);
  build_delegates<Bits, Packed>
      <<<static_cast<unsigned>(std::min(tiles, most)), tuning.threads, 0, stream>>>(row);
  check(cudaGetLastError(), "launch");
}

/// The map for keys that are ranks themselves: the greater is the better.
template <class Bits>
StoredProblem<Bits> rank_problem(Shape const& shape, Bits const* ranks) {
  auto problem = make_stored_problem<Bits>(shape);
  problem.rank = make_ordered_bits_map<Bits>(Options{});
  problem.rows.keys = ranks;
  return problem;
}

template <class Bits>
void select_delegates(int device, int concurrency, cudaStream_t stream,
                      StoredProblem<Bits> const& problem, Options const& options,
                      Workspace<Bits> const& work) {
  auto first = rank_problem<Bits>(first_shape(problem.shape), work.lists.delegates);
  first.out.values = work.lists.chosen_ranks;
  first.out.indices = work.lists.chosen;
  select(device, concurrency, stream, first, first_options(options), work.selection);
}

template <class Bits, bool Packed>
void concatenate_chosen(int device, cudaStream_t stream, DelegateRow<Bits> const& row) {
  std::int64_t const most = resident_blocks<concatenate<Bits, Packed>>(device, tuning.threads);
  std::int64_t const vectors = (row.k + 2) << row.log_vectors;
  std::int64_t const useful = (vectors + tuning.threads - 1) / tuning.threads;
  auto const blocks = static_cast<unsigned>(std::min({useful, most, most_blocks}));
  launch_early(concatenate<Bits, Packed>, {blocks, tuning.threads, stream, true}, row);
}

IntegerArray from(IntegerArray const& array, std::int64_t first) {
  if (!array) return array;
  return {static_cast<std::byte*>(array.data) + first * array.stride * array.bytes, array.stride,
          array.bytes};
}

template <class Bits>
void select_candidates(int device, int concurrency, cudaStream_t stream,
                       StoredProblem<Bits> const& problem, std::int64_t row, Options const& options,
                       Workspace<Bits> const& work) {
  auto second = rank_problem<Bits>(second_shape(problem.shape), work.lists.candidates);
  second.rows.offsets = {work.lists.candidate_offsets, 1, sizeof(std::int64_t)};
  second.out.indices = work.lists.selected;
  second.wanted = from(problem.wanted, row);
  second.counts = from(problem.counts, row);
  select(device, concurrency, stream, second, options, work.selection);
}

template <class Bits>
__global__ void __launch_bounds__(delegate_tuning.threads)
    store_selected(__grid_constant__ StoredProblem<Bits> const problem, std::int64_t row,
                   IntegerArray positions, std::int64_t* selected) {
  wait_for_previous_kernel();
  std::int64_t const slot = std::int64_t{blockIdx.x} * delegate_tuning.threads + threadIdx.x;
  if (slot >= problem.shape.k) return;
  if (slot >= problem.selected_count(row)) return problem.out.store_missing(row, slot);
  std::int64_t const position = positions[selected[slot]];
  problem.out.store(row, slot, problem.rows.pointer(row)[position * problem.rows.step],
                    static_cast<std::uint64_t>(position));
}

template <class Bits>
void select_row(int device, int concurrency, cudaStream_t stream,
                StoredProblem<Bits> const& problem, std::int64_t row, Options const& options,
                Workspace<Bits> const& work) {
  DelegateRow<Bits> const keys = row_of(problem, row, work.lists);
  bool const packed = problem.rows.step == 1;
  packed ? build<Bits, true>(device, stream, keys) : build<Bits, false>(device, stream, keys);
  select_delegates(device, concurrency, stream, problem, options, work);
  packed ? concatenate_chosen<Bits, true>(device, stream, keys)
         : concatenate_chosen<Bits, false>(device, stream, keys);
  select_candidates(device, concurrency, stream, problem, row, options, work);
  auto const blocks =
      static_cast<unsigned>((problem.shape.k + tuning.threads - 1) / tuning.threads);
  launch_early(store_selected<Bits>, {blocks, tuning.threads, stream}, problem, row,
               work.lists.positions, work.lists.selected);
}

}  // namespace

bool delegate_supports(Shape const& shape, Options const& options) {
  if (shape.ragged || options.inner != Algorithm::automatic) return false;
  bool const is_long = shape.n * shape.key_bytes >= tuning.least_long_row;
  if (shape.rows > (is_long ? tuning.most_rows : tuning.most_short_rows)) return false;
  if (shape.n < tuning.least_n) return false;
  if (shape.k > shape.n / tuning.least_ratio) return false;
  std::int64_t const subranges = plan_of(shape).subranges;
  return shape.k <= subranges && subranges >> 32 == 0;
}

std::size_t delegate_workspace_bytes(int concurrency, Shape const& shape, Options const& options) {
  auto const bytes_of = [&]<class Bits>(Bits) {
    return Workspace<Bits>(nullptr, concurrency, shape, options).layout.bytes();
  };
  switch (shape.key_bytes) {
    case 1: return bytes_of(std::uint8_t{});
    case 2: return bytes_of(std::uint16_t{});
    case 4: return bytes_of(std::uint32_t{});
    default: return bytes_of(std::uint64_t{});
  }
}

template <class Bits>
void delegate(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
              Options const& options, void* workspace) {
  OnDevice const here(device);
  Workspace<Bits> const work(workspace, concurrency, problem.shape, options);
  for (std::int64_t row = 0; row < problem.shape.rows; ++row)
    select_row(device, concurrency, stream, problem, row, options, work);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void delegate(int, int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
