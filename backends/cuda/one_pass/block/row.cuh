// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <limits>

#include <ktopk/core/problem.hpp>
#include <ktopk/core/testing.hpp>
#include <ktopk/options.hpp>

#include "../../common/block.cuh"
#include "../../common/cluster.cuh"
#include "../../common/digits.cuh"
#include "../../common/stream.cuh"
#include "tuning.hpp"

// One block, or a cluster of blocks, selects from a row in one kernel:
// sample: the order-th best of some samples, spread over the row, is the threshold.
// stream: one read of the row keeps the keys that reach it, in shared memory.
// finish: what is above the bin of the k-th composite key is selected. In that bin each composite key is compared with
//         all others. The blocks of a cluster add up their histograms, and each stores its own selected keys; or they
//         send what they kept to the first block.
// If the count does not prove that the k best are among the kept, digits of all keys give an exact threshold, and the
// row is read again.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassBatchTuning tuning = one_pass_batch_tuning;
static_assert(tuning.least_shared > tuning.boundary);

/// The bins of the histograms of a row's samples and kept keys.
constexpr int bins_of(int threads) {
  return std::min(tuning.most_bins, tuning.bins_a_thread * threads);
}

template <class Bits, class CompositeKey>
struct Batch {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Threshold forced;
  Sorted sorted;
  int parts = 1;               // blocks that share a row, or a group of rows
  int lists = 1;               // rows of a group; more than 1 if they are interleaved
  int capacity = 0;            // composite keys of a row that can be kept
  int ordered = 0;             // composite keys that can be sorted; a power of two
  std::int64_t left_out = -1;  // rows up to this length are not selected from
};

/// The threshold that a composite key must reach to be kept, and the width of the bins above it.
template <class CompositeKey>
struct Filter {
  CompositeKey threshold;
  int shift;

  template <int Bins>
  __device__ unsigned bin_of(CompositeKey composite) const {
    CompositeKey const distance = (composite - threshold) >> shift;
    return distance < Bins - 1 ? static_cast<unsigned>(distance) : Bins - 1;
  }
};

/// The bins reach from the threshold to once or twice as far above it as the best sample; further for small orders,
/// because composite keys may then be far above all samples.
template <int Bins, class CompositeKey>
__device__ int shift_for(CompositeKey spread, int order) {
  int const further = order <= tuning.tail_order ? 3 : order <= tuning.sparse_order ? 1 : 0;
  int const width = highest_bit(spread) + 1 + further;
  constexpr int bits = std::bit_width(unsigned{Bins}) - 1;
  return width > bits ? width - bits : 0;
}

/// Vectors of a warp which hold keys that may pass, until there are enough for all lanes.
struct FoundVectors {
  static constexpr int slots = 64;  // for 31 that wait and a load of all lanes
  uint4 words[slots];
  int places[slots];
};

/// What a block knows of its row, in shared memory, because the stream needs the registers.
template <class Bits, class CompositeKey>
struct RowNotes {
  Bits const* keys;  // from the first vector on, aligned to 16 bytes
  int head;          // keys before the first vector
  int vectors;
  int n, k;
  std::int64_t row;
  int turn;           // which of `kept` counts this row
  unsigned kept[2];   // used in turns: other blocks may read one while the next row begins
  unsigned selected;  // composite keys stored so far
  unsigned at_boundary;
  unsigned base;  // where this block's composite keys begin in the first block's list
  Filter<CompositeKey> filter;
  Place place;
};

/// The bytes before the lists: of a histogram and the vectors that warps have found, or of a histogram of digits.
constexpr std::size_t work_bytes(int threads) {
  std::size_t const found = static_cast<std::size_t>(threads) / 32 * sizeof(FoundVectors);
  return std::max(digits * sizeof(unsigned),
                  static_cast<std::size_t>(bins_of(threads)) * sizeof(unsigned) + found);
}

template <class CompositeKey>
constexpr std::size_t shared_bytes(int threads, int lists, int capacity, int ordered) {
  std::int64_t const composites = std::int64_t{lists} * capacity + ordered + tuning.boundary;
  return static_cast<std::size_t>(composites) * sizeof(CompositeKey) + work_bytes(threads);
}

extern __shared__ __align__(16) unsigned char dynamic_shared[];

/// The interval of the k-th composite key: `need` of the `here` composite keys from low to high are selected, and all
/// those above.
template <class CompositeKey>
struct Interval {
  CompositeKey low, high;
  int above, here, need;

  __device__ bool is_whole() const { return here == need; }
  __device__ bool selects(CompositeKey composite) const {
    return composite > high || (composite >= low && is_whole());
  }
  __device__ bool has(CompositeKey composite) const {
    return low <= composite && composite <= high;
  }
};

/// Adjacent keys, loaded together.
template <class Bits>
struct alignas(sizeof(Bits) * sample_neighbors < 16 ? sizeof(Bits) * sample_neighbors : 16)
    Neighbors {
  Bits keys[sample_neighbors];
};

/// Stores the count of a row and fills the slots behind its selected keys; all threads of a block call it.
template <class Bits>
__device__ void fill_row(StoredProblem<Bits> const& problem, std::int64_t row, int k) {
  if (threadIdx.x == 0 && problem.counts) problem.counts.store(row, k);
  for (std::int64_t slot = k + static_cast<int>(threadIdx.x); slot < problem.shape.k;
       slot += blockDim.x)
    problem.out.store_missing(row, slot);
}

/// \tparam Vectors  how many loads of 16 bytes a thread issues before it uses any
template <class Bits, class CompositeKey, int Threads, bool Clustered, bool Strided,
          int Vectors = tuning.vectors_in_flight>
class RowSelection {
 public:
  /// \param list  which of the block's lists holds the kept composite keys of the row
  __device__ explicit RowSelection(Batch<Bits, CompositeKey> const& batch, int list = 0)
      : m_batch(batch), m_list(list) {}

  /// All threads of all blocks of the row call it.
  __device__ void run(std::int64_t row, int turn) const {
    begin(row, turn);
    if (notes().k > 0) select();
    if (part() == 0) fill();
  }

  /// The single steps, for a block that reads several rows together.

  __device__ void begin(std::int64_t row, int turn = 0) const {
    if (threadIdx.x == 0) note_row(row, turn);
    __syncthreads();
  }

  /// The threshold of a row that was begun. If no key is wanted, it is the greatest composite key.
  __device__ Filter<CompositeKey> filter() const {
    if (notes().k == 0 || m_batch.forced == Threshold::too_high) return {last(), 0};
    return m_batch.forced == Threshold::too_low ? keep_all() : sampled_filter();
  }

  /// Finishes a row of which `size` keys passed the filter; they are in list() if it could hold all.
  __device__ void end(Filter<CompositeKey> const& filter, unsigned size) const {
    if (notes().k > 0) {
      begin_reading(filter);
      if (!is_proven(size)) size = read_row(exact_filter_of(m_batch));
      finish(static_cast<int>(size));
    }
    fill();
  }

  __device__ CompositeKey* list() const { return kept(); }

  /// Selects from a row that was begun, by an exact threshold.
  __device__ void select_exactly() const {
    finish_row(read_row(exact_filter_of(m_batch)));
    if constexpr (Clustered) cluster_sync();
  }

  __device__ void store(int slot, CompositeKey composite) const {
    CompositeKeyMap<Bits, CompositeKey> const& map = m_batch.map;
    std::uint64_t const position = map.position(composite);
    Bits const rank = map.ordered_bits_of(composite);
    Bits const key_found = map.rank.has_one_key(rank)
                               ? map.rank.key_of(rank)
                               : key(static_cast<std::int64_t>(position) - notes().head);
    m_batch.problem.out.store(notes().row, slot, key_found, position);
  }

  /// Stores the count and fills the slots behind the selected keys.
  __device__ void fill() const { fill_row(m_batch.problem, notes().row, notes().k); }

  __device__ static unsigned* histogram() { return reinterpret_cast<unsigned*>(dynamic_shared); }

  /// A key and its position side by side, which takes fewer instructions than to make its composite key.
  __device__ static CompositeKey raw(Bits key, unsigned position) {
    return static_cast<CompositeKey>(key) << (4 * sizeof(CompositeKey)) | position;
  }

 private:
  static constexpr int warps = Threads / 32;
  static constexpr int bins = bins_of(Threads);
  static constexpr int bin_bits = std::bit_width(unsigned{bins}) - 1;
  static constexpr int wide_bins = Threads > tuning.wide_bins ? Threads : tuning.wide_bins;
  static constexpr int wide_bits = std::bit_width(unsigned{wide_bins}) - 1;
  static constexpr int width = Vector<Bits>::size;
  using RowTile = Tile<Bits, Threads, Vectors>;

  __device__ static RowNotes<Bits, CompositeKey>& notes() {
    __shared__ RowNotes<Bits, CompositeKey> shared;
    return shared;
  }
  __device__ static CompositeKey* ordered() {
    return reinterpret_cast<CompositeKey*>(dynamic_shared + work_bytes(Threads));
  }
  /// The vectors that this warp has found.
  __device__ static FoundVectors& found() {
    return reinterpret_cast<FoundVectors*>(dynamic_shared +
                                           bins * sizeof(unsigned))[threadIdx.x / 32];
  }
  __device__ CompositeKey* boundary() const { return ordered() + m_batch.ordered; }
  __device__ CompositeKey* kept() const {
    return boundary() + tuning.boundary + m_list * m_batch.capacity;
  }
  __device__ int parts() const { return Clustered ? m_batch.parts : 1; }
  __device__ int part() const { return static_cast<int>(blockIdx.x) % parts(); }
  /// Key i, counted from the first vector on.
  __device__ Bits key(std::int64_t i) const {
    return notes().keys[Strided ? i * m_batch.problem.rows.step : i];
  }
  __device__ unsigned& count() const { return notes().kept[notes().turn]; }
  /// The greatest possible composite key.
  __device__ CompositeKey last() const {
    return (CompositeKey{1} << (m_batch.map.width() - 1) << 1) - 1;
  }

  __device__ void note_row(std::int64_t row, int turn) const {
    std::int64_t const n = m_batch.problem.length(row);
    Bits const* const keys = m_batch.problem.rows.pointer(row);
    auto const aligned = Strided ? AlignedRow<Bits>::with_gaps(keys, n) : AlignedRow<Bits>(keys, n);
    RowNotes<Bits, CompositeKey>& to = notes();
    to.keys = aligned.keys;
    to.head = static_cast<int>(aligned.head);
    to.vectors = static_cast<int>(aligned.vectors);
    to.n = static_cast<int>(n);
    to.k = static_cast<int>(m_batch.problem.selected_count(row));
    to.row = row;
    to.turn = turn;
  }

  // ---- Rare steps are called, not inlined. The functions take the batch: through a reference to an object in memory
  // the compiler would read all parameters from there again and again.

  __device__ static __noinline__ Filter<CompositeKey> exact_filter_of(
      Batch<Bits, CompositeKey> const& batch) {
    return RowSelection(batch).exact_filter();
  }
  __device__ static __noinline__ Interval<CompositeKey> refined_of(
      Batch<Bits, CompositeKey> const& batch, int list, Interval<CompositeKey> interval, int size) {
    return RowSelection(batch, list).refine(interval, size);
  }
  __device__ static __noinline__ void network_of(Batch<Bits, CompositeKey> const& batch, int list,
                                                 Interval<CompositeKey> interval, int size) {
    RowSelection(batch, list).order_by_network(interval, size);
  }

  __device__ static __noinline__ void refined_and_put(Batch<Bits, CompositeKey> const& batch,
                                                      int list, Interval<CompositeKey> interval,
                                                      int size) {
    RowSelection const row(batch, list);
    row.collect(row.refine(interval, size), size, ToOutput{row});
  }

  // ---- the steps

  __device__ void select() const {
    Filter<CompositeKey> filter = this->filter();
    unsigned size = 0;
#pragma unroll 1
    for (int readings = 0; readings < 2 && !is_proven(size); ++readings) {
      if (readings == 1) filter = exact_filter_of(m_batch);
      size = read_row(filter);
    }
    finish_row(size);
  }

  __device__ void finish_row(unsigned size) const {
    if (is_shared()) return finish_together(static_cast<int>(size));
    if (part() == 0) finish(static_cast<int>(size));
  }

  __device__ bool is_proven(unsigned size) const {
    return size >= static_cast<unsigned>(notes().k) &&
           size <= static_cast<unsigned>(m_batch.capacity);
  }

  /// Keeps the keys that pass; returns how many keys of the row did, even if the list could not hold them all.
  __device__ unsigned read_row(Filter<CompositeKey> const& filter) const {
    begin_reading({at_end_of_vector(filter.threshold), filter.shift});
    stream();
    if (part() == 0) offer_ends();
    __syncthreads();
    if constexpr (!Clustered) return count();
    if (is_shared()) {
      settle_own();
      cluster_sync();
      return __shfl_sync(full_warp, kept_up_to_lane(), 31);
    }
    bring_to_leader();
    cluster_sync();
    return *of_leader(&count());
  }

  __device__ void begin_reading(Filter<CompositeKey> const& filter) const {
    clear_histogram();
    if (threadIdx.x == 0) {
      count() = notes().selected = notes().at_boundary = 0;
      notes().filter = filter;
      if (Clustered && !is_shared()) cluster_fence();
    }
    __syncthreads();
    if (Clustered && !is_shared()) cluster_arrive_relaxed();
  }

  __device__ void clear_histogram() const {
    auto* const words = reinterpret_cast<uint4*>(histogram());
    for (int i = threadIdx.x; i < bins / 4; i += Threads) words[i] = uint4{};
  }

  // ---- what the blocks of a cluster do together

  /// Whether each block stores its own selected keys; otherwise the first block stores all.
  __device__ bool is_shared() const {
    return Clustered && m_batch.sorted == Sorted::no && notes().k >= tuning.least_shared;
  }

  /// Makes composite keys of the keys that this block kept, and counts them in wide bins, two counters in a word.
  __device__ void settle_own() const {
    Filter<CompositeKey> const filter = notes().filter;
    int const size = static_cast<int>(min(count(), static_cast<unsigned>(m_batch.capacity)));
    each_kept(size, [&](CompositeKey raw, int i) {
      CompositeKey const composite = composite_of(raw);
      kept()[i] = composite;
      unsigned const bin = wide(filter).template bin_of<wide_bins>(composite);
      atomicAdd(&histogram()[bin / 2], bin % 2 == 0 ? 1u : 1u << 16);
    });
  }

  __device__ static Filter<CompositeKey> wide(Filter<CompositeKey> const& filter) {
    return {filter.threshold, filter.shift + bin_bits - wide_bits};
  }

  /// How many keys the blocks up to the one with the lane's number kept.
  __device__ unsigned kept_up_to_lane() const {
    int const lane = static_cast<int>(threadIdx.x % 32);
    return warp_sum_to(lane < parts() ? *of_block(&count(), lane) : 0);
  }

  template <class T>
  __device__ static T* at_leader(T* mine) {
    return Clustered ? of_leader(mine) : mine;
  }

  /// Sends what this block kept to the first block, which has cleared its counters when cluster_wait returns.
  __device__ void bring_to_leader() const {
    cluster_wait();
    if (part() == 0) return;
    unsigned const capacity = static_cast<unsigned>(m_batch.capacity);
    unsigned const mine = count();
    if (threadIdx.x == 0) notes().base = atomicAdd(of_leader(&count()), mine);
    __syncthreads();
    unsigned const base = notes().base;
    CompositeKey* const to = of_leader(kept());
    for (unsigned i = threadIdx.x; i < mine && base + i < capacity && i < capacity; i += Threads)
      to[base + i] = kept()[i];
  }

  /// Sends the composite keys that settle_own made to the first block, which can hold them, behind those of the blocks
  /// before this one.
  __device__ void bring_composites_to_leader() const {
    unsigned const before = __shfl_sync(full_warp, kept_up_to_lane(), part()) - count();
    CompositeKey* const to = of_leader(kept()) + before;
    for (unsigned i = threadIdx.x; i < count() && part() != 0; i += Threads) to[i] = kept()[i];
    cluster_sync();
  }

  /// Each block stores its own selected composite keys; the first ranks those in the bin of the k-th.
  __device__ void finish_together(int size) const {
    Filter<CompositeKey> const filter = wide(notes().filter);
    Interval<CompositeKey> const interval = bin_at(find_in_wide_bins(), filter, wide_bins, size);
    if (interval.here > tuning.boundary && !interval.is_whole()) {
      bring_composites_to_leader();
      if (part() == 0) refined_and_put(m_batch, m_list, interval, size);
      return;
    }
    put_selected(interval, static_cast<int>(count()), ToOutput{*this});
    cluster_sync();
    if (part() == 0 && !interval.is_whole())
      rank_all(boundary(), interval.here, interval, ToOutput{*this});
  }

  /// Finds the bin of the k-th in the sum of all blocks' histograms, which it writes behind this block's own.
  __device__ Place find_in_wide_bins() const {
    constexpr int words = wide_bins / 2, groups = Threads / words;
    unsigned* const sums = histogram() + words;
    int const word = static_cast<int>(threadIdx.x) % words;
    unsigned sum = 0;
#pragma unroll
    for (int first = 0; first < tuning.most_parts; first += groups) {
      int const block = first + static_cast<int>(threadIdx.x) / words;
      if (block < parts()) sum += of_block(histogram(), block)[word];
    }
    if (sum != 0) atomicAdd(&sums[word], sum);
    __syncthreads();
    return block_find<wide_bins, Threads>(static_cast<unsigned long long>(notes().k), [&](int bin) {
      return sums[bin / 2] >> (bin % 2 * 16) & 0xffffu;
    });
  }

  // ---- sample

  __device__ Filter<CompositeKey> keep_all() const {
    return {CompositeKey{0}, std::max(0, m_batch.map.width() - bin_bits)};
  }

  __device__ Filter<CompositeKey> sampled_filter() const {
    int const rounds = sample_rounds(notes().n, Threads);
    auto const places = static_cast<unsigned>(notes().vectors) * width / sample_neighbors;
    unsigned const stratum = places / static_cast<unsigned>(Threads * rounds);
    float const samples = static_cast<float>(Threads * rounds * sample_neighbors);
    float const expected = static_cast<float>(notes().k) * samples / static_cast<float>(notes().n);
    float const order = expected + 4 * sqrtf(expected) + 4;
    if (stratum < 1 || order > tuning.most_order * Threads * sample_neighbors) return keep_all();
    CompositeKey sample[sample_neighbors];
    take_samples(rounds, stratum, sample);
    return order_statistic(sample, static_cast<int>(order));
  }

  /// Takes the samples of a thread. Neighboring strata go to different threads, so that a row whose keys depend on the
  /// position is sampled as well as any.
  __device__ void take_samples(int rounds, unsigned stratum,
                               CompositeKey (&best)[sample_neighbors]) const {
    constexpr int ahead = 2;
    for (CompositeKey& composite : best) composite = 0;
    for (int first = 0; first < rounds; first += ahead) {
      Neighbors<Bits> loaded[ahead];
      unsigned place[ahead];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        auto const s = static_cast<unsigned>((first + a) * Threads) + threadIdx.x;
        place[a] = s * stratum +
                   __umulhi(static_cast<unsigned>(scatter(s + 0x9e3779b97f4a7c15ull)), stratum);
        loaded[a] = first + a < rounds ? neighbors(place[a]) : Neighbors<Bits>{};
      }
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        if (first + a >= rounds) break;
        unsigned const position = static_cast<unsigned>(notes().head) + place[a] * sample_neighbors;
#pragma unroll
        for (int i = 0; i < sample_neighbors; ++i) {
          CompositeKey const composite =
              m_batch.map(loaded[a].keys[i], std::uint64_t{position + i});
          best[i] = composite > best[i] ? composite : best[i];
        }
      }
    }
  }

  __device__ Neighbors<Bits> neighbors(unsigned place) const {
    if constexpr (Strided) {
      Neighbors<Bits> gathered;
#pragma unroll
      for (int i = 0; i < sample_neighbors; ++i)
        gathered.keys[i] = key(std::int64_t{place} * sample_neighbors + i);
      return gathered;
    } else {
      return reinterpret_cast<Neighbors<Bits> const*>(notes().keys)[place];
    }
  }

  /// Finds a rank that at least `each` samples of the warp reach, and the best rank of the warp.
  __device__ void warp_range(CompositeKey const (&sample)[sample_neighbors], int each, Bits& bound,
                             Bits& best) const {
    Bits greatest = 0, least = std::numeric_limits<Bits>::max();
    for (CompositeKey const composite : sample) {
      Bits const rank = m_batch.map.ordered_bits_of(composite);
      greatest = rank > greatest ? rank : greatest;
      least = rank < least ? rank : least;
    }
    best = bound = warp_greatest(greatest);
    constexpr int few = 12;
    if (each > few) bound = warp_least(least);
    for (int i = 1; i < each && each <= few; ++i) {
      unsigned const holders = __ballot_sync(full_warp, greatest == bound);
      if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(holders)) - 1) greatest = 0;
      bound = warp_greatest(greatest);
    }
  }

  /// Finds a composite key at or a little below the order-th best sample of all threads.
  __device__ Filter<CompositeKey> order_statistic(CompositeKey const (&sample)[sample_neighbors],
                                                  int order) const {
    __shared__ Bits bounds[warps], bests[warps];
    Bits bound, best;
    warp_range(sample, (order + warps - 1) / warps, bound, best);
    if (threadIdx.x % 32 == 0) {
      bounds[threadIdx.x / 32] = bound;
      bests[threadIdx.x / 32] = best;
    }
    clear_histogram();
    __syncthreads();
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      best = bests[w] > best ? bests[w] : best;
      bound = bounds[w] < bound ? bounds[w] : bound;
    }
    int const shift = m_batch.map.position_bits;
    CompositeKey const low = static_cast<CompositeKey>(bound) << shift;
    CompositeKey const high = (static_cast<CompositeKey>(best) << shift) |
                              static_cast<CompositeKey>(m_batch.map.position_mask);
    Interval<CompositeKey> interval{low, high, 0, 0, order};
    narrow(interval, order / 16 + 1, [&](auto const& visit) {
      for (CompositeKey const composite : sample) visit(composite);
    });
    return {interval.low, shift_for<bins>(high - interval.low, order)};
  }

  /// Narrows the interval until at most `few` composite keys are in it or all in it are selected. The histogram must be
  /// clear.
  template <class Each>
  __device__ void narrow(Interval<CompositeKey>& interval, int few, Each const& each) const {
    while (true) {
      int const shift = std::max(0, highest_bit(interval.high - interval.low) + 1 - bin_bits);
      each([&](CompositeKey composite) {
        if (interval.has(composite))
          atomicAdd(&histogram()[static_cast<unsigned>((composite - interval.low) >> shift)], 1u);
      });
      __syncthreads();
      Place const place = block_find<bins, Threads>(static_cast<unsigned long long>(interval.need),
                                                    [&](int bin) { return histogram()[bin]; });
      enter(interval, place, shift);
      if (interval.here <= few || interval.is_whole() || shift == 0) return;
      clear_histogram();
      __syncthreads();
    }
  }

  /// Narrows the interval to one bin.
  __device__ static void enter(Interval<CompositeKey>& interval, Place const& place, int shift) {
    interval.low += static_cast<CompositeKey>(place.bin) << shift;
    CompositeKey const end = interval.low + ((CompositeKey{1} << shift) - 1);
    if (end < interval.high) interval.high = end;
    interval.above += static_cast<int>(place.above);
    interval.need -= static_cast<int>(place.above);
    interval.here = static_cast<int>(place.here);
  }

  // ---- stream

  /// The least composite key at or below the threshold by which all keys of a vector win a tie or none.
  __device__ CompositeKey at_end_of_vector(CompositeKey threshold) const {
    auto const mask = static_cast<CompositeKey>(m_batch.map.position_mask);
    auto const head = static_cast<unsigned>(notes().head);
    auto const position = static_cast<unsigned>(m_batch.map.position(threshold)) - head;
    if (position / width >= static_cast<unsigned>(notes().vectors)) return threshold;
    unsigned const end = position / width * width + (m_batch.map.flip != 0 ? width - 1 : 0) + head;
    return (threshold & ~mask) | static_cast<CompositeKey>(end ^ m_batch.map.flip);
  }

  __device__ void stream() const {
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    if (rank.magnitude == 0 || rank.ordered_nan == 0) return stream<BitsTest<Bits, false>>();
    if constexpr (sizeof(Bits) == 4)
      if (compare_as_numbers(rank)) return stream<FloatTest<Bits>>();
    if constexpr (sizeof(Bits) == 2 && has_pair_tests)
      if (compare_as_numbers(rank))
        return is_bfloat16(rank) ? stream<PairTest<__nv_bfloat162>>() : stream<PairTest<__half2>>();
    stream<BitsTest<Bits, true>>();
  }

  /// Keeps the keys of the block's part that pass. First the warps find the vectors that may hold one.
  template <class Test>
  __device__ void stream() const {
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    ThresholdTest<Bits> const tests(m_batch.map, notes().filter.threshold,
                                    static_cast<unsigned>(notes().head));
    Test const with_ties(rank, tests.with_ties), without(rank, tests.without);
    Bits const* const keys = notes().keys;
    int begin = part() * part_length(), end = min(begin + part_length(), notes().vectors);
    if (tests.ties_alone) (tests.low_wins ? end : begin) = border(tests, begin, end);
    unsigned const lower = (1u << (threadIdx.x % 32)) - 1;
    FoundVectors& found = this->found();
    int waiting = 0;
    bool has_room = true;
#pragma unroll 1
    for (int first = begin; first < end && has_room; first += RowTile::size) {
      RowTile tile;
      if constexpr (Strided)
        tile.gather(keys, m_batch.problem.rows.step, first, end);
      else if (first + RowTile::size <= end)
        tile.load(keys, first);
      else
        tile.load(keys, first, end);
      Test const test = tests.may_win_ties(first, RowTile::size) ? with_ties : without;
#pragma unroll
      for (int v = 0; v < RowTile::in_flight; ++v) {
        int const place = RowTile::place(first, v);
        bool const is_found = test(tile.vectors[v]) && place < end;
        unsigned const all = __ballot_sync(full_warp, is_found);
        if (is_found) {
          int const slot = waiting + __popc(all & lower);
          found.words[slot] = tile.vectors[v].words();
          found.places[slot] = place;
        }
        waiting += __popc(all);
        if (waiting >= 32) {
          waiting -= 32;
          has_room &= keep_found<Test::nan_wins>(tests, waiting, 32);
        }
      }
    }
    if (waiting > 0) keep_found<Test::nan_wins>(tests, 0, waiting);
  }

  /// The first vector of another kind than the one at `begin`: one wins ties, the other does not.
  __device__ static int border(ThresholdTest<Bits> const& tests, int begin, int end) {
    return static_cast<int>(
        min(max(tests.cut, static_cast<unsigned>(begin)), static_cast<unsigned>(end)));
  }

  /// Keeps the keys that pass of `size` vectors that the warp has found, from which settle() makes composite keys.
  /// Returns false if the list cannot hold them all.
  template <bool NanWins>
  __device__ bool keep_found(ThresholdTest<Bits> const& tests, int from, int size) const {
    int const lane = static_cast<int>(threadIdx.x % 32);
    __syncwarp();
    auto const vector = Vector<Bits>::of(found().words[from + lane]);
    int const place = found().places[from + lane];
    unsigned const passed = lane < size ? passing<NanWins>(tests, vector, place) : 0;
    auto const at = static_cast<unsigned>(notes().head + place * width);
    if constexpr (width > 4)
      return keep_by_turns(reinterpret_cast<Stored<Bits> const*>(&found().words[from + lane]),
                           passed, at);
    else
      return keep_by_places(vector, passed, at);
  }

  /// Keeps the keys of a lane's vector that have a bit in `passed`. Of many keys in a vector few have: each turn keeps one
  /// of each lane.
  __device__ bool keep_by_turns(Stored<Bits> const* keys, unsigned passed, unsigned at) const {
    unsigned slot = 0;
    if (!claim_kept(warp_total(static_cast<unsigned>(__popc(passed))), slot)) return false;
    unsigned const lower = (1u << (threadIdx.x % 32)) - 1;
    for (unsigned left = passed; unsigned const all = __ballot_sync(full_warp, left != 0);
         left &= left - 1) {
      auto const i = static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
      if (left != 0)
        kept()[slot + static_cast<unsigned>(__popc(all & lower))] = raw(keys[i], at + i);
      slot += static_cast<unsigned>(__popc(all));
    }
    __syncwarp();
    return true;
  }

  /// The same for vectors of few keys, which stay in registers.
  __device__ bool keep_by_places(Vector<Bits> const& vector, unsigned passed, unsigned at) const {
    unsigned all[width], total = 0, slot = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      all[i] = __ballot_sync(full_warp, (passed >> i & 1) != 0);
      total += static_cast<unsigned>(__popc(all[i]));
    }
    if (!claim_kept(total, slot)) return false;
    unsigned const lower = (1u << (threadIdx.x % 32)) - 1;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if ((passed >> i & 1) != 0)
        kept()[slot + static_cast<unsigned>(__popc(all[i] & lower))] =
            raw(vector.key(i), at + static_cast<unsigned>(i));
      slot += static_cast<unsigned>(__popc(all[i]));
    }
    __syncwarp();
    return true;
  }

  /// Claims slots of the list for `total` keys of a warp. Returns false if it cannot hold them.
  __device__ bool claim_kept(unsigned total, unsigned& slot) const {
    if (threadIdx.x % 32 == 0) slot = atomicAdd(&count(), total);
    slot = __shfl_sync(full_warp, slot, 0);
    return slot + total <= static_cast<unsigned>(m_batch.capacity);
  }

  /// A bit for each key of a vector that reaches the threshold.
  template <bool NanWins>
  __device__ unsigned passing(ThresholdTest<Bits> const& tests, Vector<Bits> const& vector,
                              int place) const {
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    bool const ties = tests.wins_ties(static_cast<unsigned>(place));
    QuickTest<Bits> const quick = tests.quick(ties);
    bool const nan_passes = ties && quick.least == 0;
    return vector.passing([&](Bits key) {
      bool const nan = static_cast<Bits>(key & rank.magnitude) > rank.infinity;
      return NanWins ? nan || quick(key) : nan ? nan_passes : quick(key);
    });
  }

  __device__ void offer(Bits key, unsigned position) const {
    if (m_batch.map(key, std::uint64_t{position}) < notes().filter.threshold) return;
    unsigned const slot = atomicAdd(&count(), 1u);
    if (slot < static_cast<unsigned>(m_batch.capacity)) kept()[slot] = raw(key, position);
  }

  /// How many vectors a block's part of the row has: whole lines of memory.
  __device__ int part_length() const {
    if constexpr (!Clustered) return notes().vectors;
    int const equal = (notes().vectors + m_batch.parts - 1) / m_batch.parts;
    return (equal + 7) / 8 * 8;
  }

  /// Calls visit(composite, i) for the first `size` kept keys. A thread loads several of them together.
  template <class Visit>
  __device__ void each_kept(int size, Visit const& visit) const {
    constexpr int together = 4;
    for (int first = threadIdx.x; first < size; first += together * Threads) {
      CompositeKey composites[together];
#pragma unroll
      for (int e = 0; e < together; ++e)
        composites[e] = first + e * Threads < size ? kept()[first + e * Threads] : CompositeKey{0};
#pragma unroll
      for (int e = 0; e < together; ++e)
        if (first + e * Threads < size) visit(composites[e], first + e * Threads);
    }
  }

  __device__ CompositeKey composite_of(CompositeKey raw) const {
    return m_batch.map(static_cast<Bits>(raw >> (4 * sizeof(CompositeKey))),
                       static_cast<std::uint32_t>(raw));
  }

  /// Makes composite keys of the kept keys, and counts them in bins.
  __device__ void settle(int size) const {
    Filter<CompositeKey> const filter = notes().filter;
    each_kept(size, [&](CompositeKey raw, int i) {
      CompositeKey const composite = composite_of(raw);
      kept()[i] = composite;
      if (size > tuning.boundary)
        atomicAdd(&histogram()[filter.template bin_of<bins>(composite)], 1u);
    });
    __syncthreads();
  }

  /// Offers the keys before and behind the vectors.
  __device__ void offer_ends() const {
    std::int64_t const head = notes().head, tail = head + notes().vectors * width;
    auto const offer_key = [&](std::int64_t i) { offer(key(i - head), static_cast<unsigned>(i)); };
    for (std::int64_t i = threadIdx.x; i < head; i += Threads) offer_key(i);
    for (std::int64_t i = tail + threadIdx.x; i < notes().n; i += Threads) offer_key(i);
  }

  // ---- exact threshold

  /// Finds, by digits of all composite keys, a threshold that at least k of them reach, and no more than the list
  /// holds.
  __device__ Filter<CompositeKey> exact_filter() const {
    Digit<CompositeKey> digit(0, m_batch.map.width());
    Interval<CompositeKey> interval{0, 0, 0, 0, notes().k};
    do {
      if constexpr (Clustered) cluster_sync();
      digit.count(histogram(), [&](auto const& visit) { visit_part(visit); });
      Place const place = find_in_row(static_cast<unsigned long long>(interval.need));
      digit = digit.next(place.bin);
      interval.above += static_cast<int>(place.above);
      interval.need -= static_cast<int>(place.above);
      interval.here = static_cast<int>(place.here);
    } while (interval.above + interval.here > m_batch.capacity - width && digit.high > 0);
    return {digit.least(), shift_for<bins>(last() - digit.least(), bins)};
  }

  template <class Visit>
  __device__ void visit_part(Visit const& visit) const {
    auto const n = static_cast<unsigned>(notes().n),
               stride = static_cast<unsigned>(Threads * parts());
    for (unsigned i = static_cast<unsigned>(part() * Threads) + threadIdx.x; i < n; i += stride)
      visit(m_batch.map(key(static_cast<std::int64_t>(i) - notes().head), std::uint64_t{i}));
  }

  /// The bin of the need-th best in the sum of the histograms of all blocks of the row.
  __device__ Place find_in_row(unsigned long long need) const {
    if constexpr (Clustered) {
      cluster_sync();
      unsigned* const sum = of_leader(histogram());
      for (int i = threadIdx.x; i < digits && part() != 0; i += Threads)
        if (histogram()[i] != 0) atomicAdd(&sum[i], histogram()[i]);
      cluster_sync();
    }
    Place place{};
    if (part() == 0)
      place = block_find<digits, Threads>(need, [&](int bin) { return histogram()[bin]; });
    if constexpr (Clustered) {
      if (threadIdx.x == 0 && part() == 0) notes().place = place;
      cluster_sync();
      place = *of_leader(&notes().place);
    }
    return place;
  }

  // ---- finish

  __device__ void finish(int size) const {
    settle(size);
    if (size <= tuning.boundary)
      return rank_all(kept(), size, {0, 0, 0, size, notes().k}, ToOutput{*this});
    Filter<CompositeKey> const filter = notes().filter;
    Place const place = block_find<bins, Threads>(static_cast<unsigned long long>(notes().k),
                                                  [&](int bin) { return histogram()[bin]; });
    Interval<CompositeKey> interval = bin_at(place, filter, bins, size);
    bool const refined = interval.here > tuning.boundary && !interval.is_whole();
    if (refined) interval = refined_of(m_batch, m_list, interval, size);
    if (m_batch.sorted == Sorted::no) return collect(interval, size, ToOutput{*this});
    if (refined || !order_by_bins(filter, interval, size))
      network_of(m_batch, m_list, interval, size);
  }

  /// The interval of the bin at `place`, of `all` bins from the threshold on; the last bin has no end.
  __device__ Interval<CompositeKey> bin_at(Place const& place, Filter<CompositeKey> const& filter,
                                           int all, int size) const {
    Interval<CompositeKey> interval{filter.threshold, last(), 0, size, notes().k};
    enter(interval, place, filter.shift);
    if (place.bin == all - 1) interval.high = last();
    return interval;
  }

  __device__ Interval<CompositeKey> refine(Interval<CompositeKey> interval, int size) const {
    clear_histogram();
    __syncthreads();
    narrow(interval, tuning.boundary, [&](auto const& visit) {
      each_kept(size, [&](CompositeKey composite, int) { visit(composite); });
    });
    return interval;
  }

  struct ToOutput {
    RowSelection const& row;
    __device__ void operator()(int slot, CompositeKey composite) const {
      row.store(slot, composite);
    }
  };
  struct ToOrdered {
    CompositeKey* ordered;
    __device__ void operator()(int slot, CompositeKey composite) const {
      ordered[slot] = composite;
    }
  };

  /// Calls put(slot, composite) for the selected composite keys, in any order. All threads of the block call it.
  template <class Put>
  __device__ void collect(Interval<CompositeKey> const& interval, int size, Put const& put) const {
    put_selected(interval, size, put);
    __syncthreads();
    if (!interval.is_whole()) rank_all(boundary(), interval.here, interval, put);
  }

  /// The same for those above the bin of the k-th; sends those in the bin to the first block's boundary().
  template <class Put>
  __device__ void put_selected(Interval<CompositeKey> const& interval, int size,
                               Put const& put) const {
    unsigned const lower = (1u << (threadIdx.x % 32)) - 1;
#pragma unroll 1
    for (int first = 0; first < size; first += Threads) {
      int const i = first + static_cast<int>(threadIdx.x);
      CompositeKey const composite = i < size ? kept()[i] : CompositeKey{0};
      bool const selected = i < size && interval.selects(composite);
      unsigned const selected_lanes = __ballot_sync(full_warp, selected);
      if (i < size && !selected && interval.has(composite))
        at_leader(boundary())[claim(at_leader(&notes().at_boundary))] = composite;
      unsigned slot = 0;
      if (lower == 0 && selected_lanes != 0)
        slot =
            atomicAdd(at_leader(&notes().selected), static_cast<unsigned>(__popc(selected_lanes)));
      slot =
          __shfl_sync(full_warp, slot, 0) + static_cast<unsigned>(__popc(selected_lanes & lower));
      if (selected) put(static_cast<int>(slot), composite);
    }
  }

  /// The same for the best `need` of `count` composite keys, in order, behind those above. All threads must see the
  /// composite keys.
  template <class Put>
  __device__ void rank_all(CompositeKey const* composites, int count,
                           Interval<CompositeKey> const& interval, Put const& put) const {
    block_rank<Threads>(composites, count, interval.need, [&](int place, CompositeKey composite) {
      put(interval.above + place, composite);
    });
  }

  /// Stores the selected composite keys, best first, by their bins. Returns false if a bin is too crowded for that.
  __device__ bool order_by_bins(Filter<CompositeKey> const& filter,
                                Interval<CompositeKey> const& interval, int size) const {
    unsigned* const first = histogram();
    bool crowded = false;
    block_descend<bins, Threads>([&](int bin) { return first[bin]; },
                                 [&](int bin, unsigned above, unsigned here) {
                                   crowded |= above < static_cast<unsigned>(notes().k) &&
                                              here > tuning.crowded;
                                   first[bin] = above;
                                 });
    if (__syncthreads_or(crowded)) return false;
    for (int i = threadIdx.x; i < size; i += Threads) {
      CompositeKey const composite = kept()[i];
      if (composite >= interval.low)
        ordered()[atomicAdd(&first[filter.template bin_of<bins>(composite)], 1u)] = composite;
    }
    __syncthreads();
    // Now the counter of a bin is the place where the next lower bin begins.
    for (int i = threadIdx.x; i < interval.above + interval.here; i += Threads) {
      CompositeKey const composite = ordered()[i];
      unsigned const bin = filter.template bin_of<bins>(composite);
      unsigned place = bin < bins - 1 ? first[bin + 1] : 0;
      for (unsigned j = place, end = first[bin]; j < end; ++j) place += ordered()[j] > composite;
      if (place < static_cast<unsigned>(notes().k)) store(static_cast<int>(place), composite);
    }
    return true;
  }

  /// Stores the selected composite keys, best first, by a bitonic network.
  __device__ void order_by_network(Interval<CompositeKey> interval, int kept_composites) const {
    CompositeKey* const composites = ordered();
    collect(interval, kept_composites, ToOrdered{composites});
    int const k = notes().k;
    int size = 2;
    while (size < k) size *= 2;
    for (int i = k + static_cast<int>(threadIdx.x); i < size; i += Threads) composites[i] = 0;
    block_sort<Threads>(composites, size);
    for (int i = threadIdx.x; i < k; i += Threads) store(i, composites[i]);
  }

  Batch<Bits, CompositeKey> const& m_batch;
  int m_list;
};

}  // namespace

}  // namespace ktopk::detail::cuda
