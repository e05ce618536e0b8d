// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <cooperative_groups.h>

#include <ktopk/core/testing.hpp>

#include "../../common/block.cuh"
#include "../../common/digits.cuh"
#include "../ranges.cuh"
#include "keys.cuh"

// sample: writes the best sample of every group of 32 lanes.
// stream: every block finds the order-th best of the groups, which is the threshold. One read of the input keeps the
//         composite keys that reach it and counts them in a histogram.
// finish: selects what is above the bin of the k-th composite key; one block orders that bin. If the count does not
//         prove that the k best are among the kept, or if the bin is crowded, the same kernel selects by digits, the
//         whole device together. So it is launched cooperatively.
// sort:   if the output is to be sorted.
//
// They are templates over rows: keys in memory, or keys that a caller's functor makes in a file of the caller's.

namespace ktopk::detail::cuda::grid {

template <class CompositeKey>
constexpr int held_composites = tuning.held_bytes / static_cast<int>(sizeof(CompositeKey));
template <class CompositeKey>
constexpr int boundary_composites = tuning.boundary_bytes / static_cast<int>(sizeof(CompositeKey));
static_assert(tuning.kept_alone % tuning.threads == 0);

/// What a call counts for a row, from zero.
struct Counters {
  unsigned long long kept;     // composite keys that reached the threshold, stored or not
  unsigned long long emitted;  // selected keys found
  unsigned settled;            // blocks done with finishing
  unsigned boundary;           // composite keys in the k-th composite key's bin
  unsigned left;               // 1 if all blocks must select from the row together, by digits
  unsigned histogram[tuning.bins];
};

/// The order of the histogram's bins in memory. Neighboring bins, which are hot together, are in different lines of the
/// L2 cache.
struct BinOrder {
  static constexpr unsigned in_line = 128 / sizeof(unsigned);
  static constexpr unsigned lines = tuning.bins / in_line;
  __device__ static unsigned place(unsigned bin) { return bin % lines * in_line + bin / lines; }
  __device__ static unsigned bin_at(unsigned place) {
    return place % in_line * lines + place / in_line;
  }
};

/// The threshold that a composite key must reach to be kept.
template <class CompositeKey>
struct KeptThreshold {
  CompositeKey composite;
  int bin_shift;  // the bin is the distance from the threshold, shifted by this
};

template <class CompositeKey>
struct Row {
  Counters counters;
  KeptThreshold<CompositeKey> threshold;
  unsigned long long digit_counts[3][digits];
};

template <Rows R, class CompositeKey>
struct Work {
  using Bits = typename R::Bits;

  Problem<R> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  OnePassPlan plan;
  Threshold forced;
  Row<CompositeKey>* rows = nullptr;
  CompositeKey* groups = nullptr;  // the best sample of each group
  CompositeKey* kept = nullptr;
  CompositeKey* boundary = nullptr;
  CompositeKey* selected = nullptr;  // only if the output is to be sorted, or rows have gaps
  CompositeKey* spare = nullptr;

  __device__ CompositeKey* row_groups(unsigned row) const { return groups + row * plan.groups; }
  __device__ CompositeKey* row_kept(unsigned row) const { return kept + row * plan.capacity; }
  __device__ CompositeKey* row_boundary(unsigned row) const {
    return boundary + row * std::int64_t{boundary_composites<CompositeKey>};
  }
  __device__ void emit(unsigned row, unsigned long long slot, CompositeKey composite) const {
    auto const at = static_cast<std::int64_t>(slot);
    if (selected != nullptr)
      selected[row * problem.shape.k + at] = composite;
    else
      store(row, at, composite);
  }
  __device__ void store(unsigned row, std::int64_t slot, CompositeKey composite) const {
    auto const position = static_cast<std::int64_t>(map.position(composite));
    Bits const rank = map.ordered_bits_of(composite);
    Bits const key =
        map.rank.has_one_key(rank) ? map.rank.key_of(rank) : keys_of(problem, row)[position];
    problem.out.store(row, slot, key, static_cast<std::uint64_t>(position));
  }
};

// ---- sample

/// The best sample of a thread, of a few neighbors at a scattered place of its stratum. Neighboring strata go to
/// different groups, so that a row whose ranks depend on the position is sampled as well as any.
template <Rows R, class CompositeKey>
__device__ CompositeKey best_sample(Work<R, CompositeKey> const& w, unsigned row,
                                    std::int64_t group) {
  constexpr int neighbors = tuning.neighbors;
  std::int64_t const strata = w.plan.groups * 32;
  auto const stratum = static_cast<std::uint64_t>(w.problem.shape.n / strata);
  auto const s = static_cast<std::uint64_t>(threadIdx.x % 32 * w.plan.groups + group);
  std::uint64_t const place =
      s * stratum + __umul64hi(scatter(s + 0x9e3779b97f4a7c15ull), stratum - neighbors + 1);
  auto const keys = keys_of(w.problem, row);
  CompositeKey best = 0;
  for (int i = 0; i < neighbors; ++i) {
    CompositeKey const composite = composite_of(w.map, keys, static_cast<std::int64_t>(place) + i);
    best = composite > best ? composite : best;
  }
  return best;
}

template <Rows R, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads)
    sample(__grid_constant__ Work<R, CompositeKey> const w) {
  let_next_kernel_start();
  unsigned const row = blockIdx.y;
  unsigned const thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned const threads = gridDim.x * blockDim.x;
  for (unsigned group = thread / 32; group < w.plan.groups; group += threads / 32) {
    CompositeKey const best = warp_max(best_sample(w, row, group));
    if (thread % 32 == 0) w.row_groups(row)[group] = best;
  }
  auto* const counters = reinterpret_cast<unsigned*>(&w.rows[row].counters);
  for (unsigned i = thread; i < sizeof(Counters) / sizeof(unsigned); i += threads) counters[i] = 0;
}

// ---- threshold

/// The bins reach from the threshold to once or twice as far above it as the best sample; further if few keys are
/// selected, because these may be in a tail far above all samples. The last bin has no end.
template <class CompositeKey>
__device__ int shift_for(CompositeKey threshold, CompositeKey best, std::int64_t order) {
  static_assert(tuning.bins == digits);
  int const further = order <= tuning.tail_order ? 3 : order <= tuning.sparse_order ? 1 : 0;
  int const spread = highest_bit(best - threshold) + 1 + further;
  return spread > digit_bits ? spread - digit_bits : 0;
}

/// Finds a composite key at or a little below the order-th best of the groups.
/// \param meanwhile  called when the samples have come
template <Rows R, class CompositeKey, class Meanwhile>
__device__ KeptThreshold<CompositeKey> find_threshold(Work<R, CompositeKey> const& w, unsigned row,
                                                      Meanwhile const& meanwhile) {
  using Steps = Ranges<CompositeKey, tuning.threads, 1>;
  using Share = SampleShare<typename R::Bits, CompositeKey, tuning.threads,
                            OnePassPlan::most_groups / tuning.threads>;
  auto const order = static_cast<int>(w.plan.order);
  Steps::clear();
  Share const share(w.map, w.row_groups(row), static_cast<int>(w.plan.groups));
  auto range = Steps::range_of(share, order);
  // Where rows have gaps, a key has a bit more below its rank than a position.
  if constexpr (R::has_gaps) range.high |= w.map.below_rank();
  meanwhile();
  auto const found = Steps::search([&](auto const& visit) { share.visit(visit); }, order, range, 1,
                                   [](CompositeKey pivot) { return pivot; });
  return {found.low, shift_for(found.low, range.high, w.plan.order)};
}

// ---- stream

/// What a block has found, and the threshold, in shared memory: the stream needs all registers, so what only a hit
/// needs is here.
template <class CompositeKey>
struct Held {
  unsigned count;
  unsigned hits;
  KeptThreshold<CompositeKey> threshold;
  CompositeKey composites[held_composites<CompositeKey>];
  std::int64_t hit_units[tuning.held_hits];
};

template <Rows R, class CompositeKey>
class Keeper {
 public:
  __device__ Keeper(Work<R, CompositeKey> const& work, unsigned row, Held<CompositeKey>& held)
      : m_work(work), m_row(row), m_held(held) {}

  /// \param keys  the row's
  template <class Keys>
  __device__ void offer(Keys const& keys, std::int64_t position) {
    CompositeKey const composite = composite_of(m_work.map, keys, position);
    KeptThreshold<CompositeKey> const& threshold = m_held.threshold;
    if (composite < threshold.composite) return;
    CompositeKey const bin = (composite - threshold.composite) >> threshold.bin_shift;
    unsigned const last = tuning.bins - 1;
    atomicAdd(
        &counters().histogram[BinOrder::place(bin < last ? static_cast<unsigned>(bin) : last)], 1u);
    unsigned const slot = claim(&m_held.count);
    if (slot < held_composites<CompositeKey>)
      m_held.composites[slot] = composite;
    else
      keep(claim(&counters().kept), composite);
  }

  /// Writes the composite keys that the block has gathered; all its threads call it.
  __device__ void flush() {
    __shared__ unsigned long long base;
    __syncthreads();
    unsigned const count =
        m_held.count < held_composites<CompositeKey> ? m_held.count : held_composites<CompositeKey>;
    if (threadIdx.x == 0)
      base = atomicAdd(&counters().kept, static_cast<unsigned long long>(count));
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) keep(base + i, m_held.composites[i]);
  }

 private:
  __device__ Counters& counters() const { return m_work.rows[m_row].counters; }
  __device__ void keep(unsigned long long slot, CompositeKey composite) {
    if (slot < static_cast<unsigned long long>(m_work.plan.capacity))
      m_work.row_kept(m_row)[slot] = composite;
  }

  Work<R, CompositeKey> const& m_work;
  unsigned m_row;
  Held<CompositeKey>& m_held;
};

/// Notes the units in which a key passes. The block examines them after it has read its share, because a warp that
/// examined one at once would have no load in flight meanwhile. It reads the keys again, because the stream needs the
/// registers that could hold them. Only units that the notes cannot hold are examined at once.
template <Rows R, class CompositeKey>
__device__ void note_hits(Stream<R> const& row, std::int64_t first, unsigned hits,
                          Held<CompositeKey>& held, Keeper<R, CompositeKey>& keeper) {
#pragma unroll 1
  for (; hits != 0; hits &= hits - 1) {
    std::int64_t const unit = Stream<R>::Share::place(first, __ffs(static_cast<int>(hits)) - 1);
    if (unit >= row.units()) return;
    unsigned const slot = claim(&held.hits);
    if (slot < tuning.held_hits) {
      held.hit_units[slot] = unit;
      continue;
    }
#pragma unroll 1
    for (int i = 0; i < Stream<R>::width; ++i) keeper.offer(row.keys(), row.position(unit) + i);
  }
}

/// Offers the keys of the noted units to the keeper; all threads of the block call it.
template <Rows R, class CompositeKey>
__device__ void offer_noted(Stream<R> const& row, Held<CompositeKey>& held,
                            Keeper<R, CompositeKey>& keeper) {
  constexpr unsigned width = Stream<R>::width;
  __syncthreads();
  unsigned const noted = min(held.hits, static_cast<unsigned>(tuning.held_hits));
  for (unsigned i = threadIdx.x; i < noted * width; i += blockDim.x)
    keeper.offer(row.keys(), row.position(held.hit_units[i / width]) + i % width);
}

template <bool NanWins, Rows R, class CompositeKey>
__device__ void stream_row(Work<R, CompositeKey> const& w, Stream<R> const& row,
                           Held<CompositeKey>& held, Keeper<R, CompositeKey>& keeper) {
  using Bits = typename R::Bits;
  using Share = typename Stream<R>::Share;
  CompositeKey const threshold = held.threshold.composite;
  Bits const least = w.map.ordered_bits_of(threshold);
  QuickTest<Bits> const tie_test(w.map.rank, least);
  QuickTest<Bits> const test(w.map.rank, static_cast<Bits>(least + 1));
  NanTest<Bits> const nan_test(w.map.rank);
  bool const ties_only = least == std::numeric_limits<Bits>::max();
  auto positions = w.map;
  if constexpr (R::has_gaps) positions.flip &= positions.position_mask;  // without that bit
  TieCut<CompositeKey> const ties(positions, threshold);
  // A threshold may lack the bit that tells keys from gaps.
  bool const all_ties = R::has_gaps && w.map.is_gap(threshold);
  std::int64_t const units = row.units();
  for (std::int64_t first = blockIdx.x * std::int64_t{Share::size}; first < units;
       first += gridDim.x * std::int64_t{Share::size}) {
    bool const tie = all_ties || ties.in(row.position(first), row.position(first + Share::size));
    if (!tie && ties_only) continue;
    auto const quick = QuickTest<Bits>::either(tie, tie_test, test);
    Share share;
    row.load(share, first);
    unsigned const hits = row.template hits<NanWins>(share, first, quick, nan_test);
    if (hits != 0) note_hits<R>(row, first, hits, held, keeper);
    __syncwarp();  // without it a warp that had a hit may stay diverged, at half the speed
  }
}

/// Offers the keys before and behind the units.
template <Rows R, class CompositeKey>
__device__ void offer_ends(Work<R, CompositeKey> const& w, Stream<R> const& row,
                           Keeper<R, CompositeKey>& keeper) {
  for (std::int64_t i = threadIdx.x; i < row.position(0); i += blockDim.x)
    keeper.offer(row.keys(), i);
  for (std::int64_t i = row.position(row.units()) + threadIdx.x; i < w.problem.shape.n;
       i += blockDim.x)
    keeper.offer(row.keys(), i);
}

/// Whether gaps reach a threshold, which need not be a composite key.
template <class Bits, class CompositeKey>
__device__ bool gaps_reach(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold) {
  return threshold <= map.position_mask;
}

/// Offers all keys that there are of a row whose gaps reach the threshold: the keys do, too.
template <Rows R, class CompositeKey>
__device__ void offer_present(Work<R, CompositeKey> const& w, Stream<R> const& row,
                              Keeper<R, CompositeKey>& keeper) {
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < w.problem.shape.n;
       i += step)
    if (row.keys().holds(i)) keeper.offer(row.keys(), i);
}

template <Rows R, class CompositeKey>
__device__ void keep_reaching(Work<R, CompositeKey> const& w, Stream<R> const& row,
                              Held<CompositeKey>& held, Keeper<R, CompositeKey>& keeper) {
  if constexpr (R::has_gaps)
    if (gaps_reach(w.map, held.threshold.composite)) return offer_present(w, row, keeper);
  if (w.map.rank.magnitude != 0 && w.map.rank.ordered_nan != 0)
    stream_row<true>(w, row, held, keeper);
  else
    stream_row<false>(w, row, held, keeper);
  offer_noted<R>(row, held, keeper);
  if (blockIdx.x == 0) offer_ends(w, row, keeper);
}

template <Rows R, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads, tuning.stream_blocks)
    stream(__grid_constant__ Work<R, CompositeKey> const w) {
  let_next_kernel_start();
  __shared__ Held<CompositeKey> held;
  unsigned const y = blockIdx.y;
  Stream<R> const row(w.problem, y);
  row.prefetch_shares(0, tuning.early_tiles);
  if (threadIdx.x == 0) held.count = held.hits = 0;
  wait_for_previous_kernel();
  KeptThreshold<CompositeKey> threshold = find_threshold(
      w, y, [&] { row.prefetch_shares(tuning.early_tiles, tuning.prefetched_tiles); });
  if (w.forced == Threshold::too_high) threshold = {static_cast<CompositeKey>(~CompositeKey{0}), 0};
  if (w.forced == Threshold::too_low) threshold.composite = 0;
  if (threadIdx.x == 0) held.threshold = threshold;
  if (blockIdx.x == 0 && threadIdx.x == 0) w.rows[y].threshold = threshold;
  __syncthreads();
  Keeper<R, CompositeKey> keeper(w, y, held);
  keep_reaching(w, row, held, keeper);
  keeper.flush();
}

// ---- finish

template <Rows R, class CompositeKey>
__device__ bool proven(Work<R, CompositeKey> const& w, unsigned row, std::int64_t k) {
  auto const kept = static_cast<std::int64_t>(w.rows[row].counters.kept);
  return w.forced != Threshold::too_low && kept >= k && kept <= w.plan.capacity;
}

/// How many keys are selected, without gaps. If gaps reach the threshold, all keys that there are were kept.
template <Rows R, class CompositeKey>
__device__ std::int64_t selected_keys(Work<R, CompositeKey> const& w, unsigned row) {
  std::int64_t const wanted = w.problem.selected_count(row);
  if constexpr (R::has_gaps) {
    Row<CompositeKey> const& state = w.rows[row];
    auto const kept = static_cast<std::int64_t>(state.counters.kept);
    bool const are_all = gaps_reach(w.map, state.threshold.composite) && kept <= w.plan.capacity &&
                         w.forced != Threshold::too_low;
    if (are_all && kept < wanted) return kept;
  }
  return wanted;
}

/// Lists a gap for each key that a row lacks.
template <Rows R, class CompositeKey>
__device__ void list_gaps(Work<R, CompositeKey> const& w, unsigned row, std::int64_t keys) {
  std::int64_t const end = w.problem.selected_count(row);
  std::int64_t const step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t slot = keys + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; slot < end;
       slot += step)
    w.emit(row, static_cast<unsigned long long>(slot), w.map.gap(static_cast<std::uint64_t>(slot)));
}

/// Selects from the bin of the k-th composite key: counts for each composite key in it how many are better. If they are
/// few, several threads count for each.
template <Rows R, class CompositeKey>
__device__ void settle_boundary(Work<R, CompositeKey> const& w, unsigned row, Place const& place,
                                std::int64_t k, CompositeKey const* composites) {
  int const count = static_cast<int>(place.here);
  auto const wanted = static_cast<int>(static_cast<unsigned long long>(k) - place.above);
  int const slices = count <= tuning.threads / 4 ? 4 : count <= tuning.threads / 2 ? 2 : 1;
  for (int first = 0; first < count; first += tuning.threads / slices) {
    int const i = first + static_cast<int>(threadIdx.x) / slices;
    CompositeKey const composite = i < count ? composites[i] : CompositeKey{0};
    int better = 0;
    for (int j = static_cast<int>(threadIdx.x) % slices; j < count; j += slices)
      better += composites[j] > composite;
    for (int mask = slices / 2; mask > 0; mask /= 2)
      better += __shfl_xor_sync(full_warp, better, mask);
    bool const mine = i < count && static_cast<int>(threadIdx.x) % slices == 0;
    if (mine && better < wanted)
      w.emit(row, place.above + static_cast<unsigned>(better), composite);
  }
}

/// The bin of a kept composite key.
template <class CompositeKey>
__device__ int bin_of(KeptThreshold<CompositeKey> const& threshold, CompositeKey composite) {
  CompositeKey const spread = (composite - threshold.composite) >> threshold.bin_shift;
  return spread < tuning.bins - 1 ? static_cast<int>(spread) : tuning.bins - 1;
}

/// Selects from so few kept composite keys that to agree with other blocks would take longer.
template <Rows R, class CompositeKey>
__device__ void finish_alone(Work<R, CompositeKey> const& w, unsigned row, Place const& place,
                             std::int64_t k, CompositeKey* boundary) {
  constexpr int each = tuning.kept_alone / tuning.threads;
  __shared__ unsigned emitted, at_boundary;
  if (threadIdx.x == 0) emitted = at_boundary = 0;
  auto const kept = static_cast<int>(w.rows[row].counters.kept);
  KeptThreshold<CompositeKey> const threshold = w.rows[row].threshold;
  CompositeKey composites[each];
#pragma unroll
  for (int e = 0; e < each; ++e) {
    int const i = e * tuning.threads + static_cast<int>(threadIdx.x);
    composites[e] = i < kept ? w.row_kept(row)[i] : CompositeKey{0};
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < each; ++e) {
    if (e * tuning.threads + static_cast<int>(threadIdx.x) >= kept) break;
    int const bin = bin_of(threshold, composites[e]);
    if (bin > place.bin) w.emit(row, claim(&emitted), composites[e]);
    if (bin == place.bin) boundary[claim(&at_boundary)] = composites[e];
  }
  __syncthreads();
  settle_boundary(w, row, place, k, boundary);
}

template <Rows R, class CompositeKey>
__device__ void finish_kept(Work<R, CompositeKey> const& w, unsigned row, Place const& place,
                            std::int64_t k) {
  __shared__ CompositeKey boundary[boundary_composites<CompositeKey>];
  Row<CompositeKey>& state = w.rows[row];
  auto const kept = static_cast<std::int64_t>(state.counters.kept);
  if (kept <= tuning.kept_alone) {
    if (blockIdx.x == 0) finish_alone(w, row, place, k, boundary);
    return;
  }
  CompositeKey const* const composites = w.row_kept(row);
  KeptThreshold<CompositeKey> const threshold = state.threshold;
  auto const blocks = static_cast<unsigned>(
      min((kept + tuning.threads - 1) / tuning.threads, static_cast<std::int64_t>(gridDim.x)));
  if (blockIdx.x >= blocks) return;
  std::int64_t const stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x; first < kept; first += stride) {
    std::int64_t const i = first + threadIdx.x;
    CompositeKey const composite = i < kept ? composites[i] : CompositeKey{0};
    int const bin = i < kept ? bin_of(threshold, composite) : -1;
    unsigned long long const slot = block_claim(&state.counters.emitted, bin > place.bin);
    if (bin > place.bin) w.emit(row, slot, composite);
    if (bin == place.bin) w.row_boundary(row)[claim(&state.counters.boundary)] = composite;
  }
  if (!last_block(&state.counters.settled, blocks)) return;
  for (unsigned i = threadIdx.x; i < place.here; i += blockDim.x)
    boundary[i] = w.row_boundary(row)[i];
  __syncthreads();
  settle_boundary(w, row, place, k, boundary);
}

/// Radix selection by all blocks together, among the composite keys read(0) ... read(size - 1).
template <Rows R, class CompositeKey, class Read>
__device__ void select_by_digits(Work<R, CompositeKey> const& w, unsigned row, std::int64_t size,
                                 std::int64_t k, Read const& read) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  __shared__ unsigned histogram[digits];
  Row<CompositeKey>& state = w.rows[row];
  std::int64_t const thread = static_cast<std::int64_t>(grid.thread_rank());
  std::int64_t const threads = static_cast<std::int64_t>(grid.num_threads());
  for (std::int64_t i = thread; i < digits; i += threads) state.digit_counts[0][i] = 0;
  grid.sync();
  Digit<CompositeKey> digit(0, w.map.width());
  auto need = static_cast<unsigned long long>(k);
  for (int pass = 0; digit.high > 0; ++pass) {
    for (std::int64_t i = thread; i < digits; i += threads)
      state.digit_counts[(pass + 1) % 3][i] = 0;
    digit.count(histogram, [&](auto const& visit) {
      for (std::int64_t i = thread; i < size; i += threads) visit(read(i));
    });
    unsigned long long* const merged = state.digit_counts[pass % 3];
    for (int i = threadIdx.x; i < digits; i += blockDim.x)
      if (histogram[i] != 0) atomicAdd(&merged[i], static_cast<unsigned long long>(histogram[i]));
    grid.sync();
    Place const place =
        block_find<digits, tuning.threads>(need, [&](int bin) { return merged[bin]; });
    need -= place.above;
    digit = digit.next(place.bin);
    if (need == place.here) break;
  }
  CompositeKey const threshold = digit.least();
  for (std::int64_t i = thread; i < size; i += threads) {
    CompositeKey const composite = read(i);
    if (composite >= threshold) w.emit(row, claim(&state.counters.emitted), composite);
  }
}

/// Whether the kept composite keys prove the row, and whether finish_kept can select from them.
struct Outlook {
  bool kept_suffice;
  bool quick;
  Place place;
};

template <Rows R, class CompositeKey>
__device__ Outlook look_at(Work<R, CompositeKey> const& w, unsigned row, std::int64_t k) {
  constexpr int each = tuning.bins / tuning.threads;
  __shared__ unsigned counts[tuning.bins + BinOrder::in_line];
  // Padded against bank conflicts.
  auto const padded = [](unsigned bin) { return bin + bin / BinOrder::lines; };
  auto const place_of = [](int i) { return i * tuning.threads + threadIdx.x; };
  unsigned mine[each];
#pragma unroll
  for (int i = 0; i < each; ++i) mine[i] = w.rows[row].counters.histogram[place_of(i)];
  if (!proven(w, row, k)) return {false, false, {}};
#pragma unroll
  for (int i = 0; i < each; ++i) counts[padded(BinOrder::bin_at(place_of(i)))] = mine[i];
  __syncthreads();
  Place const place = block_find<tuning.bins, tuning.threads>(
      static_cast<unsigned long long>(k),
      [&](int bin) { return counts[padded(static_cast<unsigned>(bin))]; });
  return {true, place.here <= boundary_composites<CompositeKey>, place};
}

/// Whether a row is left for all blocks, which looks at all rows at once.
template <Rows R, class CompositeKey>
__device__ bool is_any_left(Work<R, CompositeKey> const& w) {
  cooperative_groups::this_grid().sync();
  bool is_left = false;
  for (unsigned row = threadIdx.x; row < gridDim.y; row += blockDim.x)
    is_left = is_left || w.rows[row].counters.left != 0;
  return __syncthreads_or(is_left) != 0;
}

template <Rows R, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads)
    finish(__grid_constant__ Work<R, CompositeKey> const w) {
  wait_for_previous_kernel();
  unsigned const mine = blockIdx.y;
  std::int64_t const wanted = selected_keys(w, mine);
  if constexpr (R::has_gaps) list_gaps(w, mine, wanted);
  if (wanted > 0) {
    Outlook const outlook = look_at(w, mine, wanted);
    if (outlook.quick) finish_kept(w, mine, outlook.place, wanted);
    if (outlook.quick && gridDim.y == 1) return;
    if (!outlook.quick && blockIdx.x == 0 && threadIdx.x == 0) w.rows[mine].counters.left = 1;
  }
  if (!is_any_left(w)) return;
  for (unsigned row = 0; row < gridDim.y; ++row) {
    if (w.rows[row].counters.left == 0) continue;
    std::int64_t const k = selected_keys(w, row);
    Outlook const outlook = look_at(w, row, k);
    if (outlook.kept_suffice) {
      CompositeKey const* const kept = w.row_kept(row);
      select_by_digits(w, row, static_cast<std::int64_t>(w.rows[row].counters.kept), k,
                       [&](std::int64_t i) { return kept[i]; });
    } else {
      auto const keys = keys_of(w.problem, row);
      select_by_digits(w, row, w.problem.shape.n, k,
                       [&](std::int64_t i) { return composite_of(w.map, keys, i); });
    }
  }
}

}  // namespace ktopk::detail::cuda::grid
