// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <limits>
#include <utility>

#include <cooperative_groups.h>

#include <ktopk/core/testing.hpp>
#include <ktopk/core/workspace.hpp>

#include "../common/block.cuh"
#include "../common/device.hpp"
#include "../common/key_widths.hpp"
#include "../common/sort_long.cuh"
#include "../common/sort_rows.cuh"
#include "../common/stream.cuh"
#include "../common/this_module.cuh"
#include "tuning.hpp"

// Radix selection of many keys, in one launch. A group of blocks selects from a row:
// sample:  every block finds, from the same samples, a bracket that should hold the k-th composite key.
// stream:  one read of the row writes composite keys above the bracket to the output. Those in it become candidates,
//          and their first digit below the bracket is counted.
// collect: candidates above the bin of the k-th composite key are written to the output; the last block selects from
//          the bin.
// The counts prove the bracket. If they do not, digits of all keys give a bracket, and the row is read again.

namespace ktopk::detail::cuda {

namespace {

constexpr RadixTuning tuning = radix_tuning;
constexpr int warps = tuning.threads / 32;
constexpr int bins = tuning.bins;
constexpr int bin_bits = 9;
static_assert(bins == 1 << bin_bits && bins == tuning.threads);
template <class CompositeKey>
constexpr int most_samples =
    tuning.threads * tuning.sampled_bytes / static_cast<int>(sizeof(CompositeKey));
template <class CompositeKey>
constexpr int settled_composites = tuning.settled_bytes / static_cast<int>(sizeof(CompositeKey));

/// Composite keys from low to high, both included, in bins of 2^shift; the last bin has no end.
template <class CompositeKey>
struct Range {
  CompositeKey low, high;
  int shift;

  __device__ static int shift_for(CompositeKey spread) {
    int const width = highest_bit(spread) + 1;
    return width > bin_bits ? width - bin_bits : 0;
  }
  __device__ static Range of(CompositeKey low, CompositeKey high) {
    return {low, high, shift_for(high - low)};
  }
  __device__ bool has(CompositeKey composite) const {
    return low <= composite && composite <= high;
  }
  __device__ unsigned bin(CompositeKey composite) const {
    CompositeKey const distance = (composite - low) >> shift;
    return distance < bins - 1 ? static_cast<unsigned>(distance) : bins - 1;
  }
  __device__ Range part(int bin) const {
    CompositeKey const begin = low + (static_cast<CompositeKey>(bin) << shift);
    CompositeKey const end = begin + ((CompositeKey{1} << shift) - 1);
    return of(begin, bin == bins - 1 || end > high ? high : end);
  }
};

/// What a group counts between two barriers, from zero.
struct Round {
  unsigned long long certain;     // composite keys above the bracket
  unsigned long long candidates;  // composite keys in it
  unsigned long long collected;   // candidates above the k-th composite key's bin
  unsigned long long boundary;    // candidates in that bin
  unsigned settled;               // blocks done with collecting
  unsigned long long histogram[bins];
};
/// One is cleared while another is counted into and a third may still be read.
constexpr int rounds_in_use = 3;

template <class Bits, class CompositeKey>
struct Work {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Threshold forced;
  int parts;                // blocks that share a row
  std::int64_t capacity;    // the most candidates of a group
  Round* rounds = nullptr;  // rounds_in_use for each group
  unsigned* arrived = nullptr;
  CompositeKey* candidates = nullptr;
  CompositeKey* samples = nullptr;   // most_samples for each group
  CompositeKey* boundary = nullptr;  // settled_composites for each group
  CompositeKey* selected = nullptr;  // only if the output is to be sorted
  CompositeKey* spare = nullptr;
  std::byte* sorting = nullptr;  // only for CUB
};

/// The keys of a row, packed or with gaps between neighbors.
template <class Bits, bool Packed>
struct KeyRow {
  static constexpr int width = Vector<Bits>::size;
  Bits const* keys;
  std::int64_t step, n;
  std::int64_t head;  // keys before the first vector
  std::int64_t vectors;

  __device__ static KeyRow of(StoredProblem<Bits> const& problem, std::int64_t row) {
    Bits const* const keys = problem.rows.pointer(row);
    std::int64_t const n = problem.length(row);
    if (!Packed) return {keys, problem.rows.step, n, 0, n / width};
    AlignedRow<Bits> const aligned(keys, n);
    return {keys, 1, n, aligned.head, aligned.vectors};
  }
  __device__ Bits key(std::int64_t position) const {
    return keys[Packed ? position : position * step];
  }
  __device__ std::int64_t position(std::int64_t vector) const { return head + vector * width; }
  __device__ Vector<Bits> load(std::int64_t vector) const {
    if constexpr (Packed)
      return Vector<Bits>::load_streaming(keys + position(vector));
    else
      return Vector<Bits>::gather(keys + position(vector) * step, step);
  }
};

/// A test that all keys pass that may reach a rank. \see QuickTest, NanTest
template <class Bits>
struct Test {
  Bits kept, flip, least;
  Bits nan_flip, nan_above;

  __device__ explicit Test(OrderedBitsMap<Bits> const& rank) {
    NanTest<Bits> const nan(rank);
    bool const nan_wins = rank.magnitude != 0 && rank.ordered_nan != 0;
    kept = nan.kept;
    nan_flip = nan.flip;
    nan_above = nan_wins ? nan.above : std::numeric_limits<Bits>::max();
  }
  __device__ void set(QuickTest<Bits> const& quick) {
    flip = quick.flip;
    least = quick.least;
  }
  __device__ bool operator()(Bits key) const {
    auto const compared = static_cast<Bits>(key & kept);
    return static_cast<Bits>(compared ^ flip) >= least ||
           static_cast<Bits>(compared ^ nan_flip) > nan_above;
  }
};

/// Where composite keys go: those above the bracket to the output, from `first_slot` on, those in it to a list.
template <class CompositeKey>
struct Target {
  Range<CompositeKey> bracket;
  unsigned long long* above;   // counts composite keys above the bracket
  unsigned long long* within;  // counts the others
  unsigned long long first_slot;
  CompositeKey* list;
  std::int64_t capacity;
  unsigned* histogram;  // of the list; may be null
};

/// The search for one of the two order statistics of the samples.
template <class CompositeKey>
struct Pivot {
  Range<CompositeKey> range;
  unsigned need;
  bool open;
};

/// A key that may be in the bracket or above it, with its distance from the first key that the warp's notes cover.
template <class Bits>
struct Note {
  Bits key;
  unsigned distance;
};

template <class Bits>
constexpr unsigned most_notes = tuning.noted_bytes / static_cast<unsigned>(sizeof(Note<Bits>));

/// The shared memory of a block. Values that only few steps need are here, because the stream needs the registers.
template <class Bits, class CompositeKey, bool Packed>
struct Shared {
  Work<Bits, CompositeKey> work;
  std::int64_t row, k;
  KeyRow<Bits, Packed> keys;
  Target<CompositeKey> target;
  Pivot<CompositeKey> pivots[2];
  CompositeKey scratch[warps];
  CompositeKey sample;
  unsigned sums[warps];
  unsigned taken;
  unsigned claimed[2];  // slots for composite keys above a bracket, and within
  unsigned long long bases[2];
  unsigned histogram[bins];
  union {
    Note<Bits> notes[warps][most_notes<Bits>];
    unsigned histograms[2][bins];
    CompositeKey settled[settled_composites<CompositeKey>];
  };
};

/// What a group has counted.
struct Outcome {
  unsigned long long certain, within;
  unsigned long long in_bin;  // candidates in the thread's bin; thread 0 has the best bin
};

/// Loads a composite key that another block may have written.
__device__ inline CompositeKey64 load_written(CompositeKey64 const* composite) {
  return __ldcg(reinterpret_cast<unsigned long long const*>(composite));
}
__device__ inline CompositeKey128 load_written(CompositeKey128 const* composite) {
  auto const words = __ldcg(reinterpret_cast<ulonglong2 const*>(composite));
  return static_cast<CompositeKey128>(words.y) << 64 | words.x;
}

template <class Bits, class CompositeKey, bool Packed>
class Selection {
 public:
  using Shared = cuda::Shared<Bits, CompositeKey, Packed>;

  __device__ explicit Selection(Shared& shared) : m_work(shared.work), m_shared(shared) {}

  /// All blocks call it, before any row.
  __device__ void begin() {
    if (threadIdx.x == 0 && part() == 0) m_work.arrived[group()] = 0;
    clear(round());
  }

  /// All threads of a group call it.
  __device__ void select(std::int64_t row) {
    __syncthreads();
    if (threadIdx.x == 0) {
      m_shared.row = row;
      m_shared.k = m_work.problem.selected_count(row);
      m_shared.keys = Keys::of(m_work.problem, row);
    }
    __syncthreads();
    if (part() == 0) fill();
    bool const is_sampled = m_work.forced == Threshold::sampled && n() >= tuning.least_sampled;
    if (is_sampled && k() > 0) take_samples();
    // After it no block works on the previous row any more.
    barrier();
    if (k() == 0) return;
    Range<CompositeKey> bracket = is_sampled ? sampled_bracket() : first_bracket();
    Outcome outcome;
#pragma unroll 1
    while (!is_proven(outcome = read(bracket))) bracket = exact_bracket();
    finish(bracket, outcome);
    ++m_round;
  }

 private:
  using RowTile = Tile<Bits, tuning.threads, tuning.vectors_in_flight>;
  using Keys = KeyRow<Bits, Packed>;
  static constexpr int tile_keys = RowTile::size * Keys::width;

  __device__ std::int64_t k() const { return m_shared.k; }
  __device__ std::int64_t n() const { return m_shared.keys.n; }
  __device__ Keys const& keys() const { return m_shared.keys; }
  __device__ CompositeKey last_composite() const {
    return (CompositeKey{1} << (m_work.map.width() - 1) << 1) - 1;
  }

  // ---- a group of blocks

  __device__ int part() const { return static_cast<int>(blockIdx.x) % m_work.parts; }
  __device__ std::int64_t group() const { return blockIdx.x / m_work.parts; }
  __device__ Round& round(unsigned ahead = 0) const {
    return m_work.rounds[group() * rounds_in_use + (m_round + ahead) % rounds_in_use];
  }
  __device__ CompositeKey* candidates() const {
    return m_work.candidates + group() * m_work.capacity;
  }
  __device__ CompositeKey* boundary() const {
    return m_work.boundary + group() * std::int64_t{settled_composites<CompositeKey>};
  }

  __device__ void clear(Round& round) const {
    auto* const words = reinterpret_cast<unsigned long long*>(&round);
    constexpr int count = sizeof(Round) / sizeof(unsigned long long);
    int const stride = m_work.parts * tuning.threads;
#pragma unroll 1
    for (int i = part() * tuning.threads + static_cast<int>(threadIdx.x); i < count; i += stride)
      words[i] = 0;
  }

  /// Returns when all blocks of the group have arrived; what they wrote before is visible. The first barrier is one of
  /// the whole grid, because the counters of the groups are not clear before.
  __device__ void barrier() {
    if (m_work.parts > 1 && m_awaited == 0)
      cooperative_groups::this_grid().sync();
    else
      group_barrier();
    m_awaited += static_cast<unsigned>(m_work.parts);
  }

  __device__ void group_barrier() const {
    __syncthreads();
    if (m_work.parts == 1) return;
    if (threadIdx.x == 0) {
      unsigned* const arrived = m_work.arrived + group();
      __threadfence();
      atomicAdd(arrived, 1u);
      while (static_cast<int>(*static_cast<unsigned volatile*>(arrived) - m_awaited) < 0) {}
      __threadfence();
    }
    __syncthreads();
  }

  // ---- sample

  __device__ Range<CompositeKey> first_bracket() const {
    if (m_work.forced == Threshold::too_high)
      return Range<CompositeKey>::of(last_composite(), last_composite());
    return Range<CompositeKey>::of(0, last_composite());
  }

  static constexpr int neighbors = radix_neighbors(sizeof(Bits));
  static constexpr int most_rounds = tuning.sampled_bytes / (sizeof(CompositeKey) * neighbors);
  struct Samples {
    CompositeKey composites[most_rounds][neighbors];
    int rounds;

    template <class Visit>
    __device__ void visit(Visit const& visit) const {
#pragma unroll
      for (int r = 0; r < most_rounds; ++r)
        if (r < rounds)
          for (CompositeKey const composite : composites[r]) visit(composite);
    }
  };
  __device__ int rounds() const {
    return radix_sample_rounds(n(), neighbors, sizeof(CompositeKey));
  }
  __device__ CompositeKey* samples() const {
    return m_work.samples + group() * std::int64_t{most_samples<CompositeKey>};
  }

  /// Samples a few neighbors at a scattered place of every stratum of the row.
  __device__ void take_samples() const {
    int const strata = rounds() * tuning.threads;
    auto const places = static_cast<std::uint64_t>(keys().vectors) * (Keys::width / neighbors);
    std::uint64_t const stratum = places / static_cast<unsigned>(strata);
#pragma unroll 1
    for (int s = part() * tuning.threads + static_cast<int>(threadIdx.x); s < strata;
         s += m_work.parts * tuning.threads) {
      auto const number = static_cast<std::uint64_t>(s);
      std::uint64_t const place =
          number * stratum + __umul64hi(scatter(number + 0x9e3779b97f4a7c15ull), stratum);
      std::uint64_t const position = static_cast<std::uint64_t>(keys().head) + place * neighbors;
      Neighbors const loaded = load_neighbors(static_cast<std::int64_t>(position));
#pragma unroll
      for (int i = 0; i < neighbors; ++i)
        samples()[i * strata + s] = m_work.map(loaded.keys[i], position + static_cast<unsigned>(i));
    }
  }

  struct alignas(neighbors * sizeof(Bits)) Neighbors {
    Bits keys[neighbors];
  };
  __device__ Neighbors load_neighbors(std::int64_t position) const {
    if constexpr (Packed) {
      return *reinterpret_cast<Neighbors const*>(keys().keys + position);
    } else {
      Neighbors loaded;
#pragma unroll
      for (int i = 0; i < neighbors; ++i) loaded.keys[i] = keys().key(position + i);
      return loaded;
    }
  }

  __device__ Samples load_samples() const {
    Samples loaded;
    loaded.rounds = rounds();
#pragma unroll
    for (int r = 0; r < most_rounds; ++r)
#pragma unroll
      for (int i = 0; i < neighbors; ++i)
        if (r < loaded.rounds)
          loaded.composites[r][i] =
              load_written(samples() + (r * neighbors + i) * tuning.threads + threadIdx.x);
    return loaded;
  }

  /// An aligned interval of 2^i composite keys that holds all samples.
  __device__ Range<CompositeKey> range_of(Samples const& samples) const {
    if (threadIdx.x == 0) m_shared.sample = samples.composites[0][0];
    __syncthreads();
    CompositeKey const one = m_shared.sample;
    CompositeKey unlike = 0;
    samples.visit([&](CompositeKey composite) { unlike |= composite ^ one; });
    for (int mask = 16; mask > 0; mask /= 2) unlike |= shuffle_xor(unlike, mask);
    if (threadIdx.x % 32 == 0) m_shared.scratch[threadIdx.x / 32] = unlike;
    __syncthreads();
#pragma unroll 4
    for (CompositeKey const others : m_shared.scratch) unlike |= others;
    int const top = highest_bit(unlike);
    CompositeKey const below =
        top < 0 ? CompositeKey{0} : static_cast<CompositeKey>((CompositeKey{1} << top << 1) - 1);
    return Range<CompositeKey>::of(one & ~below, one | below);
  }

  /// The bracket: from the bin of the one order statistic to that of the other.
  __device__ Range<CompositeKey> sampled_bracket() const {
    Samples const samples = load_samples();
    int const count = samples.rounds * tuning.threads * neighbors;
    RadixOrders const orders =
        radix_orders(count, static_cast<float>(k()) / static_cast<float>(n()));
    for (unsigned* const histogram : {m_shared.histograms[0], m_shared.histograms[1]})
      histogram[threadIdx.x] = 0;
    Range<CompositeKey> const all = range_of(samples);
    if (threadIdx.x < 2) {
      int const order = threadIdx.x == 0 ? max(orders.high, 1) : min(orders.low, count);
      m_shared.pivots[threadIdx.x] = {all, static_cast<unsigned>(order), true};
    }
    __syncthreads();
    Pivot<CompositeKey> const* const pivots = m_shared.pivots;
    unsigned const few = static_cast<unsigned>(orders.low - orders.high) / 16 + 1;
#pragma unroll 1
    while (pivots[0].open || pivots[1].open) narrow_pivots(samples, few);
    CompositeKey const low = orders.low <= count ? pivots[1].range.low : CompositeKey{0};
    CompositeKey const high = pivots[0].range.high;
    if (orders.high >= 1) return Range<CompositeKey>::of(low, high);
    // The best keys are above all samples, but seldom further above than the bracket is wide.
    Range<CompositeKey> const whole = Range<CompositeKey>::of(low, last_composite());
    return {low, whole.high, min(whole.shift, Range<CompositeKey>::shift_for(high - low) + 1)};
  }

  /// Narrows the ranges of both pivots by a digit.
  __device__ void narrow_pivots(Samples const& samples, unsigned few) const {
    Pivot<CompositeKey>* const pivots = m_shared.pivots;
#pragma unroll 1
    for (int e = 0; e < 2; ++e) {
      if (!pivots[e].open) continue;
      Range<CompositeKey> const range = pivots[e].range;
      samples.visit([&](CompositeKey composite) {
        if (range.has(composite)) atomicAdd(&m_shared.histograms[e][range.bin(composite)], 1u);
      });
    }
    __syncthreads();
    int const e = static_cast<int>(threadIdx.x) / (tuning.threads / 2);
    int const bin = bins - 1 - static_cast<int>(threadIdx.x) % (tuning.threads / 2) * 2;
    unsigned* const counts = &m_shared.histograms[e][bin - 1];
    unsigned const here[2] = {counts[1], counts[0]};
    counts[0] = counts[1] = 0;
    Pivot<CompositeKey> const pivot = pivots[e];
    unsigned above = sum_before(here[0] + here[1], e * (warps / 2));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (pivot.open && above < pivot.need && pivot.need <= above + here[i])
        pivots[e] = {pivot.range.part(bin - i), pivot.need - above,
                     here[i] > few && pivot.range.shift > 0};
      above += here[i];
    }
    __syncthreads();
  }

  /// The exclusive prefix sum over threads, from the warp `first_warp` on. All threads of the block call it.
  __device__ unsigned sum_before(unsigned mine, int first_warp) const {
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned const inclusive = warp_sum_to(mine);
    if (lane == 31) m_shared.sums[warp] = inclusive;
    __syncthreads();
    unsigned sum = inclusive - mine;
    for (int w = first_warp; w < warp; ++w) sum += m_shared.sums[w];
    return sum;
  }

  // ---- stream

  /// Writes the composite keys above the bracket, lists those in it, and waits for the group.
  __device__ Outcome read(Range<CompositeKey> const& bracket) {
    clear(round(1));
    Round& counts = round();
    m_shared.histogram[threadIdx.x] = 0;
    if (threadIdx.x == 0)
      m_shared.target = {bracket,      &counts.certain, &counts.candidates, 0,
                         candidates(), m_work.capacity, m_shared.histogram};
    __syncthreads();
    stream(m_shared);
    __syncthreads();
    add_histogram();
    barrier();
    return {__ldcg(&counts.certain), __ldcg(&counts.candidates),
            __ldcg(&counts.histogram[bins - 1 - threadIdx.x])};
  }

  __device__ bool is_proven(Outcome const& outcome) const {
    auto const certain = static_cast<std::int64_t>(outcome.certain);
    auto const within = static_cast<std::int64_t>(outcome.within);
    return certain <= k() && certain + within >= k() && within <= m_work.capacity;
  }

  /// Adds the histogram of the block to that of the group.
  __device__ void add_histogram() const {
    unsigned const mine = m_shared.histogram[threadIdx.x];
    if (mine != 0)
      atomicAdd(&round().histogram[threadIdx.x], static_cast<unsigned long long>(mine));
  }

  /// The notes of a warp.
  struct Noted {
    int first_tile = 0;  // where distances begin
    unsigned count = 0;
  };

  /// It is not inlined, and neither are its rare parts, because the loop needs all registers.
  __device__ __noinline__ static void stream(Shared& shared) {
    Selection const selection(shared);
    Work<Bits, CompositeKey> const& work = shared.work;
    Keys const keys = shared.keys;
    CompositeKey const threshold = shared.target.bracket.low;
    Bits const least = work.map.ordered_bits_of(threshold);
    QuickTest<Bits> const tie_test(work.map.rank, least);
    QuickTest<Bits> const strict_test(work.map.rank, static_cast<Bits>(least + 1));
    Test<Bits> test(work.map.rank);
    TiedTiles const ties(work.map, threshold, keys.head);
    int const parts = work.parts, part = selection.part();
    auto const tiles = static_cast<int>((keys.vectors + RowTile::size - 1) / RowTile::size);
    Noted noted;
#pragma unroll 1
    for (int number = part; number < tiles; number += parts) {
      if (ties.rules_out(number)) continue;
      test.set(ties.has(number) ? tie_test : strict_test);
      auto const rest =
          min(keys.vectors - std::int64_t{number} * RowTile::size, std::int64_t{RowTile::size});
      if (!note_tile(shared, keys, number, static_cast<int>(rest), test, noted))
        noted = note_crowded_tile(shared, number, test, noted);
    }
    bool const has_ends = part == parts - 1 && threadIdx.x < 32;
#pragma unroll 1
    for (int ends = 0;; ++ends) {
      flush(shared, noted);
      noted.count = 0;
      if (!has_ends || ends == 2) return;
      selection.note_end(keys, ends, noted);
    }
  }

  /// In which tiles a key with the rank of the threshold can reach the threshold.
  struct TiedTiles {
    int cut;
    bool low_positions_win, ties_only;

    __device__ TiedTiles(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold,
                         std::int64_t head)
        : low_positions_win(map.flip != 0),
          ties_only(map.ordered_bits_of(threshold) == std::numeric_limits<Bits>::max()) {
      std::int64_t const distance = static_cast<std::int64_t>(map.position(threshold)) - head;
      cut = distance < 0 ? -1 : static_cast<int>(distance / tile_keys);
    }
    __device__ bool has(int tile) const { return low_positions_win ? tile <= cut : tile >= cut; }
    /// Whether no key of the tile can reach the threshold.
    __device__ bool rules_out(int tile) const { return ties_only && !has(tile); }
  };

  static constexpr int keys_of_vectors =
      tuning.threads * Keys::width;  // neighbors of a thread's vector

  /// Notes the keys of a warp's part of a tile that pass. Returns false if they do not fit the notes.
  __device__ static bool note_tile(Shared& shared, Keys const& keys, int number, int size,
                                   Test<Bits> const& test, Noted& noted) {
    using Passing =
        std::conditional_t<(RowTile::in_flight * Keys::width > 32), std::uint64_t, unsigned>;
    RowTile tile;
#pragma unroll
    for (int v = 0; v < RowTile::in_flight; ++v) {
      std::int64_t const first = std::int64_t{number} * RowTile::size;
      int const place = RowTile::place(0, v);
      tile.vectors[v] = place < size ? keys.load(first + place) : Vector<Bits>{};
    }
    Passing passing = 0;
#pragma unroll
    for (int v = 0; v < RowTile::in_flight; ++v)
      if (RowTile::place(0, v) < size)
        passing |= static_cast<Passing>(tile.vectors[v].passing(test)) << v * Keys::width;
    if (__any_sync(full_warp, passing != 0) == 0) return true;
    auto const mine = static_cast<unsigned>(count_bits(passing));
    unsigned const inclusive = warp_sum_to(mine);
    unsigned const all = __shfl_sync(full_warp, inclusive, 31);
    if (noted.count == 0) noted.first_tile = number;
    if (noted.count + all > most_notes<Bits> || number - noted.first_tile >= most_tiles)
      return false;
    unsigned const distance =
        static_cast<unsigned>((number - noted.first_tile) * tile_keys) + threadIdx.x * Keys::width;
    Note<Bits>* to = warp_notes(shared) + noted.count + (inclusive - mine);
#pragma unroll
    for (int v = 0; v < RowTile::in_flight; ++v)
#pragma unroll
      for (int i = 0; i < Keys::width; ++i)
        if ((passing >> (v * Keys::width + i) & 1) != 0)
          *to++ = {key_in(tile.vectors[v].word, i),
                   distance + static_cast<unsigned>(v * keys_of_vectors + i)};
    noted.count += all;
    return true;
  }

  /// The same for a tile that may have more such keys than fit: it takes one key of each lane at a time.
  __device__ __noinline__ static Noted note_crowded_tile(Shared& shared, int number,
                                                         Test<Bits> test, Noted noted) {
    Keys const& keys = shared.keys;
    flush(shared, noted);
    noted = {number, 0};
    std::int64_t const first = keys.position(std::int64_t{number} * RowTile::size);
    std::int64_t const end = keys.position(keys.vectors);
    constexpr int chunks =
        RowTile::in_flight * Keys::width;  // of 32 neighbors, in the vectors of a warp
    int const warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk += in_batch) {
      Bits batch[in_batch];
      int distances[in_batch];
#pragma unroll
      for (int i = 0; i < in_batch; ++i) {
        int const vector = (chunk + i) / Keys::width, in_vectors = (chunk + i) % Keys::width;
        distances[i] = vector * keys_of_vectors + warp * 32 * Keys::width + in_vectors * 32 + lane;
        batch[i] = first + distances[i] < end ? keys.key(first + distances[i]) : Bits{0};
      }
#pragma unroll
      for (int i = 0; i < in_batch; ++i) {
        bool const passes = first + distances[i] < end && test(batch[i]);
        unsigned const passing = __ballot_sync(full_warp, passes);
        if (passes)
          warp_notes(shared)[noted.count + rank_in(passing)] = {
              batch[i], static_cast<unsigned>(distances[i])};
        noted.count += static_cast<unsigned>(__popc(passing));
      }
      if (noted.count > most_notes<Bits> - 32 * in_batch) {
        flush(shared, noted);
        noted.count = 0;
      }
    }
    return noted;
  }

  __device__ static int count_bits(unsigned bits) { return __popc(bits); }
  __device__ static int count_bits(std::uint64_t bits) { return __popcll(bits); }

  __device__ static Bits key_in(unsigned const* words, int i) {
    if constexpr (sizeof(Bits) == 8) {
      return static_cast<Bits>(words[2 * i + 1]) << 32 | words[2 * i];
    } else {
      constexpr int in_word = 4 / sizeof(Bits);
      return static_cast<Bits>(words[i / in_word] >> (i % in_word * 8 * sizeof(Bits)));
    }
  }

  /// Notes the keys before the vectors, or those behind them; one warp calls it. Distances before the first tile are
  /// negative.
  __device__ void note_end(Keys const& keys, int end, Noted& noted) const {
    std::int64_t const lane = threadIdx.x, tail = keys.position(keys.vectors);
    std::int64_t const position = end == 0 ? lane : tail + lane;
    bool const is_key = position < (end == 0 ? keys.head : keys.n);
    noted.first_tile = end == 0 ? 0 : static_cast<int>(keys.vectors / RowTile::size);
    std::int64_t const from = keys.position(std::int64_t{noted.first_tile} * RowTile::size);
    unsigned const here = __ballot_sync(full_warp, is_key);
    if (is_key)
      warp_notes(m_shared)[rank_in(here)] = {keys.key(position),
                                             static_cast<unsigned>(position - from)};
    noted.count = static_cast<unsigned>(__popc(here));
  }

  __device__ static Note<Bits>* warp_notes(Shared& shared) {
    return shared.notes[threadIdx.x / 32];
  }

  static constexpr int in_batch = 4;
  static constexpr int most_tiles = (1 << 30) / tile_keys;  // that distances can span

  /// Writes the noted keys of a warp that are in the bracket or above it.
  __device__ __noinline__ static void flush(Shared& shared, Noted noted) {
    Selection const selection(shared);
    std::int64_t const from = shared.keys.position(std::int64_t{noted.first_tile} * RowTile::size);
    __syncwarp();
    unsigned above = 0, within = 0;
    selection.visit_batches(from, noted.count,
                            [&](CompositeKey const(&)[in_batch], unsigned const(&aboves)[in_batch],
                                unsigned const(&withins)[in_batch]) {
#pragma unroll
                              for (int i = 0; i < in_batch; ++i) {
                                above += static_cast<unsigned>(__popc(aboves[i]));
                                within += static_cast<unsigned>(__popc(withins[i]));
                              }
                            });
    unsigned const lane = threadIdx.x % 32, added = lane == 0 ? above : within;
    Target<CompositeKey> const& target = shared.target;
    unsigned long long base = 0;
    if (lane < 2 && added != 0)
      base = atomicAdd(lane == 0 ? target.above : target.within,
                       static_cast<unsigned long long>(added));
    unsigned long long slot = target.first_slot + __shfl_sync(full_warp, base, 0);
    unsigned long long place = __shfl_sync(full_warp, base, 1);
    selection.visit_batches(
        from, noted.count,
        [&](CompositeKey const(&composites)[in_batch], unsigned const(&aboves)[in_batch],
            unsigned const(&withins)[in_batch]) {
          selection.write(composites, aboves, withins, slot, place);
        });
    __syncwarp();
  }

  /// Calls visit(composites, aboves, withins) for the notes of a warp: the composite keys of the lane, and masks of the
  /// lanes that have one above the bracket, and one in it.
  template <class Visit>
  __device__ void visit_batches(std::int64_t from, unsigned count, Visit const& visit) const {
    Range<CompositeKey> const& bracket = m_shared.target.bracket;
#pragma unroll 1
    for (unsigned first = 0; first < count; first += 32 * in_batch) {
      CompositeKey composites[in_batch];
      unsigned aboves[in_batch], withins[in_batch];
#pragma unroll
      for (int i = 0; i < in_batch; ++i) {
        unsigned const at = first + i * 32 + threadIdx.x % 32;
        Note<Bits> const note = warp_notes(m_shared)[at < count ? at : 0];
        composites[i] = m_work.map(
            note.key, static_cast<std::uint64_t>(from + static_cast<int>(note.distance)));
        bool const is_above = at < count && composites[i] > bracket.high;
        aboves[i] = __ballot_sync(full_warp, is_above);
        withins[i] =
            __ballot_sync(full_warp, at < count && !is_above && composites[i] >= bracket.low);
      }
      visit(composites, aboves, withins);
    }
  }

  __device__ CompositeKey composite_at(std::int64_t position) const {
    return m_work.map(keys().key(position), static_cast<std::uint64_t>(position));
  }

  /// Writes a batch of a warp: to the output from `slot` on, and to the list from `place` on.
  __device__ void write(CompositeKey const (&composites)[in_batch],
                        unsigned const (&aboves)[in_batch], unsigned const (&withins)[in_batch],
                        unsigned long long& slot, unsigned long long& place) const {
    unsigned const lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < in_batch; ++i) {
      if (aboves[i] >> lane & 1) emit(slot + rank_in(aboves[i]), composites[i]);
      if (withins[i] >> lane & 1) list(place + rank_in(withins[i]), composites[i]);
      slot += static_cast<unsigned>(__popc(aboves[i]));
      place += static_cast<unsigned>(__popc(withins[i]));
    }
  }
  __device__ static unsigned rank_in(unsigned lanes) {
    return static_cast<unsigned>(__popc(lanes & ((1u << threadIdx.x % 32) - 1)));
  }

  __device__ void list(unsigned long long place, CompositeKey composite) const {
    Target<CompositeKey> const& target = m_shared.target;
    if (place < static_cast<unsigned long long>(target.capacity)) target.list[place] = composite;
    if (target.histogram != nullptr)
      atomicAdd(&target.histogram[target.bracket.bin(composite)], 1u);
  }

  // ---- digits

  /// Counts a digit of those of `size` composite keys that are in the range, and finds the bin of the need-th best. All
  /// blocks of the group call it.
  /// \param composite_at  composite_at(i) is composite key i
  template <class CompositeAt>
  __device__ Place find_digit(Range<CompositeKey> const& range, unsigned long long need,
                              std::int64_t size, CompositeAt const& composite_at) {
    ++m_round;
    clear(round(1));
    m_shared.histogram[threadIdx.x] = 0;
    __syncthreads();
    std::int64_t const stride = std::int64_t{m_work.parts} * tuning.threads;
#pragma unroll 4
    for (std::int64_t i = std::int64_t{part()} * tuning.threads + threadIdx.x; i < size;
         i += stride) {
      CompositeKey const composite = composite_at(i);
      if (range.has(composite)) count_bin(m_shared.histogram, range.bin(composite));
    }
    __syncthreads();
    add_histogram();
    barrier();
    return find_bin(need, __ldcg(&round().histogram[bins - 1 - threadIdx.x]));
  }

  /// \param mine  the count of the calling thread's bin; thread 0 has the best bin
  __device__ static Place find_bin(unsigned long long need, unsigned long long mine) {
    return block_find<bins, tuning.threads>(need, [&](int) { return mine; });
  }

  /// Counts with one atomic operation for all lanes that have the bin of the first, as most have if keys are equal.
  __device__ static void count_bin(unsigned* histogram, unsigned bin) {
    unsigned const callers = __activemask();
    int const leader = __ffs(static_cast<int>(callers)) - 1;
    unsigned const alike = __ballot_sync(callers, bin == __shfl_sync(callers, bin, leader));
    bool const is_leader = static_cast<int>(threadIdx.x % 32) == leader;
    if (is_leader || (alike >> threadIdx.x % 32 & 1) == 0)
      atomicAdd(&histogram[bin], is_leader ? static_cast<unsigned>(__popc(alike)) : 1u);
  }

  /// Finds a bracket by digits of all keys, until the bin of the k-th composite key fits the candidates.
  __device__ Range<CompositeKey> exact_bracket() {
    auto need = static_cast<unsigned long long>(k());
    Range<CompositeKey> range = Range<CompositeKey>::of(0, last_composite());
    Place place;
#pragma unroll 1
    do {
      place = find_digit(range, need, n(), [&](std::int64_t i) { return composite_at(i); });
      need -= place.above;
      range = range.part(place.bin);
    } while (static_cast<std::int64_t>(place.here) > m_work.capacity);
    ++m_round;
    return range;
  }

  // ---- collect

  /// Finds the k-th composite key among the candidates.
  __device__ void finish(Range<CompositeKey> range, Outcome const& outcome) {
    unsigned long long need = static_cast<unsigned long long>(k()) - outcome.certain;
    if (need == 0) return;
    auto const size = static_cast<std::int64_t>(outcome.within);
    CompositeKey const* const composites = candidates();
    Place place = find_bin(need, outcome.in_bin);
    need -= place.above;
    range = range.part(place.bin);
#pragma unroll 1
    while (place.here > settled_composites<CompositeKey>) {
      place = find_digit(range, need, size,
                         [&](std::int64_t i) { return load_written(composites + i); });
      need -= place.above;
      range = range.part(place.bin);
    }
    collect(range, size, outcome.certain);
    if (last_block(&round().settled, static_cast<unsigned>(m_work.parts)))
      settle(range, static_cast<int>(place.here), static_cast<unsigned>(need));
  }

  __device__ void collect(Range<CompositeKey> const& range, std::int64_t size,
                          unsigned long long first_slot) const {
    Round& counts = round();
    if (threadIdx.x == 0)
      m_shared.target = {range,      &counts.collected, &counts.boundary,
                         first_slot, boundary(),        settled_composites<CompositeKey>,
                         nullptr};
    __syncthreads();
    std::int64_t const stride = std::int64_t{m_work.parts} * tuning.threads * in_batch;
#pragma unroll 1
    for (std::int64_t first = std::int64_t{part()} * tuning.threads * in_batch; first < size;
         first += stride)
      distribute(candidates(), first, size);
  }

  /// Distributes the block's share of the candidates. It takes slots for all threads at once.
  __device__ void distribute(CompositeKey const* candidates, std::int64_t first,
                             std::int64_t size) const {
    Target<CompositeKey> const& target = m_shared.target;
    unsigned const lane = threadIdx.x % 32;
    CompositeKey composites[in_batch];
    unsigned aboves[in_batch], withins[in_batch];
#pragma unroll
    for (int i = 0; i < in_batch; ++i) {
      std::int64_t const at = first + i * tuning.threads + static_cast<int>(threadIdx.x);
      composites[i] = at < size ? load_written(candidates + at) : CompositeKey{0};
    }
    unsigned above = 0, within = 0;
#pragma unroll
    for (int i = 0; i < in_batch; ++i) {
      bool const is_composite = first + i * tuning.threads + static_cast<int>(threadIdx.x) < size;
      bool const is_above = is_composite && composites[i] > target.bracket.high;
      aboves[i] = __ballot_sync(full_warp, is_above);
      withins[i] = __ballot_sync(full_warp,
                                 is_composite && !is_above && composites[i] >= target.bracket.low);
      above += static_cast<unsigned>(__popc(aboves[i]));
      within += static_cast<unsigned>(__popc(withins[i]));
    }
    if (threadIdx.x < 2) m_shared.claimed[threadIdx.x] = 0;
    __syncthreads();
    unsigned mine = 0;
    if (lane < 2) mine = atomicAdd(&m_shared.claimed[lane], lane == 0 ? above : within);
    __syncthreads();
    if (threadIdx.x < 2 && m_shared.claimed[threadIdx.x] != 0)
      m_shared.bases[threadIdx.x] =
          atomicAdd(threadIdx.x == 0 ? target.above : target.within,
                    static_cast<unsigned long long>(m_shared.claimed[threadIdx.x]));
    __syncthreads();
    unsigned long long slot =
        target.first_slot + m_shared.bases[0] + __shfl_sync(full_warp, mine, 0);
    unsigned long long place = m_shared.bases[1] + __shfl_sync(full_warp, mine, 1);
    write(composites, aboves, withins, slot, place);
  }

  /// Selects from the bin of the k-th composite key, in one block: by digits until all in the last bin are selected.
  __device__ void settle(Range<CompositeKey> range, int size, unsigned need) const {
    CompositeKey* const composites = m_shared.settled;
    unsigned* const histogram = m_shared.histogram;
    if (threadIdx.x == 0) m_shared.taken = 0;
    for (int i = threadIdx.x; i < size; i += tuning.threads)
      composites[i] = load_written(boundary() + i);
    auto const first_slot = static_cast<unsigned long long>(k()) - need;
    auto here = static_cast<unsigned>(size);
#pragma unroll 1
    while (here != need) {
      histogram[threadIdx.x] = 0;
      __syncthreads();
      for (int i = threadIdx.x; i < size; i += tuning.threads)
        if (range.has(composites[i])) atomicAdd(&histogram[range.bin(composites[i])], 1u);
      __syncthreads();
      Place const place =
          block_find<bins, tuning.threads>(need, [&](int bin) { return histogram[bin]; });
      need -= static_cast<unsigned>(place.above);
      here = static_cast<unsigned>(place.here);
      range = range.part(place.bin);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += tuning.threads)
      if (composites[i] >= range.low) emit(first_slot + claim(&m_shared.taken), composites[i]);
    __syncthreads();
  }

  // ---- output

  __device__ void emit(unsigned long long slot, CompositeKey composite) const {
    auto const at = static_cast<std::int64_t>(slot);
    if (at >= k()) return;
    if (m_work.selected != nullptr)
      m_work.selected[m_shared.row * m_work.problem.shape.k + at] = composite;
    else
      store_composite_key(m_work.problem, m_work.map, m_shared.row, at, composite);
  }

  /// Stores the count and fills the slots behind the selected keys.
  __device__ void fill() const {
    StoredProblem<Bits> const& problem = m_work.problem;
    std::int64_t const row = m_shared.row;
    if (threadIdx.x == 0 && problem.counts) problem.counts.store(row, k());
#pragma unroll 1
    for (std::int64_t slot = k() + static_cast<int>(threadIdx.x); slot < problem.shape.k;
         slot += tuning.threads)
      problem.out.store_missing(row, slot);
  }

  Work<Bits, CompositeKey> const& m_work;
  Shared& m_shared;
  unsigned m_round = 0;
  unsigned m_awaited = 0;  // arrivals at the barriers of the group so far, including the first
};

template <class Bits, class CompositeKey, bool Packed>
__global__ void __launch_bounds__(tuning.threads, tuning.blocks)
    select_rows(__grid_constant__ Work<Bits, CompositeKey> const work) {
  __shared__ Shared<Bits, CompositeKey, Packed> shared;
  if (threadIdx.x == 0) shared.work = work;
  __syncthreads();
  Selection<Bits, CompositeKey, Packed> selection(shared);
  std::int64_t const groups = gridDim.x / work.parts;
  selection.begin();
#pragma unroll 1
  for (std::int64_t row = blockIdx.x / work.parts; row < work.problem.shape.rows; row += groups)
    selection.select(row);
}

// ---- host side

/// How rows are distributed over the device.
struct Layout {
  std::int64_t groups;    // rows that are selected at once
  int parts;              // blocks that share a row
  std::int64_t capacity;  // the most candidates of a row
};

std::int64_t length_of(Shape const& shape) {
  return shape.ragged ? shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
}

/// The distribution with the least work for a block, in keys that it reads one after the other.
Layout lay_rows(int concurrency, Shape const& shape, int composite_size) {
  std::int64_t const blocks =
      std::max(1, concurrency / (tuning.threads * (2048 / tuning.threads / tuning.blocks)));
  std::int64_t const length = length_of(shape);
  std::int64_t const most_parts = std::max<std::int64_t>(1, length / tuning.least_part);
  Layout best{1, 1, 0};
  std::int64_t least_cost = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t groups = std::min(shape.rows, blocks); groups >= 1; --groups) {
    std::int64_t const parts = std::min(blocks / groups, most_parts);
    std::int64_t const turns = (shape.rows + groups - 1) / groups;
    std::int64_t const cost = turns * (length / parts + tuning.turn_keys * (parts > 1 ? 2 : 1));
    if (cost >= least_cost) continue;
    least_cost = cost;
    best.groups = groups;
    best.parts = static_cast<int>(parts);
  }
  std::int64_t const n = shape.ragged ? std::min(shape.n, length * tuning.ragged_lengths) : shape.n;
  best.capacity = std::max<std::int64_t>(
      1, radix_capacity(n, std::min(n, shape.k), shape.key_bytes, composite_size));
  return best;
}

template <class Bits, class CompositeKey>
std::size_t lay_out(Work<Bits, CompositeKey>& w, void* workspace, Layout const& layout,
                    Shape const& shape, Options const& options) {
  WorkspaceLayout arrays(workspace);
  w.rounds = arrays.take<Round>(layout.groups * rounds_in_use);
  w.arrived = arrays.take<unsigned>(layout.groups);
  w.candidates = arrays.take<CompositeKey>(layout.groups * layout.capacity);
  w.samples = arrays.take<CompositeKey>(layout.groups * most_samples<CompositeKey>);
  w.boundary = arrays.take<CompositeKey>(layout.groups * settled_composites<CompositeKey>);
  bool const sorted = options.sorted == Sorted::yes;
  w.selected = sorted ? arrays.take<CompositeKey>(shape.rows * shape.k) : nullptr;
  w.spare = sorted && needs_merges<CompositeKey>(shape.k)
                ? arrays.take<CompositeKey>(shape.rows * shape.k)
                : nullptr;
  if (sorted && is_sorted_by_cub(shape))
    w.sorting = arrays.take<std::byte>(static_cast<std::int64_t>(sort_long_bytes(shape.k)));
  return arrays.bytes();
}

/// Blocks that share a row wait for each other, so they must all be on the device at once.
template <auto Kernel, class Bits, class CompositeKey>
void launch(int device, cudaStream_t stream, Work<Bits, CompositeKey> work, std::int64_t groups) {
  std::int64_t const resident = resident_blocks<Kernel>(device, tuning.threads);
  work.parts = static_cast<int>(std::clamp<std::int64_t>(resident / groups, 1, work.parts));
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(groups * work.parts));
  config.blockDim = dim3(tuning.threads);
  config.stream = stream;
  config.attrs = &cooperative;
  config.numAttrs = work.parts > 1 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, Kernel, work), "launch");
}

template <class Bits, class CompositeKey>
void run(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
         Options const& options, void* workspace) {
  Shape const& shape = problem.shape;
  Layout const layout = lay_rows(concurrency, shape, sizeof(CompositeKey));
  Work<Bits, CompositeKey> work{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      forced_threshold, layout.parts, layout.capacity};
  lay_out(work, workspace, layout, shape, options);
  if (problem.rows.step == 1)
    launch<select_rows<Bits, CompositeKey, true>>(device, stream, work, layout.groups);
  else
    launch<select_rows<Bits, CompositeKey, false>>(device, stream, work, layout.groups);
  if (work.selected == nullptr) return;
  RowsToSort<Bits, CompositeKey> const rows{problem, work.map};
  if (work.sorting != nullptr)
    sort_long_rows(stream, rows, work.selected, work.spare, work.sorting);
  else
    sort_rows(stream, rows, work.selected, work.spare);
  check(cudaGetLastError(), "launch");
}

}  // namespace

std::size_t radix_workspace_bytes(int concurrency, Shape const& shape, Options const& options) {
  if (composite_key_bytes(shape.key_bytes, shape.n) == sizeof(CompositeKey64)) {
    Work<std::uint32_t, CompositeKey64> work{};
    return lay_out(work, nullptr, lay_rows(concurrency, shape, sizeof(CompositeKey64)), shape,
                   options);
  }
  Work<std::uint64_t, CompositeKey128> work{};
  return lay_out(work, nullptr, lay_rows(concurrency, shape, sizeof(CompositeKey128)), shape,
                 options);
}

template <class Bits>
void radix(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
           Options const& options, void* workspace) {
  OnDevice const here(device);
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    run<Bits, decltype(composite)>(device, concurrency, stream, problem, options, workspace);
  });
}

#define KTOPK_INSTANTIATE(Bits) \
  template void radix(int, int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
