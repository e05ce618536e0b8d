// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ktopk/core/problem.hpp>

#include "../common/block.cuh"
#include "../common/block_order.cuh"
#include "../common/mail.cuh"
#include "../common/stream.cuh"
#include "../common/warp.cuh"

// Shared by the kernels in which several blocks select from a row and each orders a range of the composite keys: one
// search for the threshold and for the pivots between the ranges, and a filter for keys in registers.

namespace ktopk::detail::cuda {

namespace {

/// The addresses of a row's outputs, which are computed once, before the keys arrive.
template <class Bits>
struct Output {
  Stored<Bits>* values;
  std::int64_t value_step;
  char* indices;
  std::int64_t index_step;
  int index_bytes;

  __device__ Output(StoredProblem<Bits> const& problem, std::int64_t row)
      : values(problem.out.values == nullptr ? nullptr
                                             : problem.out.values + row * problem.out.value_row),
        value_step(problem.out.value_step),
        indices(problem.out.indices == nullptr
                    ? nullptr
                    : static_cast<char*>(problem.out.indices) +
                          row * problem.out.index_row * problem.shape.index_bytes),
        index_step(problem.out.index_step),
        index_bytes(problem.shape.index_bytes) {}

  __device__ void store(unsigned slot, Bits key, unsigned position, bool valid) const {
    if (values != nullptr && valid) values[slot * value_step] = key;
    if (indices == nullptr || !valid) return;
    if (index_bytes == 4)
      reinterpret_cast<Stored<std::uint32_t>*>(indices)[slot * index_step] = position;
    else
      reinterpret_cast<Stored<std::uint64_t>*>(indices)[slot * index_step] = position;
  }

  /// \param row_keys  the row's first key
  template <class CompositeKey>
  __device__ void store(CompositeKeyMap<Bits, CompositeKey> const& map, Bits const* row_keys,
                        unsigned slot, CompositeKey composite, bool valid) const {
    auto const position = static_cast<unsigned>(map.position(composite));
    Bits const rank = map.ordered_bits_of(composite);
    Bits key = map.rank.key_of(rank);
    if (valid && !map.rank.has_one_key(rank)) key = row_keys[position];
    store(slot, key, position, valid);
  }
};

/// A filter that passes all keys that reach the threshold, and few others.
/// \tparam LooksFirst  whether a vector is first tested as a whole: of long rows most have no key that passes
template <class Bits, class CompositeKey, bool LooksFirst>
struct VectorFilter {
  static constexpr int width = Vector<Bits>::size;
  OrderedBitsMap<Bits> const& rank;
  Bits least, least_with_tie;
  unsigned cut;  // either the vectors before it win a tie with the threshold, or the others
  bool low_wins;
  Bits most_without_tie;  // as infinity, where no tie is won; above it is a NaN that passes
  bool has_better;        // keys than the threshold's
  QuickTest<Bits> quick, quick_with_tie;

  /// \param head  keys before the first vector
  __device__ VectorFilter(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold,
                          unsigned head)
      : rank(map.rank),
        low_wins(map.flip != 0),
        quick(map.rank, static_cast<Bits>(map.ordered_bits_of(threshold) + 1)),
        quick_with_tie(map.rank, map.ordered_bits_of(threshold)) {
    Bits const tie = map.ordered_bits_of(threshold);
    most_without_tie = tie == rank.ordered_nan ? std::numeric_limits<Bits>::max() : rank.infinity;
    least_with_tie = with_minus_zero(tie);
    has_better = tie != std::numeric_limits<Bits>::max();
    least = has_better ? with_minus_zero(static_cast<Bits>(tie + 1)) : tie;
    auto const position = static_cast<unsigned>(map.position(threshold));
    cut = position < head ? 0 : (position - head) / width + (low_wins ? 1 : 0);
  }
  /// Lets a bound of 0 include -0, which has the same rank but other bits.
  __device__ Bits with_minus_zero(Bits bound) const {
    Bits const minus_zero = rank.ordered(rank.minus_zero);
    return bound == rank.ordered(Bits{0}) && minus_zero < bound ? minus_zero : bound;
  }
  /// Returns a mask: a bit for each key of a vector, set if it passes.
  template <bool NanWins>
  __device__ unsigned passing(Vector<Bits> const& vector, unsigned place) const {
    bool const with_tie = (place < cut) == low_wins;
    if (LooksFirst && !may_pass<NanWins>(vector, with_tie)) return 0;
    Bits const bound = with_tie ? least_with_tie : least;
    Bits const most = with_tie ? rank.infinity : most_without_tie;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      Bits const key = vector.key(i);
      bool const passes =
          rank.ordered(key) >= bound || (NanWins && static_cast<Bits>(key & rank.magnitude) > most);
      bits |= static_cast<unsigned>(passes) << i;
    }
    return with_tie || has_better ? bits : 0;
  }

 private:
  template <bool NanWins>
  __device__ bool may_pass(Vector<Bits> const& vector, bool with_tie) const {
    auto const test = QuickTest<Bits>::either(with_tie, quick_with_tie, quick);
    return (with_tie || has_better) && BitsTest<Bits, NanWins>(rank, test)(vector);
  }
};

/// Loads a batch of a row's vectors.
/// \param deal  which vectors are this thread's
template <class Deal, class Bits, int Threads, int Vectors>
__device__ void load_batch(Deal const& deal, int batch, Tile<Bits, Threads, Vectors>& tile) {
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    unsigned const place = deal.place(batch, v);
    tile.vectors[v] = place < deal.vectors
                          ? Vector<Bits>::load(deal.keys + std::size_t{place} * Vector<Bits>::size)
                          : Vector<Bits>{};
  }
}

/// Returns a mask: a bit for each key of a batch, set if it passes the filter.
template <bool NanWins, class Deal, class Filter, class Bits, int Threads, int Vectors>
__device__ unsigned passing_of(Deal const& deal, int batch,
                               Tile<Bits, Threads, Vectors> const& tile, Filter const& filter) {
  static_assert(Vectors * Vector<Bits>::size <= 32);
  unsigned passed = 0;
#pragma unroll
  for (int v = 0; v < Vectors; ++v) {
    unsigned const place = deal.place(batch, v);
    if (place < deal.vectors)
      passed |= filter.template passing<NanWins>(tile.vectors[v], place)
                << (v * Vector<Bits>::size);
  }
  return passed;
}

/// Calls keep(tile, batch) for all batches of a row while the next one loads. The first two must be loaded.
template <class Deal, class Held, class Keep>
__device__ void each_batch(Deal const& deal, int batches, Held& tile, Held& next,
                           Keep const& keep) {
#pragma unroll 1
  for (int b = 0; b < batches; b += 2) {
    keep(tile, b);
    if (b + 2 < batches) load_batch(deal, b + 2, tile);
    if (b + 1 >= batches) return;
    keep(next, b + 1);
    if (b + 3 < batches) load_batch(deal, b + 3, next);
  }
}

/// A thread's share of a row's samples, in registers.
/// \tparam Each  samples of a thread, at most
template <class Bits, class CompositeKey, int Threads, int Each>
struct SampleShare {
  CompositeKeyMap<Bits, CompositeKey> const& map;
  CompositeKey composites[Each];
  int samples;  // of the row

  __device__ SampleShare(CompositeKeyMap<Bits, CompositeKey> const& map_, CompositeKey const* from,
                         int samples_)
      : map(map_), samples(samples_) {
#pragma unroll
    for (int i = 0; i < Each; ++i)
      composites[i] = has(i) ? load_written(from + i * Threads + threadIdx.x) : CompositeKey{0};
  }
  __device__ bool has(int i, int thread = static_cast<int>(threadIdx.x)) const {
    return i * Threads + thread < samples;
  }
  template <class Visit>
  __device__ void visit(Visit const& visit) const {
#pragma unroll
    for (int i = 0; i < Each; ++i)
      if (has(i)) visit(composites[i]);
  }
  __device__ Bits greatest() const {
    Bits greatest = 0;
    visit([&](CompositeKey composite) {
      Bits const rank = map.ordered_bits_of(composite);
      greatest = rank > greatest ? rank : greatest;
    });
    return greatest;
  }
  /// The least of this over all threads is one that `order` samples reach: of disjoint parts of all samples each has
  /// its best, and these parts are as large as lets there be `order` of them.
  __device__ Bits bound(int order) const {
    constexpr Bits none = std::numeric_limits<Bits>::max();
    int const holders = min(Threads, samples);
    Bits bound = none;
    if (order > holders) {
      visit([&](CompositeKey composite) {
        Bits const rank = map.ordered_bits_of(composite);
        bound = rank < bound ? rank : bound;
      });
      return bound;
    }
    bound = greatest();
    int lanes = 1;
#pragma unroll 1
    for (; lanes < 32 && order * lanes * 2 <= holders; lanes *= 2) {
      auto const other = static_cast<Bits>(shuffle_xor(
          static_cast<std::conditional_t<sizeof(Bits) == 8, CompositeKey64, unsigned>>(bound),
          lanes));
      bound = other > bound ? other : bound;
    }
    return has(0, static_cast<int>(threadIdx.x) & -lanes) ? bound : none;
  }
};

/// The result of the search for the order-th best sample, which is at least `low`.
template <class T>
struct Searched {
  T low, high;
  unsigned above;         // samples
  bool crowded;           // many samples are `low`
  bool coarse;            // pivots may be far from parting the samples equally
  unsigned reaching = 0;  // samples that are not below `low`
  bool uneven = false;    // a bin above holds most samples, so that the pivots cannot part them
};

/// Of samples, from the best on: what is at the one is surely above the k-th key, what is at the other surely below.
struct Orders {
  int high;  // below 1 where none is sure to be above
  int low;
};

template <class T>
struct Bracket {
  T low, high;
  unsigned samples;  // from low to high
};

/// A histogram's bin in which an order stands.
struct FoundBin {
  unsigned bin, above, here;
};

template <class CompositeKey, int Threads, int MostOwners>
struct RangeNotes {
  CompositeKey limits[MostOwners];  // the pivots in descending order, then the threshold
  unsigned found_bin, found_above, found_here;
  FoundBin found[2];
};

/// The most rounds of a search. Each leaves a bin, or a sixteenth of all of them, of the range: at least three bits fewer.
template <class T>
inline constexpr int most_rounds = 8 * static_cast<int>(sizeof(T)) / 3 + 1;

/// The steps of a block; all its threads call them.
template <class CompositeKey, int Threads, int MostOwners>
class Ranges : public BlockOrder<CompositeKey, Threads> {
  using Order = BlockOrder<CompositeKey, Threads>;
  using Order::bin_bits, Order::lane, Order::scratch, Order::warp, Order::warps;

 public:
  using Notes = RangeNotes<CompositeKey, Threads, MostOwners>;
  using Order::sum_before;

  __device__ static Notes& notes() {
    __shared__ Notes shared;
    return shared;
  }

  /// The least and the greatest of the threads' ranks.
  template <class OrderedBits>
  __device__ static Searched<OrderedBits> range_of(OrderedBits least_of_mine,
                                                   OrderedBits greatest_of_mine) {
    OrderedBits const greatest = warp_greatest(greatest_of_mine);
    OrderedBits const least = warp_least(least_of_mine);
    if (lane() == 0) {
      scratch().extremes[0][warp()] = greatest;
      scratch().extremes[1][warp()] = least;
    }
    __syncthreads();
    int const from = lane() % warps;
    return {warp_least(static_cast<OrderedBits>(scratch().extremes[1][from])),
            warp_greatest(static_cast<OrderedBits>(scratch().extremes[0][from])), 0, false, false};
  }

  /// All composite keys that may be the order-th best sample or better.
  template <class Bits, int Each>
  __device__ static Searched<CompositeKey> range_of(
      SampleShare<Bits, CompositeKey, Threads, Each> const& share, int order) {
    auto const ranks = range_of(share.bound(order), share.greatest());
    int const bits = share.map.position_bits;
    auto const position_mask = static_cast<CompositeKey>(share.map.position_mask);
    return {static_cast<CompositeKey>(ranks.low) << bits,
            static_cast<CompositeKey>(ranks.high) << bits | position_mask, 0, false, false};
  }

  /// Finds the order-th best sample, with one bin per thread at a time, and notes pivots, which divide the samples
  /// above it equally. The bins must be clear.
  /// \param each_sample  calls its argument with each of the thread's samples
  /// \param order  at least 1 and at most the number of samples
  template <class T, class EachSample, class CompositeAt>
  __device__ static Searched<T> search(EachSample const& each_sample, int order, Searched<T> range,
                                       int owners, CompositeAt const& composite_at) {
    unsigned* const histogram = scratch().histogram;
    constexpr unsigned few_bins = Threads / 16;
    unsigned const few = static_cast<unsigned>(order) / 8 + 4;
    auto const wanted = static_cast<unsigned>(order);
    float const owners_a_sample = static_cast<float>(owners) / static_cast<float>(order);
#pragma unroll 1
    for (int round = 0; round < most_rounds<T>; ++round) {
      int const bits = highest_bit(static_cast<T>(range.high - range.low)) + 1;
      int const shift = bits > bin_bits ? bits - bin_bits : 0;
      each_sample([&](T mine) {
        if (range.low <= mine && mine <= range.high)
          atomicAdd(&histogram[static_cast<unsigned>((mine - range.low) >> shift)], 1u);
      });
      __syncthreads();
      unsigned const bin = Threads - 1 - threadIdx.x;
      unsigned const here = histogram[bin];
      unsigned const above = range.above + sum_before(here);
      unsigned const to = above + here;
      note_pivots_of_bin(above, here, owners_a_sample, owners,
                         composite_at(range.low + (static_cast<T>(bin) << shift)));
      if (above < wanted && wanted <= to) {
        notes().found_bin = bin;
        notes().found_above = above;
        notes().found_here = here;
      }
      histogram[bin] = 0;
      bool const is_uneven = __syncthreads_or(2 * here > wanted && to < wanted) != 0;
      auto const bins_above =
          static_cast<unsigned>((range.high - range.low) >> shift) - notes().found_bin;
      range.low += static_cast<T>(notes().found_bin) << shift;
      range.crowded = notes().found_here > few;
      // Few bins part what is above them unequally: then the next round parts it again.
      if (range.crowded && shift > 0 && bins_above <= few_bins) continue;
      range.uneven |= is_uneven;
      range.coarse |= range.crowded || 4 * bins_above < static_cast<unsigned>(owners);
      T const end = range.low + ((T{1} << shift) - 1);
      if (end < range.high) range.high = end;
      range.above = notes().found_above;
      range.reaching = notes().found_above + notes().found_here;
      if (!range.crowded || shift == 0) return range;
    }
    return range;
  }

  /// Finds composite keys at or a little above the one order among the samples, and at or a little below the other. The
  /// bins are clear; a bin counts for both orders, 16 bits each.
  template <class T, class EachSample>
  __device__ static Bracket<T> search_bracket(EachSample const& each_sample, Orders const& orders,
                                              T low, T high) {
    unsigned* const histogram = scratch().histogram;
    unsigned const few = static_cast<unsigned>(orders.low - orders.high) / 8 + 4;
    int const wanted[2] = {orders.high > 1 ? orders.high : 1, orders.low};
    Searched<T> ends[2] = {{low, high, 0, true, false}, {low, high, 0, true, false}};
#pragma unroll 1
    for (int round = 0; round < most_rounds<T>; ++round) {
      int shifts[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        int const bits = highest_bit(static_cast<T>(ends[e].high - ends[e].low)) + 1;
        shifts[e] = bits > bin_bits ? bits - bin_bits : 0;
      }
      each_sample([&](T mine) {
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (ends[e].low <= mine && mine <= ends[e].high)
            atomicAdd(&histogram[static_cast<unsigned>((mine - ends[e].low) >> shifts[e])],
                      1u << 16 * e);
      });
      __syncthreads();
      unsigned const bin = Threads - 1 - threadIdx.x;
      unsigned const here = histogram[bin], before = sum_before(here);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        unsigned const mine = here >> 16 * e & 0xffff;
        unsigned const above = ends[e].above + (before >> 16 * e & 0xffff);
        if (above < static_cast<unsigned>(wanted[e]) &&
            static_cast<unsigned>(wanted[e]) <= above + mine)
          notes().found[e] = {bin, above, mine};
      }
      histogram[bin] = 0;
      __syncthreads();
      bool open = false;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        FoundBin const found = notes().found[e];
        ends[e].low += static_cast<T>(found.bin) << shifts[e];
        T const end = ends[e].low + ((T{1} << shifts[e]) - 1);
        if (end < ends[e].high) ends[e].high = end;
        ends[e].above = found.above;
        ends[e].reaching = found.above + found.here;
        open |= found.here > few && shifts[e] > 0;
      }
      if (!open) break;
    }
    return {ends[1].low, ends[0].high, ends[1].reaching - ends[0].above};
  }

  /// Notes pivots that part the samples of a range, by a bin a thread. The bins are clear.
  /// \return whether they part them about equally, which many samples in a bin prevent
  template <class EachSample>
  __device__ static bool note_pivots(EachSample const& each_sample, Bracket<CompositeKey> range,
                                     int owners) {
    unsigned* const histogram = scratch().histogram;
    CompositeKey const low = range.low, high = range.high;
    float const owners_a_sample = static_cast<float>(owners) / static_cast<float>(range.samples);
    int const bits = highest_bit(static_cast<CompositeKey>(high - low)) + 1;
    int const shift = bits > bin_bits ? bits - bin_bits : 0;
    each_sample([&](CompositeKey mine) {
      if (low <= mine && mine <= high)
        atomicAdd(&histogram[static_cast<unsigned>((mine - low) >> shift)], 1u);
    });
    __syncthreads();
    unsigned const bin = Threads - 1 - threadIdx.x;
    unsigned const here = histogram[bin], above = sum_before(here);
    note_pivots_of_bin(above, here, owners_a_sample, owners,
                       low + (static_cast<CompositeKey>(bin) << shift));
    histogram[bin] = 0;
    unsigned const few = 2 * range.samples / static_cast<unsigned>(owners) + 4;
    return __syncthreads_or(here > few) == 0;
  }

  /// The number of pivots above the composite key.
  /// \param owners  a power of two; if there are fewer, their limits are followed by zeros
  __device__ static int owner_of(CompositeKey composite, int owners) {
    int owner = 0;
#pragma unroll 1
    for (int step = owners / 2; step > 0; step /= 2)
      if (composite < notes().limits[owner + step - 1]) owner += step;
    return owner;
  }

 private:
  /// \param above  samples in higher bins
  __device__ static void note_pivots_of_bin(unsigned above, unsigned here, float owners_a_sample,
                                            int owners, CompositeKey pivot) {
    unsigned const to = above + here;
    for (unsigned i = static_cast<unsigned>(static_cast<float>(above) * owners_a_sample),
                  end = static_cast<unsigned>(static_cast<float>(to) * owners_a_sample);
         i < end && i + 1 < static_cast<unsigned>(owners); ++i)
      notes().limits[i] = pivot;
  }
};

}  // namespace

}  // namespace ktopk::detail::cuda
