// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/core/problem.hpp>

#include "../common/cluster.cuh"
#include "../common/stream.cuh"
#include "list.cuh"
#include "tuning.hpp"

// How one warp, or the warps of a block, find the best composite keys of a row or of lists.

namespace ktopk::detail::cuda {

/// A lower bound of a composite key, in a word that is read and written atomically: the composite key, or the rank of
/// one of 128 bits.
using BoundWord = unsigned long long;

template <class Bits>
__device__ __forceinline__ BoundWord word_of(CompositeKeyMap<Bits, CompositeKey64> const&,
                                             CompositeKey64 composite) {
  return composite;
}
template <class Bits>
__device__ __forceinline__ BoundWord word_of(CompositeKeyMap<Bits, CompositeKey128> const& map,
                                             CompositeKey128 composite) {
  return map.ordered_bits_of(composite);
}
template <class Bits>
__device__ __forceinline__ CompositeKey64 composite_of(CompositeKeyMap<Bits, CompositeKey64> const&,
                                                       BoundWord word) {
  return word;
}
template <class Bits>
__device__ __forceinline__ CompositeKey128
composite_of(CompositeKeyMap<Bits, CompositeKey128> const& map, BoundWord word) {
  return static_cast<CompositeKey128>(word) << map.position_bits;
}

/// The bounds that the warps of a block exchange in shared memory. Each warp has read `share` composite keys that reach
/// its bound. So a bound that several warps' bounds reach is reached by as many times `share` composite keys.
template <int Warps>
struct SharedBounds {
  BoundWord of_warp[Warps];
  BoundWord common;

  /// The bound that at least `warps` warps reach.
  __device__ __forceinline__ BoundWord reached_by(int warps) const {
    BoundWord const volatile* const bounds = of_warp;
    BoundWord const mine = bounds[threadIdx.x % Warps];
    int reach = 0;
#pragma unroll
    for (int w = 0; w < Warps; ++w) reach += bounds[w] >= mine ? 1 : 0;
    return lanes_max<Warps>(static_cast<CompositeKey64>(reach >= warps ? mine : 0));
  }
};

/// How `warps` warps make a bound that k composite keys reach from `count` bounds, each of which `deep` composite keys
/// reach: each warp takes the of_warp-th best of its bounds, at most half of them, and the least of these is the bound.
struct SharesOfBounds {
  int warps, of_warp, deep;
  __device__ __forceinline__ SharesOfBounds(int k, int count, int warps_)
      : warps(count < warps_ ? count : warps_) {
    int const half = count / warps_ / 2, even = (k + warps - 1) / warps;
    of_warp = half < 1 ? 1 : half < even ? half : even;
    deep = (even + of_warp - 1) / of_warp;
  }
};

/// The result of sampling a row: bounds, each of which SharesOfBounds::deep keys reach.
struct SampleBounds {
  BoundWord const* words;
  int count;
};

/// Key i of a vector, where i is known only at run time.
template <class Bits>
__device__ __forceinline__ Bits key_at(Vector<Bits> const& vector, int i) {
  constexpr int bits = 8 * sizeof(Bits);
  auto const word = [&](int w) {
    unsigned const low = w & 1 ? vector.word[1] : vector.word[0];
    unsigned const high = w & 1 ? vector.word[3] : vector.word[2];
    return w & 2 ? high : low;
  };
  if constexpr (bits == 64)
    return static_cast<Bits>(word(2 * i + 1)) << 32 | word(2 * i);
  else
    return static_cast<Bits>(word(i * bits / 32) >> (i * bits % 32));
}

/// The order of the tiles of a row's part: the first and the last whole one, then the others by their bit-reversed
/// numbers. So a sorted row has its best keys in one of the first two tiles, and the rest is like a random row.
class TileOrder {
 public:
  /// \param vectors  of the row; a tile has `size` of them, and every `parts`-th tile is in the part
  __device__ __forceinline__ TileOrder(std::int64_t vectors, int size, unsigned part,
                                       unsigned parts)
      : m_tiles(static_cast<unsigned>((vectors + size - 1) / size)), m_part(part), m_parts(parts) {
    auto const whole = static_cast<unsigned>(vectors / size);
    unsigned const turns = (m_tiles + parts - 1) / parts;
    m_bits = turns > 1 ? 32 - __clz(static_cast<int>(turns - 1)) : 0;
    m_last = whole > part ? (whole - 1 - part) / parts : 0;
  }
  /// The first tile always exists, but it may be empty.
  __device__ __forceinline__ bool is_first() const { return m_number == 0; }
  __device__ __forceinline__ bool is_there() const { return m_number <= 1u << m_bits; }
  __device__ __forceinline__ std::int64_t tile() const {
    return std::int64_t{turn()} * m_parts + m_part;
  }
  /// Whether, with this tile, twice as many have been read as when this was true the last time.
  __device__ __forceinline__ bool is_twice_as_much() const {
    return m_number > 0 && (m_number & (m_number + 1)) == 0;
  }
  __device__ __forceinline__ void next() {
    if (++m_number == 1 && m_last != 0) return;
    while (is_there() && (m_number == 1 || turn() == m_last || tile() >= m_tiles)) ++m_number;
  }

 private:
  __device__ __forceinline__ unsigned turn() const {
    if (m_number == 1) return m_last;
    return m_number > 1 && m_bits > 0 ? __brev(m_number - 1) >> (32 - m_bits) : 0;
  }

  unsigned m_tiles, m_part, m_parts, m_last, m_number = 0;
  int m_bits;
};

/// The tiles of a row that is read by itself.
template <class Bits, int Warps>
using RowTile =
    Tile<Bits, 32 * Warps,
         Warps == 1 ? queue_tuning.warp_vectors : queue_tuning.block_vectors(sizeof(Bits))>;

/// The selection of the k best by `Warps` warps: one alone, or all of a block.
template <class Bits, class CompositeKey, int Count, int Warps, class Keys = RowTile<Bits, Warps>>
class QueueSelection {
 public:
  static constexpr int threads = 32 * Warps;
  static constexpr int list_size = 32 * Count;
  static constexpr int lists = Warps > 1 ? Warps / 2 : 1;  ///< that `collect` needs memory for

  /// \param waiting  shared memory for a queue of each warp
  /// \param bounds   of the block, if a block selects
  __device__ __forceinline__ QueueSelection(CompositeKeyMap<Bits, CompositeKey> const& map, int k,
                                            CompositeKey* waiting, SharedBounds<Warps>* bounds)
      : m_map(map),
        m_queue(waiting + own_warp() * WarpQueue<CompositeKey, Count>::size),
        m_bounds(bounds),
        m_k(k),
        m_share((k + Warps - 1) / Warps),
        m_warps((k + m_share - 1) / m_share),
        m_test(map.rank, 0) {}

  /// Reads the part `part` of `parts` of a row.
  /// \param bounds  of a sample of the row, if there is one
  __device__ __forceinline__ void see_row(Bits const* keys, std::int64_t n, std::int64_t step,
                                          unsigned part, unsigned parts,
                                          SampleBounds const& bounds) {
    auto const row = step == 1 ? AlignedRow<Bits>(keys, n) : AlignedRow<Bits>::with_gaps(keys, n);
    Keys tile;
    for (TileOrder order(row.vectors, Keys::size, part, parts); order.is_there(); order.next()) {
      std::int64_t const first = order.tile() * Keys::size;
      unsigned const valid = load(tile, row, step, first);
      if (order.is_first() && !begin_with_sample(bounds)) begin_with_tile(tile, valid);
      see_tile(tile, valid, row.head + first * Keys::width, n, order.is_twice_as_much());
    }
    see_rest(row, keys, n, step, part == 0);
  }

  /// The same for tiles that the whole block loads.
  /// \param is_row  false for a warp that has no row and only helps to load those of others
  template <class Tiles>
  __device__ __forceinline__ void see_row(Tiles& tiles, Bits const* keys, std::int64_t n,
                                          std::int64_t step, unsigned part, unsigned parts,
                                          bool is_row) {
    auto const row = AlignedRow<Bits>::with_gaps(keys, n);
    TileOrder order(row.vectors, Keys::size, part, parts);
    tiles.load(order.tile() * Keys::size * Keys::width);
    while (order.is_there()) {
      Keys tile;
      tiles.exchange(tile);
      TileOrder const own = order;
      order.next();
      if (order.is_there()) tiles.load(order.tile() * Keys::size * Keys::width);
      if (!is_row) continue;
      std::int64_t const first = own.tile() * Keys::size;
      unsigned const valid = vectors_of(row, first);
      if (own.is_first()) begin_with_tile(tile, valid);
      see_tile(tile, valid, first * Keys::width, n, own.is_twice_as_much());
    }
    if (is_row) see_rest(row, keys, n, step, part == 0);
  }

  /// A bound that at least k keys reach in the `sample`-th of `samples` tiles, which are spread over a row.
  __device__ __forceinline__ BoundWord bound_sample(Bits const* keys, std::int64_t n,
                                                    std::int64_t step, unsigned sample,
                                                    unsigned samples) {
    auto const row = step == 1 ? AlignedRow<Bits>(keys, n) : AlignedRow<Bits>::with_gaps(keys, n);
    unsigned const apart = max(1u, tiles_of(row) / samples);
    Keys tile;
    unsigned const valid = load(tile, row, step, std::int64_t{sample} * apart * Keys::size);
    begin_with_tile(tile, valid);
    return word_of(m_map, m_threshold);
  }

  /// Reads lists of `length` composite keys, best first.
  __device__ __forceinline__ void see_lists(CompositeKey const* lists_, std::int64_t length,
                                            int count) {
    if (count <= Warps) {
      if (own_warp() < count) m_queue.list().load(lists_ + own_warp() * length, m_k);
      return;
    }
    begin_with_lists(lists_, length, count);
    constexpr int in_flight = queue_tuning.merging_bytes / static_cast<int>(sizeof(CompositeKey));
    int const lane = threadIdx.x % 32;
    for (int first = own_warp(); first < count; first += Warps * in_flight) {
      CompositeKey heads[in_flight];
#pragma unroll
      for (int l = 0; l < in_flight; ++l) {
        int const list = first + l * Warps;
        heads[l] = list < count && lane < m_k ? lists_[list * length + lane] : CompositeKey{0};
      }
      unsigned hits = 0;  // of many lists only few have a key that passes
#pragma unroll
      for (int l = 0; l < in_flight; ++l) {
        bool const reaches = first + l * Warps < count && lane < m_k && heads[l] >= m_threshold;
        hits |= __any_sync(full_warp, reaches) ? 1u << l : 0;
      }
      for (; hits != 0; hits &= hits - 1) {
        int const l = __ffs(static_cast<int>(hits)) - 1;
        see_list(lists_ + (first + l * Warps) * length, pick(heads, l));
      }
    }
    take(0, true, [](int) { return CompositeKey{0}; });
  }

  /// Called after `collect` in each block of a cluster: the first block's warps read the lists of the others.
  __device__ __forceinline__ void see_cluster(CompositeKey* shared, int blocks) {
    int const block = own_warp();
    if (block == 0) return;
    bool const exists = block < blocks;
    m_queue.list().load(exists ? of_block(shared, block) : shared, exists ? m_k : 0);
  }

  /// Merges the lists of all warps to one in shared memory, which all threads can read.
  /// \param shared  for `lists` lists
  __device__ __forceinline__ CompositeKey const* collect(CompositeKey* shared) {
    int const warp = own_warp();
#pragma unroll
    for (int half = Warps / 2; half > 0; half /= 2) {
      if (warp >= half && warp < 2 * half) m_queue.list().store(shared + (warp - half) * list_size);
      __syncthreads();
      if (warp < half) m_queue.list().merge_list(shared + warp * list_size);
      __syncthreads();
    }
    if (warp == 0) m_queue.list().store(shared);
    if constexpr (Warps > 1)
      __syncthreads();
    else
      __syncwarp();
    return shared;
  }

 private:
  static_assert(Keys::in_flight * Keys::width <= 64);
  using Group = std::conditional_t<sizeof(Bits) == 8, CompositeKey64, unsigned>;
  using Mask =
      std::conditional_t<(Keys::in_flight * Keys::width > 32), unsigned long long, unsigned>;

  __device__ __forceinline__ static int lowest_bit(Mask mask) {
    return sizeof(Mask) > 4 ? __ffsll(static_cast<long long>(mask)) - 1
                            : __ffs(static_cast<int>(mask)) - 1;
  }

  /// The number of this warp among those that select together.
  __device__ __forceinline__ static int own_warp() {
    return Warps > 1 ? static_cast<int>(threadIdx.x) / 32 : 0;
  }
  /// The place in a block of the first thread of those that select together.
  __device__ __forceinline__ static int first_thread() {
    return Warps > 1 ? 0 : static_cast<int>(threadIdx.x) / 32 * 32;
  }
  __device__ __forceinline__ static std::int64_t place(std::int64_t first, int v) {
    return Keys::place(first - first_thread(), v);
  }

  __device__ __forceinline__ void raise(CompositeKey bound) {
    m_threshold = bound > m_threshold ? bound : m_threshold;
  }

  /// Begins with a bound of each warp; what `warps` of them reach is the threshold.
  __device__ __forceinline__ void begin(BoundWord bound, int warps) {
    if constexpr (Warps > 1) {
      if (threadIdx.x % 32 == 0) m_bounds->of_warp[own_warp()] = bound;
      if (threadIdx.x == 0) m_bounds->common = 0;
      __syncthreads();
      bound = m_bounds->reached_by(warps);
    }
    raise(composite_of(m_map, bound));
  }

  /// Raises the threshold to that of the new list.
  __device__ __forceinline__ void tighten() {
    raise(m_queue.list().at(m_k - 1));
    if constexpr (Warps > 1) {
      BoundWord const own = word_of(m_map, m_queue.list().at(m_share - 1));
      if (threadIdx.x % 32 == 0) atomicMax(&m_bounds->of_warp[own_warp()], own);
      __syncwarp();
      BoundWord const common = m_bounds->reached_by(m_warps);
      if (threadIdx.x % 32 == 0) atomicMax(&m_bounds->common, common);
      raise(composite_of(m_map, common));
    }
  }

  /// Queues the lane's composite keys that have a bit in `passing` and reach the threshold; then, if asked, merges all
  /// that waits in the queue.
  template <class CompositeAt>
  __device__ __forceinline__ void take(Mask passing, bool empties_queue,
                                       CompositeAt const& composite_at) {
    while (true) {
      bool const any = __any_sync(full_warp, passing != 0);
      if (!any && !(empties_queue && m_queue.count() > 0)) return;
      CompositeKey composite = 0;  // fills the queue up when there are no more
      bool wanted = static_cast<int>(threadIdx.x % 32) < m_queue.open_slots();
      if (any) {
        composite = composite_at(passing != 0 ? lowest_bit(passing) : 0);
        wanted = passing != 0 && composite >= m_threshold;
      }
      if (m_queue.push(wanted, composite) && any) tighten();
      passing &= passing - 1;
    }
  }

  // ---- rows

  __device__ __forceinline__ static unsigned tiles_of(AlignedRow<Bits> const& row) {
    return static_cast<unsigned>((row.vectors + Keys::size - 1) / Keys::size);
  }

  /// Loads a tile. Returns a mask: a bit for each of the lane's vectors, set if it is in the row.
  __device__ __forceinline__ static unsigned load(Keys& tile, AlignedRow<Bits> const& row,
                                                  std::int64_t step, std::int64_t first) {
    if (step == 1 && first + Keys::size <= row.vectors) {
      tile.load(row.keys, first - first_thread());
      return all_vectors;
    }
    if (step == 1)
      tile.load(row.keys, first - first_thread(), row.vectors);
    else
      tile.gather(row.keys, step, first - first_thread(), row.vectors);
    return vectors_of(row, first);
  }

  static constexpr unsigned all_vectors = (1u << Keys::in_flight) - 1;

  /// Returns a mask: a bit for each of the lane's vectors of a tile, set if it is in the row.
  __device__ __forceinline__ static unsigned vectors_of(AlignedRow<Bits> const& row,
                                                        std::int64_t first) {
    unsigned valid = all_vectors;
    if (first + Keys::size <= row.vectors) return valid;
#pragma unroll
    for (int v = 0; v < Keys::in_flight; ++v)
      if (place(first, v) >= row.vectors) valid &= ~(1u << v);
    return valid;
  }

  /// The share-th best of a warp's groups of keys, each represented by its best, bounds the warp's share-th best key.
  template <int Groups>
  __device__ __forceinline__ static Group nth_group(Group (&groups)[Groups], int nth) {
    sort_over_lanes(groups, 32);
    Group const bound = shuffle_from(pick(groups, nth % Groups), nth / Groups % 32);
    return nth < 32 * Groups ? bound : 0;
  }

  /// A bound of the best rank in a vector: the rank of one of its keys, or less.
  template <bool AnyNan>
  __device__ __forceinline__ Group best_rank(Vector<Bits> const& vector) const {
    Group best = 0;
#pragma unroll
    for (int i = 0; i < Keys::width; ++i) {
      Bits const key = key_at(vector, i);
      Group const rank = AnyNan ? m_map.rank(key) : m_map.rank.ordered(key);
      best = rank > best ? rank : best;
    }
    return best;
  }

  /// Begins with bounds from the first tile.
  __device__ __forceinline__ void begin_with_tile(Keys const& tile, unsigned valid) {
    auto const& rank = m_map.rank;
    bool const nan_is_least = rank.magnitude != 0 && rank.ordered_nan == 0;
    Group best[Keys::in_flight], pairs[2] = {}, lane_best[1] = {};
#pragma unroll
    for (int v = 0; v < Keys::in_flight; ++v) {
      best[v] = 0;
      bool const exists = (valid >> v & 1) != 0;
      if (__any_sync(full_warp, exists))
        best[v] =
            nan_is_least ? best_rank<true>(tile.vectors[v]) : best_rank<false>(tile.vectors[v]);
      if (!exists) best[v] = 0;
      pairs[v % 2] = best[v] > pairs[v % 2] ? best[v] : pairs[v % 2];
    }
    lane_best[0] = pairs[0] > pairs[1] ? pairs[0] : pairs[1];
    int const nth = m_share - 1;
    constexpr int some = Warps > 1 ? 8 : 16;
    Group bound = nth < some       ? nth_group(lane_best, nth)
                  : nth < 2 * some ? nth_group(pairs, nth)
                                   : nth_group(best, nth);
    // Minus zero has the rank of plus zero, which may be less.
    if (rank.minus_zero != 0 && bound == rank.ordered(rank.minus_zero) && bound > rank(0))
      bound = rank(0);
    begin(word_of(m_map, static_cast<CompositeKey>(bound) << m_map.position_bits), m_warps);
  }

  /// \param begin  the position of the tile's first key
  __device__ __forceinline__ void see_tile(Keys const& tile, unsigned valid, std::int64_t begin,
                                           std::int64_t n, bool empties_queue) {
    if constexpr (Warps > 1)
      raise(composite_of(m_map, *const_cast<BoundWord const volatile*>(&m_bounds->common)));
    std::int64_t const end = begin + Keys::size * Keys::width;
    Bits least;
    bool const is_reached = m_map.rank_to_reach(m_threshold, begin, end < n ? end : n, least);
    if (is_reached && least != m_least) {
      m_least = least;
      m_test = QuickTest<Bits>(m_map.rank, least);
    }
    QuickTest<Bits> const quick = m_test;
    NanTest<Bits> const nan(m_map.rank);
    bool const nan_is_best = m_map.rank.magnitude != 0 && m_map.rank.ordered_nan != 0;
    unsigned hits =
        nan_is_best ? tile.template hits<true>(quick, nan) : tile.template hits<false>(quick, nan);
    hits = is_reached ? hits & valid : 0;
    if (!empties_queue && !__any_sync(full_warp, hits != 0)) return;
    Mask passing = 0;
#pragma unroll
    for (int v = 0; v < Keys::in_flight; ++v)
      if ((hits >> v & 1) != 0)
        passing |= static_cast<Mask>(tile.vectors[v].passing(
                       [&](Bits key) { return quick(key) || (nan_is_best && nan(key)); }))
                   << (v * Keys::width);
    take(passing, empties_queue, [&](int i) {
      int const v = i / Keys::width, key = i % Keys::width;
      return m_map(key_at(tile.pick(v), key),
                   static_cast<std::uint64_t>(begin + place(0, v) * Keys::width + key));
    });
  }

  /// Reads the keys before and behind the vectors, fewer than 32, in the first warp, and merges what waits in the
  /// queues.
  __device__ __forceinline__ void see_rest(AlignedRow<Bits> const& row, Bits const* keys,
                                           std::int64_t n, std::int64_t step, bool is_ours) {
    int const lane = threadIdx.x % 32;
    std::int64_t const position = lane < row.head ? lane : row.vectors * Keys::width + lane;
    bool const is_key = is_ours && own_warp() == 0 && position < n;
    take(is_key ? 1 : 0, true, [&](int) {
      return is_key ? m_map(keys[position * step], static_cast<std::uint64_t>(position))
                    : CompositeKey{0};
    });
  }

  // ---- lists

  /// Begins with the bounds of a sample of the row. Returns whether there is a bound, the same in all warps.
  __device__ __forceinline__ bool begin_with_sample(SampleBounds const& sample) {
    if (Warps == 1 || sample.count == 0) return false;
    wait_for_previous_kernel();
    int const number = own_warp() + Warps * static_cast<int>(threadIdx.x % 32);
    CompositeKey64 bound[1] = {number < sample.count ? sample.words[number] : 0};
    sort_over_lanes(bound, 32);
    SharesOfBounds const shares(m_k, sample.count, Warps);
    begin(shuffle_from(bound[0], shares.of_warp - 1), shares.warps);
    bool const says_anything = __syncthreads_or(m_threshold != 0) != 0;
    // Later bounds count keys that a warp has read itself. Those of the sample, which any warp may have read, must not
    // be counted twice.
    if (threadIdx.x % 32 == 0) m_bounds->of_warp[own_warp()] = 0;
    __syncthreads();
    return says_anything;
  }

  /// Begins with the `deep`-th best composite keys of lists.
  __device__ __forceinline__ void begin_with_lists(CompositeKey const* lists_, std::int64_t length,
                                                   int count) {
    int const whole = count < threads ? count : threads;
    SharesOfBounds const shares(m_k, whole, Warps);
    int const list = own_warp() + Warps * static_cast<int>(threadIdx.x % 32);
    CompositeKey bound[1] = {list < whole ? lists_[list * length + shares.deep - 1]
                                          : CompositeKey{0}};
    sort_over_lanes(bound, 32);
    begin(word_of(m_map, shuffle_from(bound[0], shares.of_warp - 1)), shares.warps);
  }

  /// \param composite  of each lane, the list's first
  __device__ __forceinline__ void see_list(CompositeKey const* list, CompositeKey composite) {
    int slot = threadIdx.x % 32;
    bool wanted = slot < m_k && composite >= m_threshold;
    while (__any_sync(full_warp, wanted)) {
      if (m_queue.push(wanted, composite)) tighten();
      slot += 32;
      bool const go_on = __all_sync(full_warp, wanted);
      wanted = go_on && slot < m_k;
      composite = wanted ? list[slot] : CompositeKey{0};
      wanted = wanted && composite >= m_threshold;
    }
  }

  CompositeKeyMap<Bits, CompositeKey> const& m_map;
  WarpQueue<CompositeKey, Count> m_queue;
  SharedBounds<Warps>* m_bounds;
  int m_k;
  int m_share;  // how many of the k best each warp would have if they were spread evenly
  int m_warps;  // how many warps together have k then
  CompositeKey m_threshold = 0;
  Bits m_least = 0;  // the least rank that passes the test
  QuickTest<Bits> m_test;
};

}  // namespace ktopk::detail::cuda
