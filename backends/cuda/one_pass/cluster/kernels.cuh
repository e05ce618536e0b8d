// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "../../common/warp.cuh"
#include "../block/row.cuh"
#include "../ranges.cuh"
#include "tuning.hpp"

// Few rows, each shared by the blocks of a cluster, which hold in registers the keys that they read first.
// threshold: the samples are the best of the first vectors of each thread of one block; the order-th best is the
//            threshold. Pivots from the same search divide the composite keys above it into a range for each block.
// stream:    every block keeps the keys that reach the threshold, and sends each composite key to the block that owns
//            its range.
// rank:      a block ranks its composite keys behind those of the blocks that own higher ranges.
// The counts prove the result. If they do not, the row is selected from as in a long batch.
// Blocks are small, because most of the work is the same in every warp.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassClusterTuning cluster_tuning = one_pass_cluster_tuning;

/// The counts that a block sends to the owner of a range.
struct alignas(16) Tally {
  unsigned own;       // composite keys for this owner
  unsigned above;     // composite keys for owners of higher ranges
  unsigned all;       // composite keys kept
  unsigned overflow;  // whether some did not fit
};

template <class CompositeKey>
struct ClusterNotes {
  static constexpr int most_parts = tuning.most_parts;
  Tally tallies[most_parts];
  std::uint64_t limits_came, tallies_came, composites_came;
  unsigned kept;
  unsigned sent[most_parts];
};

/// How the vectors of a row are distributed over the blocks of a cluster, by lines of memory.
template <class Bits, int Vectors>
struct Deal {
  static constexpr unsigned threads = cluster_tuning.threads, line = 8;
  Bits const* keys;
  unsigned head, vectors;
  unsigned first;       // the thread's first vector
  unsigned next, step;  // from one batch to the next, and from one vector of a batch to the next
  int batches;

  __device__ Deal(Bits const* row_keys, std::int64_t n, unsigned part, unsigned parts) {
    AlignedRow<Bits> const row(row_keys, n);
    keys = row.keys;
    head = static_cast<unsigned>(row.head);
    vectors = static_cast<unsigned>(row.vectors);
    unsigned const round = parts * threads;
    batches = 1;  // few: to count them takes less time than a division
    while (static_cast<unsigned>(batches) * round * Vectors < vectors) ++batches;
    step = round * static_cast<unsigned>(batches);
    next = parts * line;
    first = threadIdx.x / line * next * static_cast<unsigned>(batches) + part * line +
            threadIdx.x % line;
  }
  /// The place of vector v of a batch. Batches take turns line by line, so that each has its share of any part of the row.
  __device__ unsigned place(int batch, int v) const {
    return first + static_cast<unsigned>(v) * step + static_cast<unsigned>(batch) * next;
  }
};

template <class Bits, class CompositeKey, int Vectors>
class ClusterSelection {
 public:
  __device__ explicit ClusterSelection(Batch<Bits, CompositeKey> const& batch) : m_batch(batch) {}

  /// Called once, before the first row.
  __device__ void init() const {
    touch_parameters();
    if (threadIdx.x == 0) {
      limits_came().init();
      tallies_came().init();
      composites_came().init();
      expect();
    }
  }

  __device__ void run(std::int64_t row, unsigned turn) const {
    StoredProblem<Bits> const& problem = m_batch.problem;
    Shares const deal(problem.rows.pointer(row), problem.shape.n, part(), parts());
    Held tile, next;
    load_batch(deal, 0, tile);
    if (deal.batches > 1) load_batch(deal, 1, next);
    clear();
    __syncthreads();
    cluster_arrive_relaxed();
    int const k = static_cast<int>(problem.selected_count(row));
    Output<Bits> const to(problem, row);
    if (leads() && k > 0) find_limits(deal, tile, k);
    // The first pass stores nothing: it loads the instructions to the cache while another block finds the threshold.
    Own own{0, 0, 0, false, true};
#pragma unroll 1
    for (int pass = leads() ? 1 : 0; pass < 2; ++pass) {
      if (pass == 1) {
        cluster_wait();
        if (k > 0) own = receive(deal, tile, next, static_cast<unsigned>(k), turn);
      }
      put_own(deal, to, own);
    }
    if (!own.proven) select_exactly(row);
    if (part() == 0) fill_row(problem, row, k);
  }

 private:
  static constexpr int threads = cluster_tuning.threads;
  static constexpr int warps = threads / 32;
  static constexpr int width = Vector<Bits>::size;
  using Row = RowSelection<Bits, CompositeKey, threads, true, false>;
  using Steps = Ranges<CompositeKey, threads, tuning.most_parts>;
  using Shares = Deal<Bits, Vectors>;
  using Held = Tile<Bits, threads, Vectors>;
  using OrderedBits = std::conditional_t<sizeof(Bits) == 8, CompositeKey64, unsigned>;

  __device__ static ClusterNotes<CompositeKey>& notes() {
    __shared__ ClusterNotes<CompositeKey> shared;
    return shared;
  }
  __device__ static CopyBarrier limits_came() { return CopyBarrier(&notes().limits_came); }
  __device__ static CopyBarrier tallies_came() { return CopyBarrier(&notes().tallies_came); }
  __device__ static CopyBarrier composites_came() { return CopyBarrier(&notes().composites_came); }
  __device__ unsigned parts() const { return static_cast<unsigned>(m_batch.parts); }
  __device__ unsigned part() const { return blockIdx.x % parts(); }
  /// Whether this block finds the threshold. It is the owner of the lowest range, which often stores nothing.
  __device__ bool leads() const { return part() + 1 == parts(); }
  __device__ CompositeKey* list() const { return Row(m_batch).list(); }
  /// Of the keys that a block keeps.
  __device__ unsigned* positions() const { return reinterpret_cast<unsigned*>(list()); }
  __device__ unsigned capacity() const { return static_cast<unsigned>(m_batch.capacity); }
  /// The composite keys that a block receives, in a part for each sender.
  __device__ CompositeKey* inbox() const { return list() + m_batch.capacity; }
  __device__ unsigned slots() const {
    return static_cast<unsigned>(cluster_inbox<CompositeKey>) / parts();
  }
  static __device__ int lane() { return static_cast<int>(threadIdx.x % 32); }
  static __device__ int warp() { return static_cast<int>(threadIdx.x / 32); }

  /// Loads all parameters to the constant cache. That takes long, and would stop each of the steps.
  __device__ void touch_parameters() const {
    constexpr unsigned words = sizeof(Batch<Bits, CompositeKey>) / sizeof(unsigned);
    unsigned const word =
        reinterpret_cast<unsigned const*>(&m_batch)[threadIdx.x % 32 * 16 % words];
    if (warp() == warps - 1) asm volatile("" ::"r"(word));
  }

  __device__ void expect() const {
    limits_came().expect(parts() * static_cast<unsigned>(sizeof(CompositeKey)));
    tallies_came().expect(parts() * static_cast<unsigned>(sizeof(Tally)));
  }

  __device__ void clear() const {
    Steps::clear();
    if (threadIdx.x < parts()) notes().sent[threadIdx.x] = 0;
    if (threadIdx.x >= parts() && threadIdx.x < tuning.most_parts)
      Steps::notes().limits[threadIdx.x] = 0;
    if (threadIdx.x == 0) notes().kept = 0;
  }

  __device__ __noinline__ static void select_exactly_of(Batch<Bits, CompositeKey> const& batch,
                                                        std::int64_t row) {
    Row const selection(batch);
    selection.begin(row);
    selection.select_exactly();
  }
  __device__ void select_exactly(std::int64_t row) const { select_exactly_of(m_batch, row); }

  // ---- threshold and pivots

  /// Which of the samples, counted from the best, is the threshold. There are so many: with one batch each of the groups
  /// has a vector but at most seven, and has_threshold leaves a tenth of at least 128; with more batches each thread has one.
  __device__ int order_of(Shares const& deal, int k) const {
    float const all = static_cast<float>(deal.vectors * width);
    float const share = 1.0f / static_cast<float>(parts() * static_cast<unsigned>(deal.batches));
    float const groups =
        fminf(threads, static_cast<float>(deal.vectors) / static_cast<float>(parts()));
    float const expected = static_cast<float>(k) * share;
    float const selected = groups * (1 - __expf(-expected / groups));
    float const order = selected + 4 * sqrtf(selected) + 4;
    return static_cast<int>(fminf(order, groups));
  }

  /// Finds the threshold and the pivots; called by the block that leads.
  __device__ void find_limits(Shares const& deal, Held const& tile, int k) const {
    int const order = order_of(deal, k);
    OrderedBits best = 0;
    bool const has = deal.place(0, 0) < deal.vectors;
    if (has) best = best_of(deal, tile);
    int const bits = m_batch.map.position_bits;
    OrderedBits const least = has ? best : std::numeric_limits<OrderedBits>::max();
    auto const found = Steps::search(
        [&](auto const& visit) {
          if (has) visit(best);
        },
        order, Steps::range_of(least, best), m_batch.parts,
        [&](OrderedBits pivot) { return static_cast<CompositeKey>(pivot) << bits; });
    CompositeKey threshold = static_cast<CompositeKey>(found.low) << bits;
    // The thread makes equal samples distinct.
    CompositeKey sample =
        has ? static_cast<CompositeKey>(best) << bits | threadIdx.x : CompositeKey{0};
    if (found.crowded) {
      bool const tied = has && best == found.low;
      if (tied) sample = composite_of_best(deal, static_cast<Bits>(best));
      Searched<CompositeKey> const range{
          threshold, threshold | static_cast<CompositeKey>(m_batch.map.position_mask), found.above,
          false, false};
      Steps::clear();
      __syncthreads();
      threshold = Steps::search(
                      [&](auto const& visit) {
                        if (tied) visit(sample);
                      },
                      order, range, m_batch.parts, [](CompositeKey pivot) { return pivot; })
                      .low;
    }
    if (found.uneven && k > threads) take_pivots_of(m_batch, sample, threshold);
    if (m_batch.forced == Threshold::too_high)
      threshold = static_cast<CompositeKey>(~CompositeKey{0});
    if (m_batch.forced == Threshold::too_low) threshold = 0;
    if (threadIdx.x == 0) Steps::notes().limits[parts() - 1] = threshold;
    __syncthreads();
  }

  __device__ __noinline__ static void take_pivots_of(Batch<Bits, CompositeKey> const& batch,
                                                     CompositeKey sample, CompositeKey threshold) {
    ClusterSelection(batch).take_pivots(sample, threshold);
  }

  /// Takes the pivots from the samples in order, where the search has parted them unequally.
  /// \param sample  the thread's; below the threshold if it has none
  __device__ void take_pivots(CompositeKey sample, CompositeKey threshold) const {
    bool const counts = sample >= threshold;
    unsigned const slot = Steps::sum_before(counts ? 1 : 0);
    if (counts) list()[slot] = sample;
    auto const size = static_cast<unsigned>(__syncthreads_count(counts));
    CompositeKey const* const in_order = Steps::rank_few(list(), inbox(), size);
    if (threadIdx.x + 1 < parts())
      Steps::notes().limits[threadIdx.x] = in_order[(threadIdx.x + 1) * size / parts()];
  }

  /// The best rank in a thread's vectors.
  __device__ OrderedBits best_of(Shares const& deal, Held const& tile) const {
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    Bits best = 0;
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
      if (deal.place(0, v) >= deal.vectors) continue;
#pragma unroll
      for (int i = 0; i < width; ++i) {
        Bits const ordered = rank.ordered(tile.vectors[v].key(i));
        best = ordered > best ? ordered : best;
      }
    }
    if (rank.magnitude == 0) return best;
    if (!rank.is_number(best)) best = best_rank_of(deal);
    return best == rank.ordered(rank.minus_zero) ? rank.ordered(Bits{0}) : best;
  }

  /// Rare steps read the keys of the first batch again, in a loop: so their code is short.

  __device__ Bits best_rank_of(Shares const& deal) const {
    Bits best = 0;
    each_key(deal, [&](Bits key, int) {
      Bits const ranked = m_batch.map.rank(key);
      best = ranked > best ? ranked : best;
    });
    return best;
  }

  /// \param best  the best rank of the thread's first batch
  __device__ CompositeKey composite_of_best(Shares const& deal, Bits best) const {
    unsigned tied = 0;
    each_key(deal, [&](Bits key, int bit) {
      tied |= static_cast<unsigned>(m_batch.map.rank(key) == best) << bit;
    });
    int const first = __ffs(static_cast<int>(tied)) - 1, last = 31 - __clz(static_cast<int>(tied));
    return m_batch.map.join(best, position_of(deal, 0, m_batch.map.flip != 0 ? first : last));
  }

  /// Calls visit(key, bit) for the keys of the first batch, whose bits are those of VectorFilter's masks.
  template <class Visit>
  __device__ static void each_key(Shares const& deal, Visit const& visit) {
#pragma unroll 1
    for (int v = 0; v < Vectors && deal.place(0, v) < deal.vectors; ++v) {
      auto const vector =
          Vector<Bits>::load(deal.keys + std::size_t{deal.place(0, v)} * Vector<Bits>::size);
#pragma unroll
      for (int i = 0; i < width; ++i) visit(vector.key(i), v * width + i);
    }
  }

  __device__ static unsigned position_of(Shares const& deal, int batch, int bit) {
    return deal.head + deal.place(batch, bit / width) * width + static_cast<unsigned>(bit % width);
  }

  __device__ void send_limits() const {
#pragma unroll 1
    for (unsigned s = threadIdx.x; s < parts() * parts(); s += threads) {
      unsigned const to = s / parts(), i = s % parts();
      send(Steps::notes().limits[i], &Steps::notes().limits[i], &notes().limits_came,
           static_cast<int>(to));
    }
  }

  // ---- stream

  /// The composite keys in a block's range.
  struct Own {
    unsigned size;   // how many there are
    unsigned above;  // how many there are in higher ranges
    unsigned put;    // how many of the best are selected
    bool as_they_are, proven;
  };

  __device__ Own receive(Shares const& deal, Held& tile, Held& next, unsigned k,
                         unsigned turn) const {
    if (leads()) send_limits();
    limits_came().wait(turn);
    keep_all_of(deal, tile, next);
    send_kept(deal);
    tallies_came().wait(turn);
    Own const own = gather_own(k, turn);
    if (threadIdx.x == 0) expect();
    return own;
  }

  __device__ void keep_all_of(Shares const& deal, Held& tile, Held& next) const {
    OrderedBitsMap<Bits> const& rank = m_batch.map.rank;
    if (rank.magnitude != 0 && rank.ordered_nan != 0)
      stream<true>(deal, tile, next);
    else
      stream<false>(deal, tile, next);
  }

  template <bool NanWins>
  __device__ void stream(Shares const& deal, Held& tile, Held& next) const {
    Filter const filter(m_batch.map, Steps::notes().limits[parts() - 1], deal.head);
    each_batch(deal, deal.batches, tile, next,
               [&](Held const& held, int batch) { keep<NanWins>(deal, held, batch, filter); });
  }

  using Filter = VectorFilter<Bits, CompositeKey, false>;

  /// Notes where the keys are that pass.
  template <bool NanWins>
  __device__ void keep(Shares const& deal, Held const& tile, int batch,
                       Filter const& filter) const {
    unsigned passed = passing_of<NanWins>(deal, batch, tile, filter);
    if (passed == 0) return;
    auto const mine = static_cast<unsigned>(__popc(passed));
    unsigned slot = atomicAdd(&notes().kept, mine);
    if (slot + mine > capacity()) return;
#pragma unroll 1
    for (; passed != 0; passed &= passed - 1) {
      int const bit = __ffs(static_cast<int>(passed)) - 1;
      positions()[slot++] = position_of(deal, batch, bit);
    }
  }

  // ---- exchange

  __device__ void send_kept(Shares const& deal) const {
    __syncthreads();
    CompositeKey const threshold = Steps::notes().limits[parts() - 1];
    unsigned const kept = notes().kept;
    Bits const* const keys = deal.keys - deal.head;
    // Where some did not fit, not all of those that should have are there.
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < kept && kept <= capacity(); i += threads) {
      unsigned const position = positions()[i];
      offer(__ldg(keys + position), position, threshold);
    }
    if (part() == 0) offer_ends(deal, threshold);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    unsigned const own = threadIdx.x < parts() ? notes().sent[threadIdx.x] : 0;
    unsigned const to = warp_sum_to(own);
    bool const overflow = __any_sync(full_warp, own > slots()) || kept > capacity();
    unsigned const all = __shfl_sync(full_warp, to, 31);
    if (threadIdx.x < parts())
      send(uint4{own, to - own, all, overflow ? 1u : 0u},
           reinterpret_cast<uint4*>(&notes().tallies[part()]), &notes().tallies_came, lane());
  }

  /// Sends a composite key that reaches the threshold to its owner.
  __device__ void offer(Bits key, unsigned position, CompositeKey threshold) const {
    CompositeKey const composite = m_batch.map(key, std::uint64_t{position});
    if (composite < threshold) return;
    int const owner = Steps::owner_of(composite, 2 << highest_bit(parts() - 1));
    unsigned const slot = atomicAdd(&notes().sent[owner], 1u);
    if (slot < slots())
      send(composite, inbox() + part() * slots() + slot, &notes().composites_came, owner);
  }

  /// Offers the keys before and behind the vectors.
  __device__ void offer_ends(Shares const& deal, CompositeKey threshold) const {
    unsigned const n = static_cast<unsigned>(m_batch.problem.shape.n);
    unsigned const tail = deal.head + deal.vectors * width;
    Bits const* const keys = deal.keys - deal.head;
    if (threadIdx.x < deal.head) offer(keys[threadIdx.x], threadIdx.x, threshold);
    if (tail + threadIdx.x < n) offer(keys[tail + threadIdx.x], tail + threadIdx.x, threshold);
  }

  // ---- rank

  /// Packs the received composite keys into the list. The row is proven if the counts show that the blocks together
  /// hold the k best.
  __device__ Own gather_own(unsigned k, unsigned turn) const {
    Tally tally{};
    if (lane() < m_batch.parts) tally = notes().tallies[lane()];
    unsigned const sent = min(tally.own, slots());
    unsigned const above = warp_total(tally.above), up_to = warp_sum_to(sent);
    unsigned const size = __shfl_sync(full_warp, up_to, 31);
    bool const proven = !__any_sync(full_warp, tally.overflow != 0) && warp_total(tally.all) >= k;
    if (threadIdx.x == 0)
      composites_came().expect(size * static_cast<unsigned>(sizeof(CompositeKey)));
    composites_came().wait(turn);
    if (!proven || above >= k) return {0, 0, 0, true, proven};
#pragma unroll 1
    for (int from = warp(); from < m_batch.parts; from += warps) {
      unsigned const count = __shfl_sync(full_warp, sent, from);
      unsigned const first = __shfl_sync(full_warp, up_to, from) - count;
#pragma unroll 1
      for (unsigned i = static_cast<unsigned>(lane()); i < count; i += 32)
        list()[first + i] = inbox()[static_cast<unsigned>(from) * slots() + i];
    }
    bool const as_they_are = m_batch.sorted == Sorted::no && above + size <= k;
    return {size, above, min(size, k - above), as_they_are, true};
  }

  __device__ void put_own(Shares const& deal, Output<Bits> const& to, Own const& own) const {
    __syncthreads();
    CompositeKey const* const in_order =
        own.as_they_are ? list()
                        : Steps::in_order(list(), inbox(), own.size, cluster_tuning.crowded_bin);
    unsigned i = threadIdx.x;
    do {
      to.store(m_batch.map, deal.keys - deal.head, own.above + i, in_order[i], i < own.put);
      i += threads;
    } while (i < own.put);
  }

  Batch<Bits, CompositeKey> const& m_batch;
};

}  // namespace

}  // namespace ktopk::detail::cuda
