// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <limits>

#include <cooperative_groups.h>

#include <ktopk/core/testing.hpp>
#include <ktopk/core/workspace.hpp>

#include "../../common/block.cuh"
#include "../../common/device.hpp"
#include "../../common/digits.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/sort_rows.cuh"
#include "../../common/stream.cuh"
#include "../../common/this_module.cuh"
#include "../ranges.cuh"
#include "tuning.hpp"

// sample: writes the best sample of every group of 32 lanes.
// stream: every block finds the order-th best of the groups, which is the threshold. One read of the input keeps the
//         composite keys that reach it and counts them in a histogram.
// finish: selects what is above the bin of the k-th composite key; one block orders that bin. If the count does not
//         prove that the k best are among the kept, or if the bin is crowded, the same kernel selects by digits, the
//         whole device together. So it is launched cooperatively.
// sort:   if the output is to be sorted.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassTuning tuning = one_pass_tuning;
template <class CompositeKey>
constexpr int held_composites = tuning.held_bytes / static_cast<int>(sizeof(CompositeKey));
template <class CompositeKey>
constexpr int boundary_composites = tuning.boundary_bytes / static_cast<int>(sizeof(CompositeKey));
static_assert(tuning.kept_alone % tuning.threads == 0);
template <class Bits>
using RowTile = Tile<Bits, tuning.threads, tuning.vectors_in_flight>;

/// What a call counts for a row, from zero.
struct Counters {
  unsigned long long kept;     // composite keys that reached the threshold, stored or not
  unsigned long long emitted;  // selected keys found
  unsigned settled;            // blocks done with finishing
  unsigned boundary;           // composite keys in the k-th composite key's bin
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

template <class Bits, class CompositeKey>
struct Work {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  OnePassPlan plan;
  Threshold forced;
  Row<CompositeKey>* rows = nullptr;
  CompositeKey* groups = nullptr;  // the best sample of each group
  CompositeKey* kept = nullptr;
  CompositeKey* boundary = nullptr;
  CompositeKey* selected = nullptr;  // only if the output is to be sorted
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
    std::uint64_t const position = map.position(composite);
    Bits const rank = map.ordered_bits_of(composite);
    Bits const key =
        map.rank.has_one_key(rank) ? map.rank.key_of(rank) : problem.rows.pointer(row)[position];
    problem.out.store(row, slot, key, position);
  }
};

// ---- sample

/// The best sample of a thread, of a few neighbors at a scattered place of its stratum. Neighboring strata go to
/// different groups, so that a row whose ranks depend on the position is sampled as well as any.
template <class Bits, class CompositeKey>
__device__ CompositeKey best_sample(Work<Bits, CompositeKey> const& w, unsigned row,
                                    std::int64_t group) {
  constexpr int neighbors = tuning.neighbors;
  std::int64_t const strata = w.plan.groups * 32;
  auto const stratum = static_cast<std::uint64_t>(w.problem.shape.n / strata);
  auto const s = static_cast<std::uint64_t>(threadIdx.x % 32 * w.plan.groups + group);
  std::uint64_t const place =
      s * stratum + __umul64hi(scatter(s + 0x9e3779b97f4a7c15ull), stratum - neighbors + 1);
  Bits const* const keys = w.problem.rows.pointer(row) + place;
  CompositeKey best = 0;
  for (int i = 0; i < neighbors; ++i) {
    CompositeKey const composite = w.map(__ldg(keys + i), place + static_cast<unsigned>(i));
    best = composite > best ? composite : best;
  }
  return best;
}

template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads) sample(Work<Bits, CompositeKey> const w) {
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
template <class Bits, class CompositeKey, class Meanwhile>
__device__ KeptThreshold<CompositeKey> find_threshold(Work<Bits, CompositeKey> const& w,
                                                      unsigned row, Meanwhile const& meanwhile) {
  using Steps = Ranges<CompositeKey, tuning.threads, 1>;
  using Share =
      SampleShare<Bits, CompositeKey, tuning.threads, OnePassPlan::most_groups / tuning.threads>;
  auto const order = static_cast<int>(w.plan.order);
  Steps::clear();
  Share const share(w.map, w.row_groups(row), static_cast<int>(w.plan.groups));
  auto const range = Steps::range_of(share, order);
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
  std::int64_t hit_vectors[tuning.held_hits];
};

template <class Bits, class CompositeKey>
class Keeper {
 public:
  __device__ Keeper(Work<Bits, CompositeKey> const& work, unsigned row, Held<CompositeKey>& held)
      : m_work(work), m_row(row), m_held(held) {}

  __device__ void offer(Bits key, std::int64_t position) {
    CompositeKey const composite = m_work.map(key, static_cast<std::uint64_t>(position));
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

  Work<Bits, CompositeKey> const& m_work;
  unsigned m_row;
  Held<CompositeKey>& m_held;
};

/// Notes the vectors in which a key passes. The block examines them after it has read its share, because a warp that
/// examined one at once would have no load in flight meanwhile. It reads the keys again, because the stream needs the
/// registers that could hold them. Only vectors that the notes cannot hold are examined at once.
template <class Bits, class CompositeKey>
__device__ void note_hits(AlignedRow<Bits> const& row, std::int64_t first, unsigned hits,
                          Held<CompositeKey>& held, Keeper<Bits, CompositeKey>& keeper) {
  constexpr int width = Vector<Bits>::size;
#pragma unroll 1
  for (; hits != 0; hits &= hits - 1) {
    std::int64_t const vector = RowTile<Bits>::place(first, __ffs(static_cast<int>(hits)) - 1);
    if (vector >= row.vectors) return;
    unsigned const slot = claim(&held.hits);
    if (slot < tuning.held_hits) {
      held.hit_vectors[slot] = vector;
      continue;
    }
#pragma unroll 1
    for (std::int64_t i = vector * width; i < (vector + 1) * width; ++i)
      keeper.offer(row.keys[i], row.head + i);
  }
}

/// Offers the keys of the noted vectors to the keeper; all threads of the block call it.
template <class Bits, class CompositeKey>
__device__ void offer_noted(AlignedRow<Bits> const& row, Held<CompositeKey>& held,
                            Keeper<Bits, CompositeKey>& keeper) {
  constexpr unsigned width = Vector<Bits>::size;
  __syncthreads();
  unsigned const noted = min(held.hits, static_cast<unsigned>(tuning.held_hits));
  for (unsigned i = threadIdx.x; i < noted * width; i += blockDim.x) {
    std::int64_t const place = held.hit_vectors[i / width] * width + i % width;
    keeper.offer(row.keys[place], row.head + place);
  }
}

template <bool NanWins, class Bits, class CompositeKey>
__device__ void stream_row(Work<Bits, CompositeKey> const& w, AlignedRow<Bits> const& row,
                           Held<CompositeKey>& held, Keeper<Bits, CompositeKey>& keeper) {
  constexpr std::int64_t size = RowTile<Bits>::size;
  constexpr int width = RowTile<Bits>::width;
  CompositeKey const threshold = held.threshold.composite;
  Bits const least = w.map.ordered_bits_of(threshold);
  QuickTest<Bits> const tie_test(w.map.rank, least);
  QuickTest<Bits> const test(w.map.rank, static_cast<Bits>(least + 1));
  NanTest<Bits> const nan_test(w.map.rank);
  bool const ties_only = least == std::numeric_limits<Bits>::max();
  TieCut<CompositeKey> const ties(w.map, threshold);
  for (std::int64_t first = blockIdx.x * size; first < row.vectors; first += gridDim.x * size) {
    bool const tie = ties.in(row.head + first * width, row.head + (first + size) * width);
    if (!tie && ties_only) continue;
    auto const quick = QuickTest<Bits>::either(tie, tie_test, test);
    RowTile<Bits> tile;
    tile.load(row.keys, first, row.vectors);
    unsigned const hits = tile.template hits<NanWins>(quick, nan_test);
    if (hits != 0) note_hits(row, first, hits, held, keeper);
    __syncwarp();  // without it a warp that had a hit may stay diverged, at half the speed
  }
}

/// Offers the keys before and behind the vectors.
template <class Bits, class CompositeKey>
__device__ void offer_ends(Work<Bits, CompositeKey> const& w, AlignedRow<Bits> const& row,
                           Keeper<Bits, CompositeKey>& keeper) {
  Bits const* const keys = row.keys - row.head;
  std::int64_t const tail = row.head + row.vectors * AlignedRow<Bits>::width;
  for (std::int64_t i = threadIdx.x; i < row.head; i += blockDim.x) keeper.offer(keys[i], i);
  for (std::int64_t i = tail + threadIdx.x; i < w.problem.shape.n; i += blockDim.x)
    keeper.offer(keys[i], i);
}

/// Prefetches some of a block's tiles to L2.
template <class Bits>
__device__ void prefetch_tiles(AlignedRow<Bits> const& row, int begin, int end) {
  constexpr int line = 128 / 16;
  if (threadIdx.x % line != 0) return;
  for (int t = begin; t < end; ++t) {
    std::int64_t const first = (blockIdx.x + std::int64_t{t} * gridDim.x) * RowTile<Bits>::size;
    if (first + RowTile<Bits>::size > row.vectors) return;
    for (int v = 0; v < RowTile<Bits>::in_flight; ++v)
      prefetch(row.keys + RowTile<Bits>::place(first, v) * RowTile<Bits>::width);
  }
}

template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads, tuning.stream_blocks)
    stream(Work<Bits, CompositeKey> const w) {
  let_next_kernel_start();
  __shared__ Held<CompositeKey> held;
  unsigned const y = blockIdx.y;
  AlignedRow<Bits> const row(w.problem.rows.pointer(y), w.problem.shape.n);
  prefetch_tiles(row, 0, tuning.early_tiles);
  if (threadIdx.x == 0) held.count = held.hits = 0;
  wait_for_previous_kernel();
  KeptThreshold<CompositeKey> threshold = find_threshold(
      w, y, [&] { prefetch_tiles(row, tuning.early_tiles, tuning.prefetched_tiles); });
  if (w.forced == Threshold::too_high) threshold = {static_cast<CompositeKey>(~CompositeKey{0}), 0};
  if (w.forced == Threshold::too_low) threshold.composite = 0;
  if (threadIdx.x == 0) held.threshold = threshold;
  if (blockIdx.x == 0 && threadIdx.x == 0) w.rows[y].threshold = threshold;
  __syncthreads();
  Keeper<Bits, CompositeKey> keeper(w, y, held);
  if (w.map.rank.magnitude != 0 && w.map.rank.ordered_nan != 0)
    stream_row<true>(w, row, held, keeper);
  else
    stream_row<false>(w, row, held, keeper);
  offer_noted(row, held, keeper);
  if (blockIdx.x == 0) offer_ends(w, row, keeper);
  keeper.flush();
}

// ---- finish

template <class Bits, class CompositeKey>
__device__ bool proven(Work<Bits, CompositeKey> const& w, unsigned row, std::int64_t k) {
  auto const kept = static_cast<std::int64_t>(w.rows[row].counters.kept);
  return w.forced != Threshold::too_low && kept >= k && kept <= w.plan.capacity;
}

/// Selects from the bin of the k-th composite key: counts for each composite key in it how many are better. If they are
/// few, several threads count for each.
template <class Bits, class CompositeKey>
__device__ void settle_boundary(Work<Bits, CompositeKey> const& w, unsigned row, Place const& place,
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
template <class Bits, class CompositeKey>
__device__ void finish_alone(Work<Bits, CompositeKey> const& w, unsigned row, Place const& place,
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

template <class Bits, class CompositeKey>
__device__ void finish_kept(Work<Bits, CompositeKey> const& w, unsigned row, Place const& place,
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
template <class Bits, class CompositeKey, class Read>
__device__ void select_by_digits(Work<Bits, CompositeKey> const& w, unsigned row, std::int64_t size,
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

template <class Bits, class CompositeKey>
__device__ Outlook look_at(Work<Bits, CompositeKey> const& w, unsigned row, std::int64_t k) {
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

template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(tuning.threads) finish(Work<Bits, CompositeKey> const w) {
  wait_for_previous_kernel();
  unsigned const mine = blockIdx.y;
  std::int64_t const wanted = w.problem.selected_count(mine);
  if (wanted > 0) {
    Outlook const outlook = look_at(w, mine, wanted);
    if (outlook.quick) finish_kept(w, mine, outlook.place, wanted);
    if (outlook.quick && gridDim.y == 1) return;
  }
  for (unsigned row = 0; row < gridDim.y; ++row) {
    std::int64_t const k = w.problem.selected_count(row);
    if (k == 0) continue;
    Outlook const outlook = look_at(w, row, k);
    if (outlook.quick) continue;
    if (outlook.kept_suffice) {
      CompositeKey const* const kept = w.row_kept(row);
      select_by_digits(w, row, static_cast<std::int64_t>(w.rows[row].counters.kept), k,
                       [&](std::int64_t i) { return kept[i]; });
    } else {
      Bits const* const keys = w.problem.rows.pointer(row);
      select_by_digits(w, row, w.problem.shape.n, k, [&](std::int64_t i) {
        return w.map(keys[i], static_cast<std::uint64_t>(i));
      });
    }
  }
}

// ---- sort and store

/// Stores the counts, and fills the slots that a row leaves open.
template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(256) store_missing(Work<Bits, CompositeKey> const w) {
  unsigned const row = blockIdx.y;
  std::int64_t const wanted = w.problem.selected_count(row);
  std::int64_t const slot = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (slot == 0 && w.problem.counts) w.problem.counts.store(row, wanted);
  if (slot >= wanted && slot < w.problem.shape.k) w.problem.out.store_missing(row, slot);
}

// ---- host side

template <class Bits, class CompositeKey>
std::size_t lay_out(Work<Bits, CompositeKey>& w, void* workspace, Shape const& shape,
                    Options const& options) {
  WorkspaceLayout layout(workspace);
  w.rows = layout.take<Row<CompositeKey>>(shape.rows);
  w.groups = layout.take<CompositeKey>(shape.rows * w.plan.groups);
  w.kept = layout.take<CompositeKey>(shape.rows * w.plan.capacity);
  w.boundary = layout.take<CompositeKey>(shape.rows * boundary_composites<CompositeKey>);
  bool const sorted = options.sorted == Sorted::yes;
  w.selected = sorted ? layout.take<CompositeKey>(shape.rows * shape.k) : nullptr;
  w.spare = sorted && needs_merges<CompositeKey>(shape.k)
                ? layout.take<CompositeKey>(shape.rows * shape.k)
                : nullptr;
  return layout.bytes();
}

unsigned blocks_for(std::int64_t count, int each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

template <class Bits, class CompositeKey>
void sort_and_store(cudaStream_t stream, Work<Bits, CompositeKey> const& w) {
  Shape const& shape = w.problem.shape;
  auto const rows = static_cast<unsigned>(shape.rows);
  dim3 const by_slot(blocks_for(shape.k, 256), rows);
  if (shape.k_per_row || w.problem.counts) store_missing<<<by_slot, 256, 0, stream>>>(w);
  if (w.selected != nullptr)
    sort_rows(stream, RowsToSort<Bits, CompositeKey>{w.problem, w.map}, w.selected, w.spare);
}

template <class Bits, class CompositeKey>
void run(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
         Options const& options, void* workspace) {
  Shape const& shape = problem.shape;
  Work<Bits, CompositeKey> w{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      one_pass_plan(shape.n, shape.k), forced_threshold};
  lay_out(w, workspace, shape, options);
  auto const launch_shape = [&](int blocks) {
    return dim3(static_cast<unsigned>(std::max<std::int64_t>(1, blocks / shape.rows)),
                static_cast<unsigned>(shape.rows));
  };
  int const warps = tuning.threads / 32;
  sample<<<launch_shape(blocks_for(w.plan.groups, warps) * shape.rows), tuning.threads, 0,
           stream>>>(w);
  int const stream_blocks =
      resident_blocks<cuda::stream<Bits, CompositeKey>>(device, tuning.threads);
  launch_early(cuda::stream<Bits, CompositeKey>,
               {launch_shape(stream_blocks), tuning.threads, stream}, w);
  int const finish_blocks = resident_blocks<finish<Bits, CompositeKey>>(device, tuning.threads);
  launch_early(finish<Bits, CompositeKey>,
               {launch_shape(finish_blocks), tuning.threads, stream, true}, w);
  sort_and_store(stream, w);
  check(cudaGetLastError(), "launch");
}

}  // namespace

bool one_pass_supports(Shape const& shape) {
  if (shape.ragged || !shape.packed || shape.rows > 64 || shape.n < (1 << 17)) return false;
  OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
  return plan.order * 2 <= plan.groups;
}

std::size_t one_pass_workspace_bytes(Shape const& shape, Options const& options) {
  OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
  if (composite_key_bytes(shape.key_bytes, shape.n) == sizeof(CompositeKey64)) {
    Work<std::uint32_t, CompositeKey64> w{};
    w.plan = plan;
    return lay_out(w, nullptr, shape, options);
  }
  Work<std::uint64_t, CompositeKey128> w{};
  w.plan = plan;
  return lay_out(w, nullptr, shape, options);
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
