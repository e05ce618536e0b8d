// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bitonic_launch.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include <ktopk/detail/workspace.hpp>

#include "bitonic_network.cuh"
#include "block.cuh"
#include "device.hpp"
#include "key_widths.hpp"
#include "sort_rows.cuh"

// Bitonic top-k. A block reads its part of a row tile by tile. The network works on ranks alone, at two instructions for
// each exchange, and finds the k-th rank of a tile; then the tile's keys that reach it are gathered in the order of
// positions, and stand before the keys of the next tile. Launch after launch reduces the lists that blocks have left,
// until one block has a row.

namespace ktopk::detail::cuda {

namespace {

constexpr int each = bitonic_keys_of_thread;
constexpr int most_levels = 12;

/// How a row or list is shared by blocks, each of which keeps `wanted`.
struct Split {
  std::int64_t share;
  std::int64_t parts;  // that have any

  __host__ __device__ Split(std::int64_t length, std::int64_t parts_, std::int64_t tile) {
    constexpr std::int64_t line = 128;
    std::int64_t const even = ((length + parts_ - 1) / parts_ + line - 1) / line * line;
    share = even > tile ? even : tile;
    parts = (length + share - 1) / share;
  }
  __host__ __device__ std::int64_t kept(std::int64_t length, std::int64_t wanted) const {
    if (parts == 0) return 0;
    std::int64_t const last = length - (parts - 1) * share;
    return (parts - 1) * wanted + (last < wanted ? last : wanted);
  }
};

template <class Bits, class CompositeKey>
struct Work {
  Problem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Sorted sorted;
  int level = 0;                // 0 reads keys, others the list that the one before left
  int parts[most_levels] = {};  // of a row, on every level
  CompositeKey const* from = nullptr;
  std::int64_t from_row = 0;   // composite keys of a row at most
  CompositeKey* to = nullptr;  // none where a block has a row
  std::int64_t to_row = 0;
};

template <class Bits>
using WordOf = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;

/// Loads what is `step` apart; where not all of it is `Whole`, `count` says up to which key, 32 a step.
template <bool Whole, class T>
__device__ __forceinline__ void load_lines(T const* from, std::int64_t step, int count,
                                           std::remove_const_t<T> (&loaded)[each]) {
#pragma unroll
  for (int i = 0; i < each; ++i) {
    if constexpr (!Whole) loaded[i] = {};
    if (Whole || 32 * i < count) loaded[i] = from[i * step];
  }
}

template <class Bits, class CompositeKey>
struct KeySource {
  Stored<Bits> const* keys;
  std::int64_t step;
  CompositeKeyMap<Bits, CompositeKey> map;

  using Loaded = Bits;
  __device__ KeySource(Work<Bits, CompositeKey> const& work, std::int64_t row)
      : keys(work.problem.row_keys(row)), step(work.problem.key_step), map(work.map) {}
  /// Key i and those 32, 64, ... behind it, of those before `count`.
  template <bool Whole>
  __device__ void load(std::int64_t i, int count, Bits (&loaded)[each]) const {
    if (step == 1) return load_lines<Whole>(keys + i, 32, count, loaded);
    load_lines<Whole>(keys + i * step, 32 * step, count, loaded);
  }
  __device__ Bits rank(Bits key) const { return map.rank(key); }
  __device__ CompositeKey composite(std::int64_t i, Bits rank) const {
    return map.join(rank, static_cast<std::uint64_t>(i));
  }
  /// Asks for keys that will be loaded; those with gaps between them are not worth it.
  __device__ void prefetch(std::int64_t begin, std::int64_t end) const {
    constexpr int line = 128 / sizeof(Bits);
    std::int64_t const i = begin + static_cast<int>(threadIdx.x) * line;
    if (step == 1 && i < end) cuda::prefetch(keys + i);
  }
};

template <class Bits, class CompositeKey>
struct ListSource {
  CompositeKey const* composites;
  CompositeKeyMap<Bits, CompositeKey> map;

  using Loaded = CompositeKey;
  __device__ ListSource(Work<Bits, CompositeKey> const& work, std::int64_t row)
      : composites(work.from + row * work.from_row), map(work.map) {}
  template <bool Whole>
  __device__ void load(std::int64_t i, int count, CompositeKey (&loaded)[each]) const {
    load_lines<Whole>(composites + i, 32, count, loaded);
  }
  __device__ Bits rank(CompositeKey composite) const { return map.ordered_bits_of(composite); }
  __device__ CompositeKey composite(std::int64_t i, Bits) const { return composites[i]; }
  __device__ void prefetch(std::int64_t, std::int64_t) const {}
};

/// Of a block: words of a tile, the composite keys that it keeps, and which of the tile's keys these are.
template <class Word, class CompositeKey, class Tuning>
struct Memory {
  __host__ __device__ static constexpr int words(int threads) {
    return BitonicPlaces<Word, Tuning::placement>::words(each * threads);
  }
  static constexpr int bytes(int threads, int run) {
    return run * static_cast<int>(sizeof(CompositeKey) + sizeof(std::uint16_t)) +
           words(threads) * static_cast<int>(sizeof(Word));
  }
};

/// What a thread has of the keys that its tile's threshold lets through, a bit for each.
struct Passing {
  unsigned above, equal;

  __device__ unsigned counts() const { return __popc(above) << 16 | __popc(equal); }
};

/// Sums over all threads of the block, of two halves.
struct BlockSums {
  unsigned before, all;

  __device__ explicit BlockSums(unsigned mine) {
    __shared__ unsigned sums[32];
    unsigned const inclusive = warp_sum_to(mine);
    int const warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 31) sums[warp] = inclusive;
    __syncthreads();
    before = inclusive - mine;
    all = 0;
    for (int w = 0; w < warps; ++w) {
      before += w < warp ? sums[w] : 0;
      all += sums[w];
    }
  }
};

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source>
class Reduction {
 public:
  using Word = WordOf<Bits>;
  using Network = BitonicNetwork<Word, LogRun, Tuning>;
  static constexpr int run = Network::run;

  __device__ Reduction(Work<Bits, CompositeKey> const& work, std::int64_t row, char* memory)
      : m_source(work, row),
        m_lowest_wins(work.map.flip != 0),
        m_composites(reinterpret_cast<CompositeKey*>(memory)),
        m_network(reinterpret_cast<Word*>(m_composites + run)),
        m_taken(reinterpret_cast<std::uint16_t*>(
            m_network.words() +
            Memory<Word, CompositeKey, Tuning>::words(static_cast<int>(blockDim.x)))) {}

  __device__ CompositeKey* composites() const { return m_composites; }
  __device__ int kept() const { return m_kept; }

  /// Leaves the best `wanted` of the source's composite keys from begin to end - 1, in the order of positions.
  __device__ void operator()(std::int64_t begin, std::int64_t end, int wanted) {
    int const tile = each * static_cast<int>(blockDim.x);
#pragma unroll 1
    for (m_reserved = 0; begin < end; m_reserved = run) {
      std::int64_t const rest = end - begin;
      m_first = begin - m_reserved;
      m_fresh = rest < tile - m_reserved ? static_cast<int>(rest) : tile - m_reserved;
      begin += m_fresh;
      m_source.prefetch(begin, min(begin + tile, end));
      reduce(min(wanted, m_kept + m_fresh));
    }
  }

 private:
  __device__ void reduce(int wanted) {
    Word ranks[each], keys[each];
    load(ranks);
#pragma unroll
    for (int r = 0; r < each; ++r) keys[r] = ranks[r];
    __syncwarp();
    m_network(keys);
    __syncthreads();
    take(ranks, passing(ranks, m_network.best(wanted - 1)), wanted);
    keep(wanted);
  }

  /// The ranks of a thread's neighboring keys; each warp brings those of its threads, neighbors together.
  __device__ void load(Word (&ranks)[each]) const {
    int const warp = static_cast<int>(threadIdx.x) / 32 * 32 * each, end = warp + 32 * each;
    int const first = warp + static_cast<int>(threadIdx.x) % 32;
    if (end <= m_reserved + m_fresh)
      share<true>(first);
    else
      share<false>(first);
    for (int e = first; e < min(m_reserved, end); e += 32)
      put(e, e < m_kept ? m_source.map.ordered_bits_of(m_composites[e]) : Bits{0});
    __syncwarp();
    m_network.load_own(ranks);
  }
  /// Brings every 32nd key, and the worst rank for what is none. Where composite keys are kept, the keys before the
  /// fresh ones are read for nothing.
  template <bool Whole>
  __device__ void share(int first) const {
    typename Source::Loaded loaded[each];
    int const count = m_reserved + m_fresh - first;
    m_source.template load<Whole>(m_first + first, count, loaded);
    Word* const words = m_network.words();
    int const place = Network::Places::of(first);
#pragma unroll
    for (int i = 0; i < each; ++i)
      words[Network::Places::join(place, Network::Places::of(32 * i))] =
          Whole || 32 * i < count ? m_source.rank(loaded[i]) : Bits{0};
  }
  __device__ void put(int e, Word rank) const { m_network.words()[Network::Places::of(e)] = rank; }

  __device__ Passing passing(Word const (&ranks)[each], Word threshold) const {
    Passing bits{};
#pragma unroll
    for (int r = 0; r < each; ++r) {
      bits.above |= (ranks[r] > threshold ? 1u : 0u) << r;
      bits.equal |= (ranks[r] == threshold ? 1u : 0u) << r;
    }
    int const first = static_cast<int>(threadIdx.x) * each;
    int const end = first < m_reserved ? m_kept : m_reserved + m_fresh;
    int const real = max(0, min(each, end - first));
    bits.equal &= (1u << real) - 1;
    return bits;
  }

  /// Lists which of the tile's keys are kept, in their order: those above the threshold, and of its equals those that the
  /// tie rule takes. Their ranks are then in shared memory again.
  __device__ void take(Word const (&ranks)[each], Passing bits, int wanted) const {
    BlockSums const sums(bits.counts());
    if ((bits.above | bits.equal) != 0) m_network.store_own(ranks);
    int above = static_cast<int>(sums.before >> 16), equal = static_cast<int>(sums.before & 0xffff);
    int const open = wanted - static_cast<int>(sums.all >> 16);
    int const first = m_lowest_wins ? 0 : static_cast<int>(sums.all & 0xffff) - open;
    if (equal >= first + open || equal + __popc(bits.equal) <= first) bits.equal = 0;
    for (unsigned rest = bits.above | bits.equal; rest != 0; rest &= rest - 1) {
      int const r = __ffs(static_cast<int>(rest)) - 1;
      int const slot = above + max(0, min(equal - first, open));
      bool const is_above = (bits.above >> r & 1) != 0;
      if (is_above || (equal >= first && equal < first + open))
        m_taken[slot] = static_cast<std::uint16_t>(threadIdx.x * each + r);
      above += is_above;
      equal += !is_above;
    }
    __syncthreads();
  }

  /// Brings the composite keys of what was taken to the front. None stands before where it goes, so that those of later
  /// turns are still where they were.
  __device__ void keep(int wanted) {
    for (int begin = 0; begin < wanted; begin += static_cast<int>(blockDim.x)) {
      int const slot = begin + static_cast<int>(threadIdx.x);
      CompositeKey composite{};
      if (slot < wanted) {
        int const e = m_taken[slot];
        composite =
            e < m_reserved
                ? m_composites[e]
                : m_source.composite(m_first + e,
                                     static_cast<Bits>(m_network.words()[Network::Places::of(e)]));
      }
      __syncthreads();
      if (slot < wanted) m_composites[slot] = composite;
    }
    m_kept = wanted;
    __syncthreads();
  }

  Source m_source;
  bool m_lowest_wins;
  CompositeKey* m_composites;
  Network m_network;
  std::uint16_t* m_taken;
  int m_kept = 0;
  int m_reserved = 0;        // keys of a tile that stand for what was kept
  int m_fresh = 0;           // and how many follow
  std::int64_t m_first = 0;  // of the source, what key 0 of the tile would be
};

template <class CompositeKey>
__device__ void sort_composite_keys(CompositeKey* composites, int size) {
  switch (blockDim.x) {
    case 32: return block_sort<32>(composites, size);
    case 64: return block_sort<64>(composites, size);
    case 128: return block_sort<128>(composites, size);
    case 256: return block_sort<256>(composites, size);
    default: return block_sort<512>(composites, size);
  }
}

/// Stores what is kept of a row, and fills what is open.
template <class Bits, class CompositeKey>
__device__ void store_row(Work<Bits, CompositeKey> const& work, std::int64_t row,
                          CompositeKey* composites, int kept) {
  Problem<Bits> const& problem = work.problem;
  if (work.sorted == Sorted::yes && kept > 1) {
    int size = 2;
    while (size < kept) size *= 2;
    for (int i = kept + static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
      composites[i] = 0;
    sort_composite_keys(composites, size);
  }
  for (int i = threadIdx.x; i < kept; i += static_cast<int>(blockDim.x))
    store_composite_key(problem, work.map, row, i, composites[i]);
  for (std::int64_t i = kept + static_cast<int>(threadIdx.x); i < problem.shape.k; i += blockDim.x)
    problem.store_missing(row, i);
  if (threadIdx.x == 0 && problem.counts) problem.counts.store(row, kept);
}

struct Range {
  std::int64_t begin, end;
};

/// What a block reads of a row, or of the list that the level before has left of it.
template <class Bits, class CompositeKey>
__device__ Range range_of(Work<Bits, CompositeKey> const& work, std::int64_t row, int part,
                          std::int64_t wanted) {
  std::int64_t const tile = each * std::int64_t{blockDim.x};
  std::int64_t length = work.problem.length(row);
#pragma unroll 1
  for (int level = 0; level < work.level; ++level)
    length = Split(length, work.parts[level], tile).kept(length, wanted);
  int const parts = work.parts[work.level];
  if (parts == 1) return {0, length};
  std::int64_t const share = Split(length, parts, tile).share, begin = part * share;
  return {begin, min(begin + share, length)};
}

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source>
__global__ void __launch_bounds__(Tuning::threads(LogRun, sizeof(Bits)),
                                  Tuning::resident_threads / (sizeof(CompositeKey) < 16 ? 1 : 2) /
                                      Tuning::threads(LogRun, sizeof(Bits)))
    reduce_parts(__grid_constant__ Work<Bits, CompositeKey> const work) {
  extern __shared__ __align__(16) char memory[];
  if (work.to != nullptr) let_next_kernel_start();
  int const parts = work.parts[work.level], part = static_cast<int>(blockIdx.x) % parts;
  std::int64_t const row = blockIdx.x / parts;
  std::int64_t const wanted = work.problem.selected_count(row);
  Range const range = range_of(work, row, part, wanted);
  Reduction<Tuning, LogRun, Bits, CompositeKey, Source> reduction(work, row, memory);
  wait_for_previous_kernel();
  if (wanted > 0) reduction(range.begin, range.end, static_cast<int>(wanted));
  if (work.to == nullptr) return store_row(work, row, reduction.composites(), reduction.kept());
  CompositeKey* const to = work.to + row * work.to_row + part * wanted;
  for (int i = threadIdx.x; i < reduction.kept(); i += static_cast<int>(blockDim.x))
    to[i] = reduction.composites()[i];
}

// ---- host side

int log_run_of(std::int64_t k) {
  return std::max(bitonic_shortest_run,
                  static_cast<int>(std::bit_width(
                      static_cast<std::uint64_t>(std::max<std::int64_t>(1, k)) - 1)));
}

/// As many as hold a row, of those that hold a run, and more than one where a row may be longer than what they hold.
template <class Tuning>
int threads_for(Shape const& shape, int log_run) {
  std::int64_t const length =
      shape.ragged ? 2 * shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
  int const least = std::max(32, (shape.ragged ? 2 : 1) * (1 << log_run) / each);
  int threads = Tuning::threads(log_run, shape.key_bytes);
  while (threads > least && length <= each * threads / 2) threads /= 2;
  return threads;
}

/// Blocks that share a row on the first level, where the device holds so many.
std::int64_t first_parts(Shape const& shape, std::int64_t blocks, int threads) {
  std::int64_t const tiles = (shape.n + each * threads - 1) / (each * threads);
  return std::clamp<std::int64_t>(blocks / std::max<std::int64_t>(1, shape.rows), 1,
                                  std::max<std::int64_t>(1, tiles));
}

/// Blocks that share what so many blocks have left of a row.
std::int64_t next_parts(std::int64_t parts, std::int64_t k, int threads) {
  return (parts * k + each * threads - 1) / (each * threads);
}

template <class CompositeKey>
struct Lists {
  CompositeKey* lists[2] = {nullptr, nullptr};  // by turns
  std::int64_t composites[2] = {0, 0};          // of a row at most
  std::size_t bytes = 0;

  Lists(void* workspace, Shape const& shape, std::int64_t parts, int threads) {
    WorkspaceLayout layout(workspace);
    for (int i = 0; i < 2 && parts > 1; ++i) {
      composites[i] = parts * shape.k;
      lists[i] = layout.take<CompositeKey>(shape.rows * composites[i]);
      parts = next_parts(parts, shape.k, threads);
    }
    bytes = layout.bytes();
  }
};

std::int64_t most_parts(int concurrency, Shape const& shape, int threads) {
  return first_parts(shape, concurrency / threads, threads);
}

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source>
struct Kernel {
  static constexpr auto kernel = reduce_parts<Tuning, LogRun, Bits, CompositeKey, Source>;

  static int bytes(int threads) {
    return Memory<WordOf<Bits>, CompositeKey, Tuning>::bytes(threads, 1 << LogRun);
  }
  static void prepare(int threads) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes(threads)),
          "memory");
  }
  static std::int64_t resident_blocks(int device, int threads) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes(threads)),
          "occupancy");
    return std::int64_t{blocks} * processors(device);
  }
  /// A list's kernel may start while the one before it still runs, and waits for it itself.
  static void launch(cudaStream_t stream, int threads, Work<Bits, CompositeKey> const& work) {
    cudaLaunchAttribute early = early_launch();
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(work.problem.shape.rows * work.parts[work.level]));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes(threads));
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = work.level > 0 ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, work), "launch");
  }
};

template <class Tuning, int LogRun, class Bits, class CompositeKey>
void run_levels(int device, int concurrency, cudaStream_t stream, Problem<Bits> const& problem,
                Options const& options, void* workspace) {
  using OfKeys = Kernel<Tuning, LogRun, Bits, CompositeKey, KeySource<Bits, CompositeKey>>;
  using OfLists = Kernel<Tuning, LogRun, Bits, CompositeKey, ListSource<Bits, CompositeKey>>;
  Shape const& shape = problem.shape;
  int const threads = threads_for<Tuning>(shape, LogRun);
  OfKeys::prepare(threads);
  OfLists::prepare(threads);
  std::int64_t const most = most_parts(concurrency, shape, threads);
  Lists<CompositeKey> const lists(workspace, shape, most, threads);
  std::int64_t parts =
      std::min(most, first_parts(shape, OfKeys::resident_blocks(device, threads), threads));
  Work<Bits, CompositeKey> work{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      options.sorted};
  for (work.level = 0; work.level < most_levels; ++work.level) {
    int const turn = work.level % 2;
    work.parts[work.level] = static_cast<int>(parts);
    work.from = lists.lists[1 - turn];
    work.from_row = lists.composites[1 - turn];
    work.to = parts > 1 ? lists.lists[turn] : nullptr;
    work.to_row = lists.composites[turn];
    if (work.level == 0)
      OfKeys::launch(stream, threads, work);
    else
      OfLists::launch(stream, threads, work);
    if (parts == 1) return;
    parts = next_parts(parts, shape.k, threads);
  }
}

template <class Tuning, class Bits, class CompositeKey, int LogRun = bitonic_shortest_run>
void run(int device, int concurrency, cudaStream_t stream, Problem<Bits> const& problem,
         Options const& options, void* workspace) {
  if constexpr (LogRun < bitonic_longest_run)
    if (log_run_of(problem.shape.k) > LogRun)
      return run<Tuning, Bits, CompositeKey, LogRun + 1>(device, concurrency, stream, problem,
                                                         options, workspace);
  run_levels<Tuning, LogRun, Bits, CompositeKey>(device, concurrency, stream, problem, options,
                                                 workspace);
}

}  // namespace

bool bitonic_supports(Shape const& shape) { return shape.k <= bitonic_largest_k; }

std::size_t bitonic_workspace_bytes(int concurrency, Shape const& shape) {
  int const threads = threads_for<BitonicTuning>(shape, log_run_of(shape.k));
  std::int64_t const parts = most_parts(concurrency, shape, threads);
  if (composite_key_bytes(shape.key_bytes, shape.n) == sizeof(CompositeKey64))
    return Lists<CompositeKey64>(nullptr, shape, parts, threads).bytes;
  return Lists<CompositeKey128>(nullptr, shape, parts, threads).bytes;
}

template <class Bits>
void bitonic(int device, int concurrency, cudaStream_t stream, Problem<Bits> const& problem,
             Options const& options, void* workspace) {
  OnDevice const here(device);
  with_composite_key_type<Bits>(problem.shape.n, [&](auto composite) {
    run<BitonicTuning, Bits, decltype(composite)>(device, concurrency, stream, problem, options,
                                                  workspace);
  });
}

#define KTOPK_INSTANTIATE(Bits) \
  template void bitonic(int, int, cudaStream_t, Problem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
