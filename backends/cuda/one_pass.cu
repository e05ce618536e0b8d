// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass_launch.hpp"

#include <limits>
#include <stdexcept>
#include <string>

#include <cooperative_groups.h>

#include <ktopk/detail/testing.hpp>
#include <ktopk/detail/workspace.hpp>

#include "block.cuh"
#include "one_pass_tuning.hpp"

// sample: a warp's best sample competes; the order-th best of the groups is the threshold.
// stream: one read of the input keeps what reaches the threshold and histograms it.
// finish: what lies above the k-th item's bin has won, one block settles the bin itself. Where the count
//         of the kept does not prove them to hold the k best, or the bin is crowded, the same kernel
//         selects by digits instead, the whole device together.
// sort:   only where the output is to be sorted.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassTuning tuning = one_pass_tuning;
constexpr int digit_bits = 11;
constexpr int digits = 1 << digit_bits;

/// The state of a row on the device; everything in `Counters` is zeroed before each run.
struct Counters {
  unsigned long long kept;      // items that reached the threshold, stored or not
  unsigned long long emitted;   // winners found
  unsigned sampled;             // blocks done with sampling
  unsigned settled;             // blocks done with finishing
  unsigned boundary;            // items in the k-th item's bin
  unsigned histogram[tuning.bins];
};

template <class Item>
struct Row {
  Counters counters;
  Item threshold;
  int bin_shift;
  unsigned long long digit_counts[3][digits];
};

template <class Bits, class Item>
struct Work {
  Problem<Bits> problem;
  ItemMap<Bits, Item> map;
  OnePassPlan plan;
  Threshold forced;
  Row<Item>* rows;
  Item* groups;
  Item* kept;
  Item* boundary;
  Item* winners;  // null where the output need not be sorted
  Item* spare;

  __device__ Item* row_groups(unsigned row) const { return groups + row * plan.groups; }
  __device__ Item* row_kept(unsigned row) const { return kept + row * plan.capacity; }
  __device__ Item* row_boundary(unsigned row) const {
    return boundary + row * std::int64_t{tuning.boundary_items};
  }
  __device__ void emit(unsigned row, unsigned long long slot, Item item) const {
    auto const at = static_cast<std::int64_t>(slot);
    if (winners != nullptr)
      winners[row * problem.shape.k + at] = item;
    else
      store(row, at, item);
  }
  __device__ void store(unsigned row, std::int64_t slot, Item item) const {
    std::uint64_t const position = map.position(item);
    problem.store(row, slot, problem.row_keys(row)[position], position);
  }
};

// ---- sample

__device__ std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// The best of a thread's samples. Neighboring strata go to different groups, so that a row in which
/// position and rank go together is sampled as well as any.
template <class Bits, class Item>
__device__ Item best_sample(Work<Bits, Item> const& w, unsigned row, std::int64_t thread,
                            std::int64_t threads) {
  std::int64_t const samples = threads * w.plan.samples_per_thread;
  auto const stratum = static_cast<std::uint64_t>(w.problem.shape.n / samples);
  Bits const* const keys = w.problem.row_keys(row);
  std::int64_t const group = thread / 32, lane = thread % 32;
  Item best = 0;
  for (std::int64_t s = lane * w.plan.groups + group; s < samples; s += threads) {
    std::uint64_t const place =
        static_cast<std::uint64_t>(s) * stratum +
        __umul64hi(scatter(static_cast<std::uint64_t>(s) + 0x9e3779b97f4a7c15ull), stratum);
    Item const item = w.map(__ldg(keys + place), place);
    best = item > best ? item : best;
  }
  return best;
}

/// An item at or a little below the order-th best of the groups, and the best of all.
template <class Item>
struct SampleOrder {
  Item threshold;
  Item best;
};

template <class Item>
__device__ SampleOrder<Item> order_groups(Item const* groups, OnePassPlan const& plan) {
  constexpr int threads = one_pass_tuning.sample_threads;
  constexpr int most_each = 4096 / threads;
  __shared__ Item scratch[32];
  __shared__ unsigned histogram[digits];
  Item mine[most_each];
  Item differ = 0, best = 0;
  int const count = static_cast<int>(plan.groups);
  Item const first = __ldcg(reinterpret_cast<unsigned long long const*>(groups));
  Item reference = first;
  if constexpr (sizeof(Item) == 16)
    reference |= static_cast<Item>(__ldcg(reinterpret_cast<unsigned long long const*>(groups) + 1))
                 << 64;
  for (int i = 0; i < most_each; ++i) {
    int const at = i * threads + static_cast<int>(threadIdx.x);
    mine[i] = at < count ? groups[at] : reference;
    differ |= mine[i] ^ reference;
    best = mine[i] > best ? mine[i] : best;
  }
  auto const either = [](Item a, Item b) { return a | b; };
  auto const larger = [](Item a, Item b) { return a > b ? a : b; };
  differ = block_reduce(differ, scratch, [](Item x) { return warp_or(x); }, either);
  __syncthreads();
  best = block_reduce(best, scratch, [](Item x) { return warp_max(x); }, larger);
  int high = highest_bit(differ) + 1;
  Item prefix = high < static_cast<int>(8 * sizeof(Item)) ? reference >> high : Item{0};
  auto need = static_cast<unsigned long long>(plan.order);
  while (high > 0) {
    int const low = high > digit_bits ? high - digit_bits : 0;
    for (int i = threadIdx.x; i < digits; i += threads) histogram[i] = 0;
    __syncthreads();
    for (int i = 0; i < most_each; ++i) {
      bool const counted = i * threads + static_cast<int>(threadIdx.x) < count;
      Item const head = high < static_cast<int>(8 * sizeof(Item)) ? mine[i] >> high : Item{0};
      if (counted && head == prefix)
        atomicAdd(&histogram[static_cast<unsigned>(mine[i] >> low) & ((1u << (high - low)) - 1)],
                  1u);
    }
    __syncthreads();
    Place const place = block_find<digits, threads>(histogram, need);
    prefix = (prefix << (high - low)) | static_cast<Item>(place.bin);
    need -= place.above;
    high = low;
    if (place.here <= static_cast<unsigned long long>(plan.order) / 8 + 1) break;
  }
  return {prefix << high, best};
}

/// The bins of the histogram of kept items spread from the threshold to about twice as far above it as
/// the best sample.
template <class Item>
__device__ int shift_for(SampleOrder<Item> const& order) {
  int const shift = highest_bit(order.best - order.threshold) + 2 - (digit_bits);
  static_assert(tuning.bins == digits);
  return shift > 0 ? shift : 0;
}

template <class Bits, class Item>
__global__ void __launch_bounds__(tuning.sample_threads) sample(Work<Bits, Item> const w) {
  unsigned const row = blockIdx.y;
  std::int64_t const thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Item const best = warp_max(best_sample(w, row, thread, std::int64_t{gridDim.x} * blockDim.x));
  if (thread % 32 == 0) w.row_groups(row)[thread / 32] = best;
  Row<Item>& state = w.rows[row];
  if (!last_block(&state.counters.sampled, gridDim.x)) return;
  SampleOrder<Item> order = order_groups(w.row_groups(row), w.plan);
  if (w.forced == Threshold::too_high) order.threshold = order.best = ~Item{0};
  if (w.forced == Threshold::too_low) order.threshold = 0;
  if (threadIdx.x == 0) {
    state.threshold = order.threshold;
    state.bin_shift = shift_for(order);
  }
}

// ---- stream

template <class Bits>
struct alignas(16) Vector {
  static constexpr int size = 16 / sizeof(Bits);
  Bits keys[size];
};

template <class Bits>
__device__ Vector<Bits> load_streaming(Bits const* keys) {
  uint4 const raw = __ldcs(reinterpret_cast<uint4 const*>(keys));
  Vector<Bits> result;
  __builtin_memcpy(&result, &raw, sizeof raw);
  return result;
}

/// Where a block gathers what it keeps.
template <class Item>
struct Held {
  unsigned count;
  bool hopeless;  // more is kept than there is room for
  Item items[tuning.held_items];
};

template <class Bits, class Item>
class Keeper {
 public:
  __device__ Keeper(Work<Bits, Item> const& work, unsigned row, Held<Item>& held)
      : m_map(work.map),
        m_counters(work.rows[row].counters),
        m_threshold(work.rows[row].threshold),
        m_shift(work.rows[row].bin_shift),
        m_kept(work.row_kept(row)),
        m_capacity(static_cast<unsigned long long>(work.plan.capacity)),
        m_held(held) {}

  __device__ Item threshold() const { return m_threshold; }

  __device__ void offer(Bits key, std::int64_t position) {
    Item const item = m_map(key, static_cast<std::uint64_t>(position));
    if (item < m_threshold) return;
    Item const bin = (item - m_threshold) >> m_shift;
    unsigned const last = tuning.bins - 1;
    atomicAdd(&m_counters.histogram[bin < last ? static_cast<unsigned>(bin) : last], 1u);
    unsigned const slot = atomicAdd(&m_held.count, 1u);
    if (slot < tuning.held_items)
      m_held.items[slot] = item;
    else
      keep(atomicAdd(&m_counters.kept, 1ull), item);
  }

  /// Writes what the block has gathered; all threads call it.
  __device__ void flush() {
    __shared__ unsigned long long base;
    __syncthreads();
    unsigned const count = m_held.count < tuning.held_items ? m_held.count : tuning.held_items;
    if (threadIdx.x == 0) base = atomicAdd(&m_counters.kept, static_cast<unsigned long long>(count));
    __syncthreads();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x) keep(base + i, m_held.items[i]);
  }

 private:
  __device__ void keep(unsigned long long slot, Item item) {
    if (slot < m_capacity)
      m_kept[slot] = item;
    else
      m_held.hopeless = true;
  }

  ItemMap<Bits, Item> const& m_map;
  Counters& m_counters;
  Item m_threshold;
  int m_shift;
  Item* m_kept;
  unsigned long long m_capacity;
  Held<Item>& m_held;
};

/// The quick test of the stream: conservative, on the key's order without NaN and minus zero.
/// A chunk of the row whose positions cannot win a tie needs a rank above the threshold's.
template <class Bits, class Item>
struct QuickTest {
  RankMap<Bits> rank;
  Bits tie, beyond;  // least order in chunks that can win a tie, and in those that cannot
  bool none_beyond;
  bool nan_wins;
  std::uint64_t cut;
  bool low_positions_win;

  __device__ QuickTest(ItemMap<Bits, Item> const& map, Item threshold)
      : rank(map.rank), cut(map.position(threshold)), low_positions_win(map.flip != 0) {
    Bits const least = map.rank_of(threshold);
    none_beyond = least == std::numeric_limits<Bits>::max();
    nan_wins = rank.magnitude != 0 && rank.nan_rank != 0;
    tie = lowered(least);
    beyond = lowered(static_cast<Bits>(least + 1));
  }
  __device__ Bits lowered(Bits least) const {
    Bits const minus_zero = rank.ordered(rank.minus_zero);
    return least == rank(0) && minus_zero < least ? minus_zero : least;
  }
  __device__ bool ties_in(std::int64_t begin, std::int64_t end) const {
    return low_positions_win ? static_cast<std::uint64_t>(begin) <= cut
                             : static_cast<std::uint64_t>(end) > cut;
  }
};

/// One tile: a few vectors for each thread, all in flight together.
template <bool NanWins, bool Whole, class Bits, class Item>
__device__ void stream_tile(Bits const* keys, std::int64_t first, std::int64_t vectors,
                            QuickTest<Bits, Item> const& test, Bits least, std::int64_t head,
                            Keeper<Bits, Item>& keeper) {
  constexpr int in_flight = tuning.vectors_in_flight;
  constexpr int width = Vector<Bits>::size;
  Vector<Bits> loaded[in_flight];
  for (int v = 0; v < in_flight; ++v) {
    std::int64_t const at = first + v * tuning.stream_threads + threadIdx.x;
    if (Whole || at < vectors) loaded[v] = load_streaming(keys + at * width);
  }
  bool hit = false;
  for (int v = 0; v < in_flight; ++v) {
    std::int64_t const at = first + v * tuning.stream_threads + threadIdx.x;
    if (!Whole && at >= vectors) break;
    Bits best = 0, magnitude = 0;
    for (int i = 0; i < width; ++i) {
      Bits const key = loaded[v].keys[i];
      Bits const order = test.rank.ordered(key);
      best = order > best ? order : best;
      if constexpr (NanWins) {
        Bits const size = key & test.rank.magnitude;
        magnitude = size > magnitude ? size : magnitude;
      }
    }
    hit = hit || best >= least || (NanWins && magnitude > test.rank.infinity);
  }
  if (!hit) return;
  for (int v = 0; v < in_flight; ++v) {
    std::int64_t const at = first + v * tuning.stream_threads + threadIdx.x;
    if (!Whole && at >= vectors) break;
    for (int i = 0; i < width; ++i) {
      Bits const key = loaded[v].keys[i];
      Bits const order = test.rank.ordered(key);
      if (order >= least ||
          (NanWins && static_cast<Bits>(key & test.rank.magnitude) > test.rank.infinity))
        keeper.offer(key, head + at * width + i);
    }
  }
}

template <bool NanWins, class Bits, class Item>
__device__ void stream_row(Work<Bits, Item> const& w, unsigned row, Held<Item>& held) {
  constexpr int width = Vector<Bits>::size;
  constexpr std::int64_t tile = std::int64_t{tuning.stream_threads} * tuning.vectors_in_flight;
  Bits const* const row_keys = w.problem.row_keys(row);
  std::int64_t const n = w.problem.shape.n;
  Keeper<Bits, Item> keeper(w, row, held);
  QuickTest<Bits, Item> const test(w.map, keeper.threshold());
  auto const misaligned = reinterpret_cast<std::uintptr_t>(row_keys) % 16;
  std::int64_t const head =
      misaligned == 0 ? 0 : static_cast<std::int64_t>((16 - misaligned) / sizeof(Bits));
  std::int64_t const vectors = (n - head) / width;
  Bits const* const keys = row_keys + head;
  for (std::int64_t first = blockIdx.x * tile; first < vectors; first += gridDim.x * tile) {
    if (held.hopeless) break;
    bool const tie = test.ties_in(head + first * width, head + (first + tile) * width);
    if (!tie && test.none_beyond) continue;
    Bits const least = tie ? test.tie : test.beyond;
    if (first + tile <= vectors)
      stream_tile<NanWins, true>(keys, first, vectors, test, least, head, keeper);
    else
      stream_tile<NanWins, false>(keys, first, vectors, test, least, head, keeper);
  }
  if (blockIdx.x == 0) {
    std::int64_t const tail = head + vectors * width;
    for (std::int64_t i = threadIdx.x; i < head; i += blockDim.x) keeper.offer(row_keys[i], i);
    for (std::int64_t i = tail + threadIdx.x; i < n; i += blockDim.x)
      keeper.offer(row_keys[i], i);
  }
  keeper.flush();
}

template <class Bits, class Item>
__global__ void __launch_bounds__(tuning.stream_threads) stream(Work<Bits, Item> const w) {
  __shared__ Held<Item> held;
  if (threadIdx.x == 0) {
    held.count = 0;
    held.hopeless = false;
  }
  __syncthreads();
  if (w.map.rank.magnitude != 0 && w.map.rank.nan_rank != 0)
    stream_row<true>(w, blockIdx.y, held);
  else
    stream_row<false>(w, blockIdx.y, held);
}

// ---- finish

template <class Bits, class Item>
__device__ bool proven(Work<Bits, Item> const& w, unsigned row, std::int64_t k) {
  auto const kept = static_cast<std::int64_t>(w.rows[row].counters.kept);
  return w.forced != Threshold::too_low && kept >= k && kept <= w.plan.capacity;
}

/// The k-th item's bin, settled by counting for each of its items how many are better.
template <class Bits, class Item>
__device__ void settle_boundary(Work<Bits, Item> const& w, unsigned row, Place const& place,
                                std::int64_t k) {
  __shared__ Item items[tuning.boundary_items];
  int const count = static_cast<int>(place.here);
  for (int i = threadIdx.x; i < count; i += blockDim.x) items[i] = w.row_boundary(row)[i];
  __syncthreads();
  auto const wanted = static_cast<int>(static_cast<unsigned long long>(k) - place.above);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    Item const item = items[i];
    int better = 0;
    for (int j = 0; j < count; ++j) better += items[j] > item;
    if (better < wanted) w.emit(row, place.above + static_cast<unsigned>(better), item);
  }
}

template <class Bits, class Item>
__device__ void finish_kept(Work<Bits, Item> const& w, unsigned row, Place const& place,
                            std::int64_t k) {
  Row<Item>& state = w.rows[row];
  auto const kept = static_cast<std::int64_t>(state.counters.kept);
  Item const* const items = w.row_kept(row);
  std::int64_t const stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < kept;
       i += stride) {
    Item const item = items[i];
    Item const spread = (item - state.threshold) >> state.bin_shift;
    int const bin = spread < tuning.bins - 1 ? static_cast<int>(spread) : tuning.bins - 1;
    if (bin > place.bin) w.emit(row, atomicAdd(&state.counters.emitted, 1ull), item);
    if (bin == place.bin) w.row_boundary(row)[atomicAdd(&state.counters.boundary, 1u)] = item;
  }
  if (last_block(&state.counters.settled, gridDim.x)) settle_boundary(w, row, place, k);
}

/// Radix selection by all blocks together, of the items that `read` gives for 0 .. size - 1.
template <class Bits, class Item, class Read>
__device__ void select_by_digits(Work<Bits, Item> const& w, unsigned row, std::int64_t size,
                                 std::int64_t k, Read const& read) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  __shared__ unsigned histogram[digits];
  Row<Item>& state = w.rows[row];
  std::int64_t const thread = static_cast<std::int64_t>(grid.thread_rank());
  std::int64_t const threads = static_cast<std::int64_t>(grid.num_threads());
  for (std::int64_t i = thread; i < digits; i += threads) state.digit_counts[0][i] = 0;
  grid.sync();
  Item prefix = 0;
  auto need = static_cast<unsigned long long>(k);
  int high = w.map.width();
  for (int pass = 0; high > 0; ++pass) {
    int const low = high > digit_bits ? high - digit_bits : 0;
    for (std::int64_t i = thread; i < digits; i += threads)
      state.digit_counts[(pass + 1) % 3][i] = 0;
    for (int i = threadIdx.x; i < digits; i += blockDim.x) histogram[i] = 0;
    __syncthreads();
    for (std::int64_t i = thread; i < size; i += threads) {
      Item const item = read(i);
      if (pass == 0 || (item >> high) == prefix)
        atomicAdd(&histogram[static_cast<unsigned>(item >> low) & ((1u << (high - low)) - 1)], 1u);
    }
    __syncthreads();
    unsigned long long* const merged = state.digit_counts[pass % 3];
    for (int i = threadIdx.x; i < digits; i += blockDim.x)
      if (histogram[i] != 0) atomicAdd(&merged[i], static_cast<unsigned long long>(histogram[i]));
    grid.sync();
    Place const place = block_find<digits, tuning.finish_threads>(merged, need);
    prefix = (prefix << (high - low)) | static_cast<Item>(place.bin);
    need -= place.above;
    high = low;
    if (need == place.here) break;
  }
  Item const threshold = prefix << high;
  for (std::int64_t i = thread; i < size; i += threads) {
    Item const item = read(i);
    if (item >= threshold) w.emit(row, atomicAdd(&state.counters.emitted, 1ull), item);
  }
}

/// Whether the kept items settle the row block by block.
struct Outlook {
  bool kept_suffice;
  bool quick;
  Place place;
};

template <class Bits, class Item>
__device__ Outlook look_at(Work<Bits, Item> const& w, unsigned row, std::int64_t k) {
  if (!proven(w, row, k)) return {false, false, {}};
  Place const place = block_find<tuning.bins, tuning.finish_threads>(
      w.rows[row].counters.histogram, static_cast<unsigned long long>(k));
  return {true, place.here <= tuning.boundary_items, place};
}

template <class Bits, class Item>
__global__ void __launch_bounds__(tuning.finish_threads) finish(Work<Bits, Item> const w) {
  unsigned const mine = blockIdx.y;
  std::int64_t const wanted = w.problem.winners(mine);
  if (wanted > 0) {
    Outlook const outlook = look_at(w, mine, wanted);
    if (outlook.quick) finish_kept(w, mine, outlook.place, wanted);
  }
  for (unsigned row = 0; row < gridDim.y; ++row) {
    std::int64_t const k = w.problem.winners(row);
    if (k == 0) continue;
    Outlook const outlook = look_at(w, row, k);
    if (outlook.quick) continue;
    if (outlook.kept_suffice) {
      Item const* const kept = w.row_kept(row);
      select_by_digits(w, row, static_cast<std::int64_t>(w.rows[row].counters.kept), k,
                       [&](std::int64_t i) { return kept[i]; });
    } else {
      Bits const* const keys = w.problem.row_keys(row);
      select_by_digits(w, row, w.problem.shape.n, k, [&](std::int64_t i) {
        return w.map(keys[i], static_cast<std::uint64_t>(i));
      });
    }
  }
}

// ---- sort and store

/// Sorts each tile of a row's winners where it lies.
template <class Bits, class Item>
__global__ void __launch_bounds__(1024) sort_tiles(Work<Bits, Item> const w) {
  __shared__ Item held[tuning.sort_tile];
  std::int64_t const wanted = w.problem.winners(blockIdx.y);
  std::int64_t const begin = std::int64_t{blockIdx.x} * tuning.sort_tile;
  if (begin >= wanted) return;
  int const count =
      static_cast<int>(wanted - begin < tuning.sort_tile ? wanted - begin : tuning.sort_tile);
  Item* const items = w.winners + blockIdx.y * w.problem.shape.k + begin;
  for (int i = threadIdx.x; i < count; i += blockDim.x) held[i] = items[i];
  __syncthreads();
  block_sort(held, count);
  for (int i = threadIdx.x; i < count; i += blockDim.x) items[i] = held[i];
}

/// How many items of a sorted run are better than `item`.
template <class Item>
__device__ std::int64_t better_in(Item const* run, std::int64_t size, Item item) {
  std::int64_t low = 0, high = size;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (run[middle] > item)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Merges pairs of sorted runs: an item's place is its own in its run plus that in the other.
template <class Bits, class Item>
__global__ void __launch_bounds__(256)
    merge_runs(Work<Bits, Item> const w, Item const* from, Item* to, std::int64_t run) {
  std::int64_t const wanted = w.problem.winners(blockIdx.y);
  std::int64_t const i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= wanted) return;
  Item const* const row = from + blockIdx.y * w.problem.shape.k;
  std::int64_t const mine = i / run * run;
  std::int64_t const other = (i / run ^ 1) * run;
  std::int64_t const rest = wanted - other;
  std::int64_t const size = rest < 0 ? 0 : rest < run ? rest : run;
  std::int64_t const first = mine < other ? mine : other;
  Item const item = row[i];
  std::int64_t const place = first + (i - mine) + better_in(row + other, size, item);
  to[blockIdx.y * w.problem.shape.k + place] = item;
}

/// Stores sorted winners, and in any case the counts and what a row leaves open.
template <class Bits, class Item>
__global__ void __launch_bounds__(256) store(Work<Bits, Item> const w, Item const* sorted) {
  unsigned const row = blockIdx.y;
  std::int64_t const wanted = w.problem.winners(row);
  std::int64_t const slot = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (slot == 0 && w.problem.counts) w.problem.counts.store(row, wanted);
  if (slot >= w.problem.shape.k) return;
  if (slot >= wanted)
    w.problem.store_missing(row, slot);
  else if (sorted != nullptr)
    w.store(row, slot, sorted[row * w.problem.shape.k + slot]);
}

// ---- host side

void check(cudaError_t error, char const* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("ktopk::cuda::one_pass: ") + what + ": " +
                             cudaGetErrorString(error));
}

template <class Bits, class Item>
std::size_t lay_out(Work<Bits, Item>& w, void* workspace, Shape const& shape,
                    Options const& options) {
  Pieces pieces(workspace);
  w.rows = pieces.take<Row<Item>>(shape.rows);
  w.groups = pieces.take<Item>(shape.rows * w.plan.groups);
  w.kept = pieces.take<Item>(shape.rows * w.plan.capacity);
  w.boundary = pieces.take<Item>(shape.rows * tuning.boundary_items);
  bool const sorted = options.sorted == Sorted::yes;
  w.winners = sorted ? pieces.take<Item>(shape.rows * shape.k) : nullptr;
  w.spare = sorted ? pieces.take<Item>(shape.rows * shape.k) : nullptr;
  return pieces.bytes();
}

/// How many blocks of a kernel the device holds at once.
template <class Kernel>
int resident_blocks(int device, Kernel kernel, int threads) {
  int blocks = 0, processors = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0), "occupancy");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "device");
  return blocks * processors;
}

unsigned share_of(int blocks, std::int64_t rows) {
  return static_cast<unsigned>(std::max<std::int64_t>(1, blocks / rows));
}

unsigned blocks_for(std::int64_t count, int each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

template <class Bits, class Item>
void sort_and_store(cudaStream_t stream, Work<Bits, Item> const& w, bool sorted) {
  Shape const& shape = w.problem.shape;
  auto const rows = static_cast<unsigned>(shape.rows);
  dim3 const by_slot(blocks_for(shape.k, 256), rows);
  if (!sorted) {
    if (shape.k_per_row || w.problem.counts)
      store<<<by_slot, 256, 0, stream>>>(w, static_cast<Item const*>(nullptr));
    return;
  }
  sort_tiles<<<dim3(blocks_for(shape.k, tuning.sort_tile), rows), 1024, 0, stream>>>(w);
  Item *from = w.winners, *to = w.spare;
  for (std::int64_t run = tuning.sort_tile; run < shape.k; run *= 2) {
    merge_runs<<<by_slot, 256, 0, stream>>>(w, from, to, run);
    std::swap(from, to);
  }
  store<<<by_slot, 256, 0, stream>>>(w, from);
}

template <class Bits, class Item>
void run(int device, cudaStream_t stream, Problem<Bits> const& problem, Options const& options,
         void* workspace) {
  Shape const& shape = problem.shape;
  Work<Bits, Item> w{problem, make_item_map<Item>(problem.rank, shape.n, options.ties),
                     one_pass_plan(shape.n, shape.k), forced_threshold};
  lay_out(w, workspace, shape, options);
  auto const rows = static_cast<unsigned>(shape.rows);
  check(cudaMemset2DAsync(w.rows, sizeof(Row<Item>), 0, sizeof(Counters), shape.rows, stream),
        "memset");
  auto const sample_blocks = static_cast<unsigned>(w.plan.groups / (tuning.sample_threads / 32));
  sample<<<dim3(sample_blocks, rows), tuning.sample_threads, 0, stream>>>(w);
  static int const stream_blocks =
      resident_blocks(device, cuda::stream<Bits, Item>, tuning.stream_threads);
  cuda::stream<<<dim3(share_of(stream_blocks, shape.rows), rows), tuning.stream_threads, 0,
                 stream>>>(w);
  static int const finish_blocks =
      resident_blocks(device, finish<Bits, Item>, tuning.finish_threads);
  void* arguments[] = {&w};
  check(cudaLaunchCooperativeKernel(finish<Bits, Item>, dim3(share_of(finish_blocks, shape.rows), rows),
                                    dim3(tuning.finish_threads), arguments, 0, stream),
        "finish");
  sort_and_store(stream, w, options.sorted == Sorted::yes);
  check(cudaGetLastError(), "launch");
}

/// A device set for the scope.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&m_before), "device");
    if (m_before != device) check(cudaSetDevice(device), "device");
  }
  ~OnDevice() { cudaSetDevice(m_before); }
  OnDevice(OnDevice const&) = delete;
  OnDevice& operator=(OnDevice const&) = delete;

 private:
  int m_before = 0;
};

}  // namespace

bool one_pass_supports(Shape const& shape) {
  if (shape.ragged || !shape.packed || shape.rows > 64 || shape.n < (1 << 17)) return false;
  OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
  return plan.order * 2 <= plan.groups;
}

std::size_t one_pass_workspace_bytes(Shape const& shape, Options const& options) {
  OnePassPlan const plan = one_pass_plan(shape.n, shape.k);
  if (item_bytes(shape.key_bytes, shape.n) == sizeof(Item64)) {
    Work<std::uint32_t, Item64> w{};
    w.plan = plan;
    return lay_out(w, nullptr, shape, options);
  }
  Work<std::uint64_t, Item128> w{};
  w.plan = plan;
  return lay_out(w, nullptr, shape, options);
}

template <class Bits>
void one_pass(int device, cudaStream_t stream, Problem<Bits> const& problem,
              Options const& options, void* workspace) {
  OnDevice const here(device);
  with_item_type<Bits>(problem.shape.n, [&](auto item) {
    run<Bits, decltype(item)>(device, stream, problem, options, workspace);
  });
}

template void one_pass(int, cudaStream_t, Problem<std::uint8_t> const&, Options const&, void*);
template void one_pass(int, cudaStream_t, Problem<std::uint16_t> const&, Options const&, void*);
template void one_pass(int, cudaStream_t, Problem<std::uint32_t> const&, Options const&, void*);
template void one_pass(int, cudaStream_t, Problem<std::uint64_t> const&, Options const&, void*);

}  // namespace ktopk::detail::cuda
