// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>

#include "../../common/batch_launch.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/this_module.cuh"
#include "../ranges.cuh"
#include "tuning.hpp"

// A block holds the ranks of a row in registers. A rank that k keys surely reach bounds the search for the k-th best: a
// histogram of the ranks above it, then of those in the bin of the k-th until few are left. What is above the bin is
// selected, and the few in it are ranked. There is no sample and nothing to prove.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassHeldTuning held_tuning = one_pass_held_tuning;

template <class Bits, class CompositeKey>
struct HeldRows {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
};

/// The composite keys in shared memory: selected ones, and behind them those in the bin of the k-th.
template <class CompositeKey>
constexpr std::size_t held_bytes(std::int64_t k) {
  return static_cast<std::size_t>(k + held_tuning.few) * sizeof(CompositeKey);
}

/// Values from low to high, among which is the one sought: the need-th best of them. `above` are better.
template <class T>
struct Searching {
  T low, high;
  unsigned above, here, need;

  __device__ bool is_open() const {
    return here > static_cast<unsigned>(held_tuning.few) && here != need && low != high;
  }
};

template <class Bits, class CompositeKey, int Threads>
class HeldRow {
  using Rows = HeldRows<Bits, CompositeKey>;
  static constexpr int width = Vector<Bits>::size;
  static constexpr int keys = held_tuning.keys;
  static constexpr int vectors = keys / width;
  static constexpr int warps = Threads / 32;
  static constexpr int bins = held_tuning.bins;
  static constexpr int bin_bits = std::bit_width(unsigned{bins}) - 1;

 public:
  __device__ HeldRow(Rows const& rows, std::int64_t row)
      : m_rows(rows), m_row(row), m_k(static_cast<unsigned>(rows.problem.selected_count(row))) {
    AlignedRow<Bits> const aligned(rows.problem.rows.pointer(row), rows.problem.shape.n);
    m_keys = aligned.keys;
    m_head = static_cast<int>(aligned.head);
    m_vectors = static_cast<int>(aligned.vectors);
  }

  __device__ static void clear() {
    for (int i = threadIdx.x; i < bins; i += Threads) notes().histogram[i] = 0;
  }

  /// All threads of the block call it once. The histogram is clear.
  __device__ void run() {
    if (m_k > 0) {
      load();
      select();
    }
    fill_row(m_rows.problem, m_row, static_cast<int>(m_k));
  }

 private:
  struct Notes {
    Bits bounds[warps], bests[warps];
    unsigned warp_sums[warps];
    FoundBin found;
    unsigned put;  // selected composite keys, and from bit 16 on those in the bin of the k-th
    alignas(16) unsigned histogram[bins];
  };
  __device__ static Notes& notes() {
    __shared__ Notes shared;
    return shared;
  }
  __device__ static CompositeKey* list() { return reinterpret_cast<CompositeKey*>(dynamic_shared); }
  __device__ CompositeKey* in_bin() const { return list() + m_rows.problem.shape.k; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }

  // ---- load

  /// Loads the thread's vectors, and of the keys before and behind all vectors one. What there is none of has rank 0.
  __device__ void load() {
    Vector<Bits> loaded[vectors];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      loaded[v] =
          has_vector(v) ? Vector<Bits>::load_streaming(m_keys + place(v) * width) : Vector<Bits>{};
    int end = static_cast<int>(threadIdx.x);
    if (end >= m_head) end += m_vectors * width;
    m_has_end = end < m_rows.problem.shape.n;
    m_end_position = static_cast<unsigned>(end);
    OrderedBitsMap<Bits> const& rank = m_rows.map.rank;
    m_end = m_has_end ? rank(m_keys[end - m_head]) : Bits{0};
#pragma unroll
    for (int i = 0; i < keys; ++i)
      m_ranks[i] = has_vector(i / width) ? rank(loaded[i / width].key(i % width)) : Bits{0};
  }

  __device__ static int place(int v) { return v * Threads + static_cast<int>(threadIdx.x); }
  __device__ bool has_vector(int v) const { return place(v) < m_vectors; }
  __device__ unsigned position(int i) const {
    return static_cast<unsigned>(m_head + place(i / width) * width + i % width);
  }

  /// Calls visit(rank, i) for the ranks of the thread's vectors, of which some may not exist.
  template <class Visit>
  __device__ void each(Visit const& visit) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      if (v * Threads < m_vectors)
#pragma unroll
        for (int i = 0; i < width; ++i) visit(m_ranks[v * width + i], v * width + i);
  }

  // ---- search

  __device__ void select() {
    Searching<Bits> ranks = bracket();
    narrow(ranks, [&](auto const& visit) {
      each([&](Bits rank, int) { visit(rank); });
      if (m_has_end) visit(m_end);
    });
    auto const mask = static_cast<unsigned>(m_rows.map.position_mask);
    Searching<unsigned> places{0, mask, ranks.above, ranks.here, ranks.need};
    if (ranks.low == ranks.high)
      narrow(places, [&](auto const& visit) {
        each([&](Bits rank, int i) {
          if (rank == ranks.low && has_vector(i / width)) visit(order_of(position(i)));
        });
        if (m_has_end && m_end == ranks.low) visit(order_of(m_end_position));
      });
    put(ranks, places);
    __syncthreads();
    finish();
  }

  /// Of equal ranks, the one with the greatest of these is the best.
  __device__ unsigned order_of(unsigned position) const {
    return position ^ static_cast<unsigned>(m_rows.map.flip);
  }

  /// The ranks from one that at least k keys reach to the best.
  __device__ Searching<Bits> bracket() const {
    Bits best, bound;
    warp_bracket(best, bound);
    if (lane() == 0) {
      notes().bests[warp()] = best;
      notes().bounds[warp()] = bound;
    }
    if (threadIdx.x == 0) notes().put = 0;
    __syncthreads();
    int const from = lane() % warps;
    best = warp_greatest(notes().bests[from]);
    bound = warp_least(notes().bounds[from]);
    return {bound, best, 0, static_cast<unsigned>(m_rows.problem.shape.n), m_k};
  }

  __device__ static Bits better(Bits a, Bits b) { return a > b ? a : b; }

  /// Finds the best rank of the warp, and one that its share of k keys reach.
  __device__ void warp_bracket(Bits& best, Bits& bound) const {
    // Of the vectors' best ranks:
    Bits greatest = 0, second = 0, least = std::numeric_limits<Bits>::max();
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      Bits of_vector = m_ranks[v * width];
#pragma unroll
      for (int i = 1; i < width; ++i) of_vector = better(of_vector, m_ranks[v * width + i]);
      second = of_vector > greatest ? greatest : better(second, of_vector);
      greatest = better(greatest, of_vector);
      least = of_vector < least ? of_vector : least;
    }
    best = warp_greatest(better(greatest, m_end));
    if (m_k > vectors * Threads) {
      bound = 0;
    } else if (m_k > warps * held_tuning.repeats) {
      bound = warp_least(m_k > 2 * Threads ? least : m_k > Threads ? second : greatest);
    } else {
      bound = warp_greatest(greatest);
#pragma unroll 1
      for (unsigned found = warps; found < m_k; found += warps) {
        unsigned const holders = __ballot_sync(full_warp, greatest == bound);
        if (lane() == __ffs(static_cast<int>(holders)) - 1) greatest = 0;
        bound = warp_greatest(greatest);
      }
    }
  }

  /// Narrows what is searched to a bin of a histogram, until few values are in it, or one, or all in it are wanted.
  template <class T, class Each>
  __device__ static void narrow(Searching<T>& searching, Each const& each_value) {
#pragma unroll 1
    while (searching.is_open()) {
      T const low = searching.low, spread = static_cast<T>(searching.high - low);
      int const shift = std::max(0, highest_bit_of(spread) + 1 - bin_bits);
      each_value([&](T value) {
        T const distance = static_cast<T>(value - low);
        if (distance <= spread)
          atomicAdd(&notes().histogram[static_cast<unsigned>(distance >> shift)], 1u);
      });
      __syncthreads();
      FoundBin const found = find(searching.need);
      searching.low = static_cast<T>(low + (static_cast<T>(found.bin) << shift));
      T const last = static_cast<T>((T{1} << shift) - 1);
      if (static_cast<T>(searching.high - searching.low) > last)
        searching.high = static_cast<T>(searching.low + last);
      searching.above += found.above;
      searching.need -= found.above;
      searching.here = found.here;
    }
  }

  template <class T>
  __device__ static int highest_bit_of(T spread) {
    if constexpr (sizeof(T) == 8)
      return highest_bit(static_cast<CompositeKey64>(spread));
    else
      return highest_bit(static_cast<unsigned>(spread));
  }

  /// Finds the bin of the need-th best, and clears the histogram.
  __device__ static FoundBin find(unsigned need) {
    constexpr int own = bins / Threads;
    unsigned* const first = notes().histogram + bins - own * (static_cast<int>(threadIdx.x) + 1);
    unsigned counts[own], sum = 0;
#pragma unroll
    for (int i = 0; i < own; ++i) {
      counts[i] = first[i];
      first[i] = 0;
      sum += counts[i];
    }
    unsigned const to = warp_sum_to(sum);
    if (lane() == 31) notes().warp_sums[warp()] = to;
    __syncthreads();
    unsigned above = to - sum + warp_total(lane() < warp() ? notes().warp_sums[lane()] : 0);
    if (above < need && need <= above + sum) {
#pragma unroll
      for (int i = own - 1; i >= 0; --i) {
        if (above < need && need <= above + counts[i])
          notes().found = {static_cast<unsigned>(first - notes().histogram + i), above, counts[i]};
        above += counts[i];
      }
    }
    __syncthreads();
    return notes().found;
  }

  // ---- put

  /// Puts what is selected to the list, and what is in the bin of the k-th behind it.
  __device__ void put(Searching<Bits> const& ranks, Searching<unsigned> const& places) const {
    constexpr unsigned selected = 1, undecided = 1u << 16;
    auto const kind_of = [&](Bits rank, unsigned position) {
      unsigned const order = order_of(position);
      if (rank > ranks.high) return selected;
      if (order < places.low) return 0u;
      return places.here == places.need || order > places.high ? selected : undecided;
    };
    auto const slot_of = [&](unsigned kind, unsigned before) {
      return kind == selected ? list() + (before & 0xffff) : in_bin() + (before >> 16);
    };
    unsigned counts = 0, reaching = 0;
    each([&](Bits rank, int i) {
      if (rank < ranks.low || !has_vector(i / width)) return;
      unsigned const kind = kind_of(rank, position(i));
      counts += kind;
      if (kind != 0) reaching |= 1u << i;
    });
    unsigned const to = warp_sum_to(counts);
    unsigned next = 0;
    if (lane() == 31 && to != 0) next = atomicAdd(&notes().put, to);
    next = __shfl_sync(full_warp, next, 31) + to - counts;
    each([&](Bits rank, int i) {
      if ((reaching >> i & 1) == 0) return;
      unsigned const kind = kind_of(rank, position(i));
      *slot_of(kind, next) = m_rows.map.join(rank, position(i));
      next += kind;
    });
    if (!m_has_end || m_end < ranks.low) return;
    if (unsigned const kind = kind_of(m_end, m_end_position); kind != 0)
      *slot_of(kind, atomicAdd(&notes().put, kind)) = m_rows.map.join(m_end, m_end_position);
  }

  // ---- finish

  __device__ void finish() const {
    unsigned const above = notes().put & 0xffff, undecided = notes().put >> 16;
    Output<Bits> const output(m_rows.problem, m_row);
    auto const store = [&](unsigned slot, CompositeKey composite) {
      output.store(m_rows.map, m_keys - m_head, slot, composite, true);
    };
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < above; i += Threads) store(i, list()[i]);
    block_rank<Threads>(in_bin(), static_cast<int>(undecided), static_cast<int>(m_k - above),
                        [&](int place, CompositeKey composite) {
                          store(above + static_cast<unsigned>(place), composite);
                        });
  }

  Rows const& m_rows;
  std::int64_t m_row;
  unsigned m_k;
  Bits const* m_keys;  // from the first vector on
  int m_head, m_vectors;
  Bits m_ranks[keys];
  Bits m_end;
  unsigned m_end_position;
  bool m_has_end;
};

template <class Bits, class CompositeKey, int Threads>
__global__ void __launch_bounds__(Threads, held_tuning.blocks)
    select_held(__grid_constant__ HeldRows<Bits, CompositeKey> const rows) {
  using Row = HeldRow<Bits, CompositeKey, Threads>;
  Row::clear();
  Row(rows, blockIdx.x).run();
}

}  // namespace

bool one_pass_held_supports(int device, Shape const& shape, Options const& options) {
  constexpr std::int64_t most = std::int64_t{held_tuning.threads} * held_tuning.keys;
  if (!shape.packed || shape.ragged || options.sorted == Sorted::yes) return false;
  return shape.n >= held_tuning.least_row && shape.n <= most &&
         shape.rows <= std::int64_t{held_tuning.blocks} * processors(device) &&
         held_bytes<CompositeKey128>(shape.k) * held_tuning.blocks <= room_for(200);
}

template <class Bits>
void one_pass_held(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                   Options const& options) {
  using CompositeKey = CompositeKeyOf<Bits>;
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  HeldRows<Bits, CompositeKey> const rows{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties)};
  std::size_t const bytes = held_bytes<CompositeKey>(shape.k);
  auto const kernel = select_held<Bits, CompositeKey, held_tuning.threads>;
  allow_all_shared_memory(kernel);
  kernel<<<static_cast<unsigned>(shape.rows), held_tuning.threads, bytes, stream>>>(rows);
  check(cudaGetLastError(), "launch");
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_held(int, cudaStream_t, StoredProblem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
