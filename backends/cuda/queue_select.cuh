// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/problem.hpp>

#include "queue_list.cuh"
#include "queue_tuning.hpp"
#include "stream.cuh"

// How one warp, or the warps of a block, find the best items of a row or of lists.

namespace ktopk::detail::cuda {

/// A lower bound of an item in a word that is read and written at once: the item, or the rank of one of 128 bits.
using BoundWord = unsigned long long;

template <class Bits>
__device__ __forceinline__ BoundWord word_of(ItemMap<Bits, Item64> const&, Item64 item) {
  return item;
}
template <class Bits>
__device__ __forceinline__ BoundWord word_of(ItemMap<Bits, Item128> const& map, Item128 item) {
  return map.rank_of(item);
}
template <class Bits>
__device__ __forceinline__ Item64 item_of(ItemMap<Bits, Item64> const&, BoundWord word) {
  return word;
}
template <class Bits>
__device__ __forceinline__ Item128 item_of(ItemMap<Bits, Item128> const& map, BoundWord word) {
  return static_cast<Item128>(word) << map.position_bits;
}

/// What the warps of a block tell each other, in shared memory. Each has seen `share` items that reach its own bound;
/// so `share` times as many as reach a common one.
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
    return warp_max(static_cast<Item64>(reach >= warps ? mine : 0));
  }
};

/// Key i of a vector, where only the running program knows i.
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

/// The selection of the k best by `Warps` warps: one alone, or all of a block.
template <class Bits, class Item, int Count, int Warps>
class QueueSelection {
 public:
  static constexpr int threads = 32 * Warps;
  using Keys = Tile<Bits, threads, queue_tuning.vectors_in_flight>;
  static constexpr int list_size = 32 * Count;
  static constexpr int lists = Warps > 1 ? Warps / 2 : 1;  ///< that `collect` needs room for

  /// \param waiting  shared memory for a queue of each warp
  /// \param bounds   of a block, if it is one that selects
  __device__ __forceinline__ QueueSelection(ItemMap<Bits, Item> const& map, int k, Item* waiting,
                                            SharedBounds<Warps>* bounds)
      : m_map(map),
        m_queue(waiting + own_warp() * WarpQueue<Item, Count>::size),
        m_bounds(bounds),
        m_k(k),
        m_share((k + Warps - 1) / Warps),
        m_warps((k + m_share - 1) / m_share) {}

  /// Sees the part `part` of `parts` of a row.
  __device__ __forceinline__ void see_row(Bits const* keys, std::int64_t n, std::int64_t step,
                                          unsigned part, unsigned parts) {
    auto const row = step == 1 ? AlignedRow<Bits>(keys, n) : AlignedRow<Bits>::with_gaps(keys, n);
    // Tiles in the order of their reversed numbers: so sorted rows are like random ones.
    auto const tiles = static_cast<unsigned>((row.vectors + Keys::size - 1) / Keys::size);
    unsigned const turns = (tiles + parts - 1) / parts;
    int const bits = turns > 1 ? 32 - __clz(static_cast<int>(turns - 1)) : 0;
    for (unsigned i = 0; i < 1u << bits; ++i) {
      unsigned const turn = bits > 0 ? __brev(i) >> (32 - bits) : 0;
      std::int64_t const first = (std::int64_t{turn} * parts + part) * Keys::size;
      if (i > 0 && first >= row.vectors) continue;
      see_tile(row, n, step, first, i == 0);
    }
    see_rest(row, keys, n, step, part == 0);
  }

  /// Sees lists of `length` items, best first.
  __device__ __forceinline__ void see_lists(Item const* lists_, std::int64_t length, int count) {
    begin_with_lists(lists_, length, count);
    constexpr int in_flight = queue_tuning.lists_in_flight;
    int const lane = threadIdx.x % 32;
    for (int first = own_warp(); first < count; first += Warps * in_flight) {
      Item heads[in_flight];
#pragma unroll
      for (int l = 0; l < in_flight; ++l) {
        int const list = first + l * Warps;
        heads[l] = list < count && lane < m_k ? lists_[list * length + lane] : Item{0};
      }
#pragma unroll 1
      for (int l = 0; l < in_flight; ++l) {
        int const list = first + l * Warps;
        see_list(lists_ + list * length, list < count, pick(heads, l));
      }
    }
    merge_rest(false, Item{0});
  }

  /// Brings the list of the best to all threads, in shared memory.
  /// \param room  for `lists` lists
  __device__ __forceinline__ Item const* collect(Item* room) {
    int const warp = own_warp();
#pragma unroll
    for (int half = Warps / 2; half > 0; half /= 2) {
      if (warp >= half && warp < 2 * half) m_queue.list().store(room + (warp - half) * list_size);
      __syncthreads();
      if (warp < half) m_queue.list().merge_list(room + warp * list_size);
      __syncthreads();
    }
    if (warp == 0) m_queue.list().store(room);
    if constexpr (Warps > 1)
      __syncthreads();
    else
      __syncwarp();
    return room;
  }

 private:
  using Group = std::conditional_t<sizeof(Bits) == 8, Item64, unsigned>;

  /// Among those that select together.
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

  __device__ __forceinline__ void raise(Item bound) {
    m_threshold = bound > m_threshold ? bound : m_threshold;
  }

  /// Begins with a bound that each warp has found for itself, and that `warps` of them must reach.
  __device__ __forceinline__ void begin(BoundWord bound, int warps) {
    if constexpr (Warps > 1) {
      if (threadIdx.x % 32 == 0) m_bounds->of_warp[own_warp()] = bound;
      if (threadIdx.x == 0) m_bounds->common = 0;
      __syncthreads();
      bound = m_bounds->reached_by(warps);
    }
    raise(item_of(m_map, bound));
  }

  /// Raises the threshold by what the list has become.
  __device__ __forceinline__ void tighten() {
    raise(m_queue.list().at(m_k - 1));
    if constexpr (Warps > 1) {
      BoundWord const own = word_of(m_map, m_queue.list().at(m_share - 1));
      if (threadIdx.x % 32 == 0) atomicMax(&m_bounds->of_warp[own_warp()], own);
      __syncwarp();
      BoundWord const common = m_bounds->reached_by(m_warps);
      if (threadIdx.x % 32 == 0) atomicMax(&m_bounds->common, common);
      raise(item_of(m_map, common));
    }
  }

  __device__ __forceinline__ void push(bool wanted, Item item) {
    if (m_queue.push(wanted, item)) tighten();
  }

  /// Takes in one more item of each lane that wants it, and empties the queue.
  __device__ __forceinline__ void merge_rest(bool wanted, Item item) {
#pragma unroll 1
    for (int turn = 0; turn < 2; ++turn) {
      push(wanted, item);
      int const open = m_queue.open();
      wanted = open < WarpQueue<Item, Count>::size && static_cast<int>(threadIdx.x % 32) < open;
      item = 0;
    }
  }

  // ---- rows

  /// The share-th best of a warp's vectors, each represented by its best key, bounds the warp's share-th best key.
  __device__ __forceinline__ void begin_with_tile(Keys const& tile, unsigned valid) {
    Group best[Keys::in_flight];
#pragma unroll
    for (int v = 0; v < Keys::in_flight; ++v) {
      best[v] = 0;
      if ((valid >> v & 1) == 0) continue;
      for (int i = 0; i < Keys::width; ++i) {
        Group const rank = m_map.rank(key_at(tile.vectors[v], i));
        best[v] = rank > best[v] ? rank : best[v];
      }
    }
    sort_over_lanes(best, 32);
    int const nth = m_share - 1;
    Group bound = shuffle_from(pick(best, nth % Keys::in_flight), nth / Keys::in_flight % 32);
    if (nth >= 32 * Keys::in_flight) bound = 0;
    Item const item = static_cast<Item>(bound) << m_map.position_bits;
    begin(word_of(m_map, item), m_warps);
  }

  __device__ __forceinline__ void see_tile(AlignedRow<Bits> const& row, std::int64_t n,
                                           std::int64_t step, std::int64_t first, bool is_first) {
    Keys tile;
    unsigned valid = (1u << Keys::in_flight) - 1;
    if (step == 1 && first + Keys::size <= row.vectors) {
      tile.load(row.keys, first - first_thread());
    } else {
      if (step == 1)
        tile.load(row.keys, first - first_thread(), row.vectors);
      else
        tile.gather(row.keys, step, first - first_thread(), row.vectors);
#pragma unroll
      for (int v = 0; v < Keys::in_flight; ++v)
        if (place(first, v) >= row.vectors) valid &= ~(1u << v);
    }
    if (is_first) begin_with_tile(tile, valid);
    if constexpr (Warps > 1)
      raise(item_of(m_map, *const_cast<BoundWord const volatile*>(&m_bounds->common)));
    std::int64_t const begin = row.head + first * Keys::width;
    std::int64_t const end = begin + Keys::size * Keys::width;
    Bits least;
    if (!m_map.rank_to_reach(m_threshold, begin, end < n ? end : n, least)) return;
    unsigned const hits = hits_of(tile, least) & valid;
    if (__any_sync(full_warp, hits != 0)) take(tile, hits, least, row.head, first);
  }

  __device__ __forceinline__ unsigned hits_of(Keys const& tile, Bits least) const {
    QuickTest<Bits> const quick(m_map.rank, least);
    NanTest<Bits> const nan(m_map.rank);
    if (m_map.rank.magnitude != 0 && m_map.rank.nan_rank != 0)
      return tile.template hits<true>(quick, nan);
    return tile.template hits<false>(quick, nan);
  }

  /// Takes in those keys of a tile that reach the threshold.
  __device__ __forceinline__ void take(Keys const& tile, unsigned hits, Bits least,
                                       std::int64_t head, std::int64_t first) {
#pragma unroll 1
    for (int v = 0; v < Keys::in_flight; ++v) {
      bool const hit = (hits >> v & 1) != 0;
      if (!__any_sync(full_warp, hit)) continue;
      Vector<Bits> const vector = tile.pick(v);
      std::int64_t const position = head + place(first, v) * Keys::width;
      unsigned passing =
          hit ? vector.passing([&](Bits key) { return m_map.rank(key) >= least; }) : 0;
      while (__any_sync(full_warp, passing != 0)) {
        int const i = passing != 0 ? __ffs(static_cast<int>(passing)) - 1 : 0;
        Item const item = m_map(key_at(vector, i), static_cast<std::uint64_t>(position + i));
        push(passing != 0 && item >= m_threshold, item);
        passing &= passing - 1;
      }
    }
  }

  /// The keys before and behind a row's vectors, fewer than 32, by the first warp; and what waits in the queues.
  __device__ __forceinline__ void see_rest(AlignedRow<Bits> const& row, Bits const* keys,
                                           std::int64_t n, std::int64_t step, bool is_ours) {
    int const lane = threadIdx.x % 32;
    std::int64_t const position = lane < row.head ? lane : row.vectors * Keys::width + lane;
    bool const is_key = is_ours && own_warp() == 0 && position < n;
    Item const item =
        is_key ? m_map(keys[position * step], static_cast<std::uint64_t>(position)) : Item{0};
    merge_rest(is_key && item >= m_threshold, item);
  }

  // ---- lists

  /// Of many lists, each warp bounds half of its own by their `deep`-th best.
  __device__ __forceinline__ void begin_with_lists(Item const* lists_, std::int64_t length,
                                                   int count) {
    int const whole = count < threads ? count : threads;
    int const warps = whole < Warps ? whole : Warps;
    int const half = whole / Warps > 1 ? whole / Warps / 2 : 1;
    int const deep = (m_k + warps * half - 1) / (warps * half);
    int const list = own_warp() + Warps * static_cast<int>(threadIdx.x % 32);
    Item bound[1] = {list < whole ? lists_[list * length + deep - 1] : Item{0}};
    sort_over_lanes(bound, 32);
    begin(word_of(m_map, shuffle_from(bound[0], half - 1)), warps);
  }

  /// \param item  of each lane, the list's first
  __device__ __forceinline__ void see_list(Item const* list, bool exists, Item item) {
    int slot = threadIdx.x % 32;
    bool wanted = exists && slot < m_k && item >= m_threshold;
    while (__any_sync(full_warp, wanted)) {
      push(wanted, item);
      slot += 32;
      bool const go_on = __all_sync(full_warp, wanted);
      wanted = go_on && slot < m_k;
      item = wanted ? list[slot] : Item{0};
      wanted = wanted && item >= m_threshold;
    }
  }

  ItemMap<Bits, Item> const& m_map;
  WarpQueue<Item, Count> m_queue;
  SharedBounds<Warps>* m_bounds;
  int m_k;
  int m_share;  // of the k best, each warp's, were they spread evenly
  int m_warps;  // that together have k
  Item m_threshold = 0;
};

}  // namespace ktopk::detail::cuda
