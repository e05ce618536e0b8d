// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include <ktopk/core/workspace.hpp>

#include "../common/block.cuh"
#include "../common/composite_keys.hpp"
#include "../common/device.hpp"
#include "../common/key_widths.hpp"
#include "../common/sort_rows.cuh"
#include "../common/this_module.cuh"
#include "network.cuh"

// Bitonic top-k. A block reads its part of a row tile by tile. The network works on ranks alone, at two instructions
// for each exchange, and finds the k-th rank of a tile. Then the keys of the tile that reach it are gathered in the
// order of positions; they come before the keys of the next tile. Each further launch reduces the lists that blocks
// have left, until one block has a row.

namespace ktopk::detail::cuda {

namespace {

constexpr int each = bitonic_words_of_thread;
constexpr int most_levels = 12;

/// How blocks share a row or list. Each of them keeps `wanted` composite keys.
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
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Sorted sorted;
  int level = 0;                // level 0 reads keys, the others read the list of the previous one
  int parts[most_levels] = {};  // how many parts a row has on each level
  CompositeKey const* from = nullptr;
  std::int64_t from_row = 0;   // composite keys of a row at most
  CompositeKey* to = nullptr;  // none where a block has a row
  std::int64_t to_row = 0;
  int bytes_of_row = 0;  // of shared memory
};

template <class Bits>
using WordOf = std::conditional_t<sizeof(Bits) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(Bits) == 4, std::uint32_t, RankPair>>;

/// How many keys of a tile a thread has.
__host__ __device__ constexpr int keys_of_thread(int key_bytes) {
  return each * bitonic_ranks_of_word(key_bytes);
}

/// Loads keys that are `step` apart. If the tile is not `Whole`, only keys before `count` exist; a thread's keys are
/// `apart` from each other.
template <bool Whole, class T>
__device__ __forceinline__ void load_lines(T const* from, std::int64_t step, int apart, int count,
                                           std::remove_const_t<T> (&loaded)[each]) {
#pragma unroll
  for (int i = 0; i < each; ++i) {
    if constexpr (!Whole) loaded[i] = {};
    if (Whole || apart * i < count) loaded[i] = from[i * step];
  }
}

template <class Bits, class CompositeKey>
struct KeySource {
  Stored<Bits> const* keys;
  std::int64_t step, row_step;
  CompositeKeyMap<Bits, CompositeKey> map;

  using Loaded = Bits;
  __device__ KeySource(Work<Bits, CompositeKey> const& work, std::int64_t row)
      : keys(work.problem.rows.pointer(row)),
        step(work.problem.rows.step),
        row_step(work.problem.rows.row_stride),
        map(work.map) {}
  /// Loads key i and those `apart`, 2 * `apart`, ... behind it, if they are before `count`.
  template <bool Whole>
  __device__ void load(std::int64_t i, int apart, int count, Bits (&loaded)[each]) const {
    if (step == 1) return load_lines<Whole>(keys + i, apart, apart, count, loaded);
    load_lines<Whole>(keys + i * step, apart * step, apart, count, loaded);
  }
  /// The same for a later row, so many rows behind this one.
  template <bool Whole>
  __device__ void load_neighbor(int rows, std::int64_t i, int apart, int count,
                                Bits (&loaded)[each]) const {
    load_lines<Whole>(keys + rows * row_step + i * step, apart * step, apart, count, loaded);
  }
  __device__ Bits rank(Bits key) const { return map.rank(key); }
  __device__ CompositeKey composite(std::int64_t i, Bits rank) const {
    return map.join(rank, static_cast<std::uint64_t>(i));
  }
  /// Prefetches keys that will be loaded. For a single row whose keys have gaps between them it does not pay.
  template <RowsOfBlock Rows>
  __device__ void prefetch(std::int64_t begin, std::int64_t end) const {
    if constexpr (Rows == RowsOfBlock::several) {
      int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
      Stored<Bits> const* const first_row = keys - static_cast<int>(threadIdx.y) * row_step;
      for (std::int64_t i = begin + thread; i < end; i += blockDim.x * blockDim.y)
        cuda::prefetch(first_row + i * step);
    } else {
      constexpr int line = 128 / sizeof(Bits);
      std::int64_t const i = begin + static_cast<int>(threadIdx.x) * line;
      if (step == 1 && i < end) cuda::prefetch(keys + i);
    }
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
  __device__ void load(std::int64_t i, int apart, int count, CompositeKey (&loaded)[each]) const {
    load_lines<Whole>(composites + i, apart, apart, count, loaded);
  }
  __device__ Bits rank(CompositeKey composite) const { return map.ordered_bits_of(composite); }
  __device__ CompositeKey composite(std::int64_t i, Bits) const { return composites[i]; }
  template <RowsOfBlock>
  __device__ void prefetch(std::int64_t, std::int64_t) const {}
};

/// Whether keys of neighboring rows are copied to shared memory while the network works on the previous tile. Narrower
/// keys cannot be copied asynchronously.
template <class Bits, RowsOfBlock Rows>
constexpr bool copies_ahead = Rows == RowsOfBlock::several && sizeof(Bits) >= 4;

/// The shared memory of a row: the composite keys that it keeps, the words of a tile, the keys of the next tile if they
/// are copied ahead, and which keys of the tile are kept.
template <class Bits, class CompositeKey, class Tuning, RowsOfBlock Rows>
struct Memory {
  using Word = WordOf<Bits>;
  __host__ __device__ static constexpr int words(int threads) {
    return BitonicPlaces<Word, Tuning::placement>::words(each * threads);
  }
  static constexpr int bytes(int threads, int run) {
    return run * static_cast<int>(sizeof(CompositeKey) + sizeof(std::uint16_t)) +
           words(threads) * static_cast<int>(sizeof(Word)) * (copies_ahead<Bits, Rows> ? 2 : 1);
  }
  /// The bytes of a row, with a gap behind it, so that neighboring threads, which write to different rows, access
  /// different banks.
  static constexpr int bytes_of_row(int threads, int run, int rows) {
    constexpr int banks = 128;
    return (bytes(threads, run) + banks - 1) / banks * banks + banks / rows;
  }
};

/// Which of a thread's keys reach the threshold of the tile, a bit for each.
struct Passing {
  unsigned above, equal;

  __device__ unsigned counts() const { return __popc(above) << 16 | __popc(equal); }
};

/// Prefix sums over all threads of the row, for two 16-bit numbers in a word.
template <RowsOfBlock Rows>
struct RowSums {
  unsigned before, all;

  __device__ explicit RowSums(unsigned mine) {
    __shared__ unsigned sums_of_rows[Rows == RowsOfBlock::one ? 1 : bitonic_most_rows][32];
    unsigned* const sums = sums_of_rows[Rows == RowsOfBlock::one ? 0 : threadIdx.y];
    unsigned const inclusive = warp_sum_to(mine);
    int const warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 31) sums[warp] = inclusive;
    sync_row<Rows>();
    before = inclusive - mine;
    all = 0;
    for (int w = 0; w < warps; ++w) {
      before += w < warp ? sums[w] : 0;
      all += sums[w];
    }
  }
};

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source, RowsOfBlock Rows>
class Reduction {
 public:
  using Word = WordOf<Bits>;
  using Network = BitonicNetwork<Word, LogRun, Tuning, Rows>;
  static constexpr int run = Network::run;
  static constexpr int ranks_of_word = bitonic_ranks_of_word(sizeof(Bits));
  static constexpr int own = keys_of_thread(sizeof(Bits));
  static constexpr bool is_copied = copies_ahead<Bits, Rows>;

  /// \param memory  the row's
  __device__ Reduction(Work<Bits, CompositeKey> const& work, std::int64_t row, char* memory)
      : m_source(work, row),
        m_lowest_wins(work.map.flip != 0),
        m_composites(reinterpret_cast<CompositeKey*>(memory)),
        m_network(reinterpret_cast<Word*>(m_composites + run)),
        m_taken(reinterpret_cast<std::uint16_t*>(m_network.words() +
                                                 (is_copied ? 2 : 1) * words_of_tile())),
        m_words_of_row(work.bytes_of_row / static_cast<int>(sizeof(Word))),
        m_rows_behind(
            static_cast<int>(min(std::int64_t{bitonic_most_rows}, work.problem.shape.rows - row))) {
  }

  __device__ CompositeKey* composites() const { return m_composites; }
  __device__ int kept() const { return m_kept; }

  /// Keeps the best `wanted` of the source's composite keys begin .. end - 1, in the order of positions.
  __device__ void operator()(std::int64_t begin, std::int64_t end, int wanted) {
    if constexpr (is_copied) copy_rows(begin, 0, fresh(begin, end, 0));
#pragma unroll 1
    for (m_reserved = 0; begin < end; m_reserved = run) {
      m_first = begin - m_reserved;
      m_fresh = fresh(begin, end, m_reserved);
      begin += m_fresh;
      if constexpr (!is_copied)
        m_source.template prefetch<Rows>(begin, min(begin + own * blockDim.x, end));
      reduce(begin, end, min(wanted, m_kept + m_fresh));
    }
  }

 private:
  /// How many new keys a tile from `begin` on has.
  __device__ static int fresh(std::int64_t begin, std::int64_t end, int reserved) {
    int const open = own * static_cast<int>(blockDim.x) - reserved;
    return end - begin < open ? static_cast<int>(end - begin) : open;
  }
  __device__ static int words_of_tile() {
    return Memory<Bits, CompositeKey, Tuning, Rows>::words(static_cast<int>(blockDim.x));
  }

  /// \param begin  of the next tile, before `end` if there is one
  __device__ void reduce(std::int64_t begin, std::int64_t end, int wanted) {
    Word ranks[each], keys[each];
    if constexpr (is_copied) {
      load_copied(ranks);
      if (begin < end) copy_rows(begin - run, run, fresh(begin, end, run));
    } else {
      load(ranks);
    }
    if (Rows == RowsOfBlock::several && wanted == 0) return;
    if constexpr (ranks_of_word > 1)
      if (m_kept == wanted && !any_of_row<Rows>(can_win(ranks))) return;
#pragma unroll
    for (int r = 0; r < each; ++r) keys[r] = ranks[r];
    __syncwarp();
    m_network(keys);
    sync_row<Rows>();
    if constexpr (ranks_of_word > 1) {
      m_threshold = m_network.best_of_halves(wanted - 1);
      take(ranks, passing(ranks, m_threshold), wanted);
    } else {
      take(ranks, passing(ranks, m_network.best(wanted - 1)), wanted);
    }
    keep(wanted);
  }

  /// Whether a thread has a key that is better than the worst that is kept. Narrow keys have so few values that soon
  /// none is.
  __device__ bool can_win(Word const (&ranks)[each]) const {
    Word best = ranks[0];
#pragma unroll
    for (int r = 1; r < each; ++r) best = greater_of(best, ranks[r]);
    unsigned const rank = max(best.low(), best.high());
    bool const is_kept = static_cast<int>(threadIdx.x) * own < m_reserved;
    return !is_kept && (m_lowest_wins ? rank > m_threshold : rank >= m_threshold);
  }

  /// Loads the ranks of a thread's neighboring keys.
  __device__ void load(Word (&ranks)[each]) const {
    if constexpr (Rows == RowsOfBlock::several)
      share_rows();
    else
      share_warp();
    m_network.load_own(ranks);
  }

  /// Which row's keys this thread loads for the block, relative to its own row, and from which key on. Neighboring
  /// threads load keys of neighboring rows.
  __device__ static int brought_row() {
    int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    return (thread & (static_cast<int>(blockDim.y) - 1)) - static_cast<int>(threadIdx.y);
  }
  __device__ static int brought_key() {
    int const thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    return thread >> (__ffs(static_cast<int>(blockDim.y)) - 1);
  }

  /// Begins to copy the keys of a tile behind its reserved ones; `first` is where key 0 would be.
  __device__ void copy_rows(std::int64_t first, int reserved, int count) const {
    int const rows = brought_row(), apart = static_cast<int>(blockDim.x);
    int const end = rows < m_rows_behind ? reserved + count : 0;
    Word* const to = m_network.words() + rows * m_words_of_row + words_of_tile();
    std::int64_t const step = m_source.step;
    Bits const* from = m_source.keys + rows * m_source.row_step + (first + brought_key()) * step;
#pragma unroll
    for (int i = 0, e = brought_key(); i < own; ++i, e += apart, from += apart * step)
      if (reserved <= e && e < end) begin_copy(to + Network::Places::of(e), from);
  }
  /// Loads the ranks of a thread's neighboring keys from those that were copied. After it the next ones may be copied.
  __device__ void load_copied(Word (&ranks)[each]) const {
    wait_for_copies();
    __syncthreads();
    int const first = static_cast<int>(threadIdx.x) * each, end = m_reserved + m_fresh;
    Word const* const copied = m_network.words() + words_of_tile() + Network::Places::of(first);
#pragma unroll
    for (int r = 0; r < each; ++r)
      ranks[r] = first + r < end ? m_source.rank(copied[Network::Places::of(r)]) : Word{0};
    if (first < m_reserved)
#pragma unroll
      for (int r = 0; r < each; ++r) ranks[r] = rank_kept(first + r);
    __syncthreads();
  }

  /// Each warp loads the keys of its threads to shared memory; neighboring lanes load neighbors.
  __device__ void share_warp() const {
    int const warp = static_cast<int>(threadIdx.x) / 32 * 32 * own, end = warp + 32 * own;
    int const lane = static_cast<int>(threadIdx.x) % 32;
    int const first = warp + (ranks_of_word > 1 ? lane / each * own + lane % each : lane);
    if (end <= m_reserved + m_fresh)
      share<true>(first);
    else
      share<false>(first);
    for (int e = first; e < min(m_reserved, end); e += 32 * ranks_of_word)
#pragma unroll
      for (int half = 0; half < ranks_of_word; ++half) put_kept(e + half * each);
    __syncwarp();
  }
  __device__ Bits rank_kept(int e) const {
    return e < m_kept ? m_source.map.ordered_bits_of(m_composites[e]) : Bits{0};
  }
  __device__ void put_kept(int e) const { m_network.put(e, rank_kept(e)); }
  /// Loads every 32nd word; where there is no key, it writes the worst rank. If composite keys are kept, the keys
  /// before the new ones are read in vain.
  template <bool Whole>
  __device__ void share(int first) const {
    constexpr int apart = 32 * ranks_of_word;
    typename Source::Loaded loaded[ranks_of_word][each];
    int const count = m_reserved + m_fresh - first;
#pragma unroll
    for (int half = 0; half < ranks_of_word; ++half)
      m_source.template load<Whole>(m_first + first + half * each, apart, count - half * each,
                                    loaded[half]);
    auto const rank = [&](int half, int i) {
      return Whole || apart * i + half * each < count ? m_source.rank(loaded[half][i]) : Bits{0};
    };
    Word* const words = m_network.words();
    int const place =
        Network::Places::of(ranks_of_word > 1 ? first / own * each + first % each : first);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      Word& word = words[Network::Places::join(place, Network::Places::of(32 * i))];
      if constexpr (ranks_of_word > 1)
        word = RankPair::of(rank(0, i), rank(1, i));
      else
        word = rank(0, i);
    }
  }

  /// All threads of the block load the keys of its rows to shared memory; neighboring threads load neighboring rows.
  __device__ void share_rows() const {
    int const rows = brought_row(), first = brought_key();
    int const end = rows < m_rows_behind ? m_reserved + m_fresh : 0;
    __syncthreads();
    if (own * static_cast<int>(blockDim.x) <= end)
      share_neighbor<true>(rows, first, end);
    else
      share_neighbor<false>(rows, first, end);
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < m_reserved; e += static_cast<int>(blockDim.x))
      put_kept(e);
    sync_row<Rows>();
  }

  /// Loads keys of first .. end - 1, as far apart as there are threads, of the row so many rows behind this one.
  template <bool Whole>
  __device__ void share_neighbor(int rows, int first, int end) const {
    int const apart = static_cast<int>(blockDim.x);
    Network const network(m_network.words() + rows * m_words_of_row);
#pragma unroll 1
    for (int half = 0; half < ranks_of_word; ++half, first += each * apart) {
      Bits loaded[each];
      int const count = end - first;
      m_source.template load_neighbor<Whole>(rows, m_first + first, apart, count, loaded);
#pragma unroll
      for (int i = 0; i < each; ++i)
        network.put(first + i * apart,
                    Whole || i * apart < count ? m_source.rank(loaded[i]) : Bits{0});
    }
  }

  __device__ Passing passing(Word const (&ranks)[each], unsigned threshold) const
    requires(ranks_of_word > 1)
  {
    constexpr unsigned ones = 0x00010001u;
    unsigned const thresholds = threshold * ones;
    Passing bits{};
    unsigned unequal = 0;
#pragma unroll
    for (int r = 0; r < each; ++r) {
      unsigned const pair = ranks[r].bits;
      bits.above |= __vminu2(__vmaxu2(pair, thresholds) ^ thresholds, ones) << r;
      unequal |= __vminu2(pair ^ thresholds, ones) << r;
    }
    bits.equal = ~unequal & real();
    return bits;
  }
  __device__ Passing passing(Word const (&ranks)[each], Word threshold) const
    requires(ranks_of_word == 1)
  {
    Passing bits{};
#pragma unroll
    for (int r = 0; r < each; ++r) {
      bits.above |= (ranks[r] > threshold ? 1u : 0u) << r;
      bits.equal |= (ranks[r] == threshold ? 1u : 0u) << r;
    }
    bits.equal &= real();
    return bits;
  }
  /// Returns a mask: a bit for each of the thread's keys, set if it is no padding.
  __device__ unsigned real() const {
    int const first = static_cast<int>(threadIdx.x) * own;
    int const end = first < m_reserved ? m_kept : m_reserved + m_fresh;
    int const count = max(0, min(own, end - first));
    return count < 32 ? (1u << count) - 1 : ~0u;
  }

  /// Lists which keys of the tile are kept, in their order: those above the threshold, and those equal to it that the
  /// tie rule selects. After it their ranks are in shared memory again.
  __device__ void take(Word const (&ranks)[each], Passing bits, int wanted) const {
    RowSums<Rows> const sums(bits.counts());
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
        m_taken[slot] = static_cast<std::uint16_t>(threadIdx.x * own + r);
      above += is_above;
      equal += !is_above;
    }
    sync_row<Rows>();
  }

  /// Moves the composite keys that are kept to the front. None moves back, so those of later turns are still in their
  /// places.
  __device__ void keep(int wanted) {
    for (int begin = 0; begin < wanted; begin += static_cast<int>(blockDim.x)) {
      int const slot = begin + static_cast<int>(threadIdx.x);
      CompositeKey composite{};
      if (slot < wanted) {
        int const e = m_taken[slot];
        composite = e < m_reserved
                        ? m_composites[e]
                        : m_source.composite(m_first + e, m_network.template rank<Bits>(e));
      }
      sync_row<Rows>();
      if (slot < wanted) m_composites[slot] = composite;
    }
    m_kept = wanted;
    sync_row<Rows>();
  }

  Source m_source;
  bool m_lowest_wins;
  CompositeKey* m_composites;
  Network m_network;
  std::uint16_t* m_taken;
  int m_words_of_row;
  int m_rows_behind;         // how many rows there are from this one on, at most those of a block
  unsigned m_threshold = 0;  // the worst rank that is kept, of narrow keys
  int m_kept = 0;
  int m_reserved = 0;        // how many keys of a tile are those that were kept
  int m_fresh = 0;           // how many new ones follow
  std::int64_t m_first = 0;  // the place in the source of key 0 of the tile
};

/// Sorts `size` composite keys of shared memory, a power of two, by the threads of a row.
template <RowsOfBlock Rows, class CompositeKey>
__device__ void sort_composite_keys(CompositeKey* composites, int size) {
  for (int length = 2; length <= size; length *= 2)
    for (int distance = length / 2; distance > 0; distance /= 2) {
      sync_row<Rows>();
      for (int pair = threadIdx.x; pair < size / 2; pair += static_cast<int>(blockDim.x)) {
        int const i = 2 * pair - (pair & (distance - 1)), j = i + distance;
        CompositeKey const a = composites[i], b = composites[j];
        if ((a < b) == ((i & length) == 0)) {
          composites[i] = b;
          composites[j] = a;
        }
      }
    }
  sync_row<Rows>();
}

/// Stores what is kept of a row, and fills the slots that it leaves open.
template <RowsOfBlock Rows, class Bits, class CompositeKey>
__device__ void store_row(Work<Bits, CompositeKey> const& work, std::int64_t row,
                          CompositeKey* composites, int kept) {
  StoredProblem<Bits> const& problem = work.problem;
  if (work.sorted == Sorted::yes && kept > 1) {
    int size = 2;
    while (size < kept) size *= 2;
    for (int i = kept + static_cast<int>(threadIdx.x); i < size; i += static_cast<int>(blockDim.x))
      composites[i] = 0;
    sort_composite_keys<Rows>(composites, size);
  }
  for (int i = threadIdx.x; i < kept; i += static_cast<int>(blockDim.x))
    store_composite_key(problem, work.map, row, i, composites[i]);
  for (std::int64_t i = kept + static_cast<int>(threadIdx.x); i < problem.shape.k; i += blockDim.x)
    problem.out.store_missing(row, i);
  if (threadIdx.x == 0 && problem.counts) problem.counts.store(row, kept);
}

struct Range {
  std::int64_t begin, end;
};

/// The part of a row, or of the list that the previous level has left of it, that a block reads.
template <class Bits, class CompositeKey>
__device__ Range range_of(Work<Bits, CompositeKey> const& work, std::int64_t row, int part,
                          std::int64_t wanted) {
  std::int64_t const tile = keys_of_thread(sizeof(Bits)) * std::int64_t{blockDim.x};
  std::int64_t length = work.problem.length(row);
#pragma unroll 1
  for (int level = 0; level < work.level; ++level)
    length = Split(length, work.parts[level], tile).kept(length, wanted);
  int const parts = work.parts[work.level];
  if (parts == 1) return {0, length};
  std::int64_t const share = Split(length, parts, tile).share, begin = part * share;
  return {begin, min(begin + share, length)};
}

template <class Tuning, class CompositeKey>
constexpr int resident_threads = Tuning::resident_threads / (sizeof(CompositeKey) < 16 ? 1 : 2);

template <class Tuning, int LogRun, class Bits, class CompositeKey, RowsOfBlock Rows>
constexpr int most_threads = Rows == RowsOfBlock::several ? resident_threads<Tuning, CompositeKey>
                                                          : Tuning::threads(LogRun, sizeof(Bits));

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source, RowsOfBlock Rows>
__global__ void __launch_bounds__(most_threads<Tuning, LogRun, Bits, CompositeKey, Rows>,
                                  resident_threads<Tuning, CompositeKey> /
                                      most_threads<Tuning, LogRun, Bits, CompositeKey, Rows>)
    reduce_parts(__grid_constant__ Work<Bits, CompositeKey> const work) {
  extern __shared__ __align__(16) char memory[];
  if (work.to != nullptr) let_next_kernel_start();
  int const parts = work.parts[work.level], part = static_cast<int>(blockIdx.x) % parts;
  bool const has_neighbors = Rows == RowsOfBlock::several;
  std::int64_t row = blockIdx.x / parts;
  if (has_neighbors) row = row * blockDim.y + threadIdx.y;
  bool const is_row = !has_neighbors || row < work.problem.shape.rows;
  std::int64_t const wanted = is_row ? work.problem.selected_count(row) : 0;
  Range const range = range_of(work, row, part, wanted);
  Reduction<Tuning, LogRun, Bits, CompositeKey, Source, Rows> reduction(
      work, row,
      has_neighbors ? memory + static_cast<int>(threadIdx.y) * work.bytes_of_row : memory);
  wait_for_previous_kernel();
  if (has_neighbors || wanted > 0) reduction(range.begin, range.end, static_cast<int>(wanted));
  if (!is_row) return;
  if (work.to == nullptr)
    return store_row<Rows>(work, row, reduction.composites(), reduction.kept());
  CompositeKey* const to = work.to + row * work.to_row + part * wanted;
  for (int i = threadIdx.x; i < reduction.kept(); i += static_cast<int>(blockDim.x))
    to[i] = reduction.composites()[i];
}

// ---- host side

/// The shortest runs that hold k keys.
int log_run_of(std::int64_t k) {
  for (int const log_run : bitonic_log_runs)
    if (k <= std::int64_t{1} << log_run) return log_run;
  return bitonic_longest_run;
}

/// How many threads a row has: as few as hold it, but enough for a run, or for two if the row may be longer.
template <class Tuning>
int threads_for(Shape const& shape, int log_run) {
  std::int64_t const length =
      shape.ragged ? 2 * shape.n / std::max<std::int64_t>(1, shape.rows) : shape.n;
  int const least = std::max(32, (shape.ragged ? 2 : 1) * (1 << log_run) / each);
  int threads = Tuning::threads(log_run, shape.key_bytes);
  int const own = keys_of_thread(shape.key_bytes);
  while (threads > least && length <= own * threads / 2) threads /= 2;
  return threads;
}

/// How many blocks share a row, or a group of rows, on the first level, if the device holds so many.
std::int64_t parts_of(Shape const& shape, std::int64_t groups, std::int64_t blocks, int threads) {
  std::int64_t const tile = keys_of_thread(shape.key_bytes) * threads;
  std::int64_t const tiles = (shape.n + tile - 1) / tile;
  return std::clamp<std::int64_t>(blocks / std::max<std::int64_t>(1, groups), 1,
                                  std::max<std::int64_t>(1, tiles));
}

/// How many blocks share what so many blocks have left of a row.
std::int64_t next_parts(std::int64_t parts, Shape const& shape, int threads) {
  std::int64_t const tile = keys_of_thread(shape.key_bytes) * threads;
  return (parts * shape.k + tile - 1) / tile;
}

template <class CompositeKey>
struct Lists {
  CompositeKey* lists[2] = {nullptr, nullptr};  // used in turns
  std::int64_t composites[2] = {0, 0};          // the most of a row
  std::size_t bytes = 0;

  Lists(void* workspace, Shape const& shape, std::int64_t parts, int threads) {
    WorkspaceLayout layout(workspace);
    for (int i = 0; i < 2 && parts > 1; ++i) {
      composites[i] = parts * shape.k;
      lists[i] = layout.take<CompositeKey>(shape.rows * composites[i]);
      parts = next_parts(parts, shape, threads);
    }
    bytes = layout.bytes();
  }
};

std::int64_t most_parts(int concurrency, Shape const& shape, int threads) {
  return parts_of(shape, shape.rows, concurrency / threads, threads);
}

template <class Tuning, int LogRun, class Bits, class CompositeKey, class Source,
          RowsOfBlock Rows = RowsOfBlock::one>
struct Kernel {
  static constexpr auto kernel = reduce_parts<Tuning, LogRun, Bits, CompositeKey, Source, Rows>;
  dim3 threads;
  int bytes_of_row;

  Kernel(int threads_of_row, int rows)
      : threads(static_cast<unsigned>(threads_of_row), static_cast<unsigned>(rows)),
        bytes_of_row(Memory<Bits, CompositeKey, Tuning, Rows>::bytes_of_row(threads_of_row,
                                                                            1 << LogRun, rows)) {
    allow_all_shared_memory(kernel);
  }
  int bytes() const { return static_cast<int>(threads.y) * bytes_of_row; }
  std::int64_t groups(Shape const& shape) const { return (shape.rows + threads.y - 1) / threads.y; }
  std::int64_t resident_blocks(int device) const {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &blocks, kernel, static_cast<int>(threads.x * threads.y), bytes()),
          "occupancy");
    return std::int64_t{blocks} * processors(device);
  }
  /// Launches a kernel. One that reads a list may start while the previous one still runs, and waits for that one
  /// itself.
  void launch(cudaStream_t stream, Work<Bits, CompositeKey> work) const {
    cudaLaunchAttribute early = early_launch();
    cudaLaunchConfig_t config{};
    config.gridDim =
        dim3(static_cast<unsigned>(groups(work.problem.shape) * work.parts[work.level]));
    config.blockDim = threads;
    config.dynamicSmemBytes = static_cast<std::size_t>(bytes());
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = work.level > 0 ? 1 : 0;
    work.bytes_of_row = bytes_of_row;
    check(cudaLaunchKernelEx(&config, kernel, work), "launch");
  }
};

/// How many rows a block reads together, so that it reads whole lines: one, unless rows lie side by side.
template <class Tuning, int LogRun, class Bits, class CompositeKey>
int rows_of_block(StoredProblem<Bits> const& problem, int threads) {
  using OfRow = Memory<Bits, CompositeKey, Tuning, RowsOfBlock::several>;
  Shape const& shape = problem.shape;
  if (shape.ragged || std::abs(problem.rows.row_stride) >= std::abs(problem.rows.step)) return 1;
  int rows = Tuning::neighbor_rows(threads);
  while (rows > 1 &&
         (rows * threads > resident_threads<Tuning, CompositeKey> ||
          rows * OfRow::bytes_of_row(threads, 1 << LogRun, rows) > most_shared_bytes() ||
          rows >= 2 * shape.rows))
    rows /= 2;
  return rows;
}

/// Launches the kernel of the first level, and all others.
template <class Tuning, int LogRun, class Bits, class CompositeKey, RowsOfBlock Rows>
void run_levels(int device, int concurrency, cudaStream_t stream,
                StoredProblem<Bits> const& problem, Options const& options, void* workspace,
                int threads, int rows) {
  Kernel<Tuning, LogRun, Bits, CompositeKey, KeySource<Bits, CompositeKey>, Rows> const of_keys(
      threads, rows);
  Kernel<Tuning, LogRun, Bits, CompositeKey, ListSource<Bits, CompositeKey>> const of_lists(threads,
                                                                                            1);
  Shape const& shape = problem.shape;
  std::int64_t const most = most_parts(concurrency, shape, threads);
  Lists<CompositeKey> const lists(workspace, shape, most, threads);
  std::int64_t parts = std::min(
      most, parts_of(shape, of_keys.groups(shape), of_keys.resident_blocks(device), threads));
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
      of_keys.launch(stream, work);
    else
      of_lists.launch(stream, work);
    if (parts == 1) return;
    parts = next_parts(parts, shape, threads);
  }
}

template <class Tuning, class Bits, class CompositeKey, std::size_t Run = 0>
void run(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
         Options const& options, void* workspace) {
  constexpr int LogRun = bitonic_log_runs[Run];
  if constexpr (LogRun < bitonic_longest_run)
    if (log_run_of(problem.shape.k) > LogRun)
      return run<Tuning, Bits, CompositeKey, Run + 1>(device, concurrency, stream, problem, options,
                                                      workspace);
  int const threads = threads_for<Tuning>(problem.shape, LogRun);
  int const rows = rows_of_block<Tuning, LogRun, Bits, CompositeKey>(problem, threads);
  auto const run_levels_of =
      rows > 1 ? run_levels<Tuning, LogRun, Bits, CompositeKey, RowsOfBlock::several>
               : run_levels<Tuning, LogRun, Bits, CompositeKey, RowsOfBlock::one>;
  run_levels_of(device, concurrency, stream, problem, options, workspace, threads, rows);
}

}  // namespace

/// Rows of more than 2^32 keys of 32 bits, whose composite keys would have 128 bits, are left to the portable bitonic.
bool bitonic_supports(Shape const& shape) {
  return shape.k <= bitonic_largest_k && fits_composite_key(shape.key_bytes, shape.n);
}

std::size_t bitonic_workspace_bytes(int concurrency, Shape const& shape) {
  int const threads = threads_for<BitonicTuning>(shape, log_run_of(shape.k));
  std::int64_t const parts = most_parts(concurrency, shape, threads);
  if (shape.key_bytes == 8) return Lists<CompositeKey128>(nullptr, shape, parts, threads).bytes;
  return Lists<CompositeKey64>(nullptr, shape, parts, threads).bytes;
}

template <class Bits>
void bitonic(int device, int concurrency, cudaStream_t stream, StoredProblem<Bits> const& problem,
             Options const& options, void* workspace) {
  OnDevice const here(device);
  run<BitonicTuning, Bits, CompositeKeyOf<Bits>>(device, concurrency, stream, problem, options,
                                                 workspace);
}

#define KTOPK_INSTANTIATE(Bits) \
  template void bitonic(int, int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
