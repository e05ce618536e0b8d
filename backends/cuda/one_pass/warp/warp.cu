// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "../../common/device.hpp"
#include "../../common/key_widths.hpp"
#include "../../common/sort_rows.cuh"
#include "../../common/stream.cuh"
#include "../../common/this_module.cuh"
#include "../../common/warp.cuh"
#include "tuning.hpp"

// A warp selects from a row by itself. The k-th best of the greatest keys of one tile's vectors is a threshold that at least
// k keys reach. The warp keeps what reaches it; when its list is full, the k-th best of the list becomes the threshold. So
// nothing has to be proven, and no warp waits for another.

namespace ktopk::detail::cuda {

namespace {

constexpr OnePassWarpTuning warp_tuning = one_pass_warp_tuning;

/// Vectors of a lane's part of a tile: its keys have a bit each in a word.
template <class Bits>
constexpr int vectors_in_tile = std::min(warp_tuning.vectors, 2 * static_cast<int>(sizeof(Bits)));

template <class Bits, class CompositeKey>
struct WarpRows {
  StoredProblem<Bits> problem;
  CompositeKeyMap<Bits, CompositeKey> map;
  Sorted sorted;
  unsigned tiles;   ///< of a row; each has a piece of every part of it
  unsigned stride;  ///< from one tile to the next, so that sorted rows are read in another order
};

__device__ inline unsigned lane() { return threadIdx.x % 32; }

/// The k-th best of a list of a warp, all of which are `low` or better.
template <class CompositeKey>
__device__ __noinline__ CompositeKey kth_of_list(CompositeKey const* list, int size, int k,
                                                 CompositeKey low) {
  CompositeKey high = 0;
  for (int i = static_cast<int>(lane()); i < size; i += 32) high = list[i] > high ? list[i] : high;
  high = warp_max(high);
  while (low < high) {
    CompositeKey const middle = low + (high - low) / 2 + 1;
    unsigned reach = 0;
    for (int i = static_cast<int>(lane()); i < size; i += 32) reach += list[i] >= middle ? 1 : 0;
    int const count = static_cast<int>(warp_total(reach));
    if (count == k) return middle;
    if (count > k)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// A warp's selection of one row after the other.
template <class Bits, class CompositeKey>
class WarpSelection {
 public:
  __device__ WarpSelection(WarpRows<Bits, CompositeKey> const& rows, CompositeKey* list)
      : m_rows(rows), m_list(list) {}

  __device__ void run(std::int64_t row) {
    StoredProblem<Bits> const& problem = m_rows.problem;
    int const k = static_cast<int>(problem.selected_count(row));
    if (k > 0) select(problem.rows.pointer(row), row, k);
    if (lane() == 0 && problem.counts) problem.counts.store(row, k);
    for (std::int64_t slot = k + lane(); slot < problem.shape.k; slot += 32)
      problem.out.store_missing(row, slot);
  }

 private:
  static constexpr int width = Vector<Bits>::size;
  static constexpr int in_tile = vectors_in_tile<Bits>;
  using Test = ThresholdTest<Bits>;
  /// A lane's part of a tile. The tile has a piece of 32 vectors in each part of the row, so that it samples sorted rows
  /// as well as others.
  struct Loaded {
    Vector<Bits> vectors[in_tile];
  };

  __device__ void select(Bits const* keys, std::int64_t row, int k) {
    AlignedRow<Bits> const aligned(keys, m_rows.problem.shape.n);
    auto const head = static_cast<unsigned>(aligned.head);
    auto const vectors = static_cast<unsigned>(aligned.vectors);
    m_k = k;
    m_size = 0;
    unsigned tile = m_rows.tiles / 2;
    Loaded loaded = load(aligned.keys, tile, vectors), next{};
    m_threshold = static_cast<CompositeKey>(bound_of(loaded, tile, vectors))
                  << m_rows.map.position_bits;
    Test test(m_rows.map, m_threshold, head);
    for (unsigned done = 0; done < m_rows.tiles; ++done, loaded = next) {
      unsigned const place = place_of(tile, 0);
      tile += m_rows.stride;
      if (tile >= m_rows.tiles) tile -= m_rows.tiles;
      if (done + 1 < m_rows.tiles) next = load(aligned.keys, tile, vectors);
      if (keep(loaded, test, aligned, place)) test = Test(m_rows.map, m_threshold, head);
    }
    keep_edges(keys, head, head + vectors * width);
    store(row);
  }

  /// Where the lane's vector v of a tile stands.
  __device__ unsigned place_of(unsigned tile, int v) const {
    return (tile + static_cast<unsigned>(v) * m_rows.tiles) * 32 + lane();
  }

  __device__ Loaded load(Bits const* keys, unsigned tile, unsigned vectors) const {
    Loaded loaded;
#pragma unroll
    for (int v = 0; v < in_tile; ++v) {
      unsigned const place = place_of(tile, v);
      loaded.vectors[v] =
          place < vectors ? Vector<Bits>::load(keys + std::size_t{place} * width) : Vector<Bits>{};
    }
    return loaded;
  }

  /// A rank that at least k keys of a tile reach, and few more: of the greatest of each vector, the k-th best. It is 0 where
  /// there are too few vectors.
  __device__ Bits bound_of(Loaded const& loaded, unsigned tile, unsigned vectors) const {
    Bits greatest[in_tile];
    Bits low = std::numeric_limits<Bits>::max(), high = 0;
#pragma unroll
    for (int v = 0; v < in_tile; ++v) {
      greatest[v] = 0;
#pragma unroll
      for (int i = 0; i < width; ++i) {
        Bits const rank = m_rows.map.rank(loaded.vectors[v].key(i));
        greatest[v] = rank > greatest[v] ? rank : greatest[v];
      }
      if (place_of(tile, v) >= vectors) greatest[v] = 0;
      low = greatest[v] < low ? greatest[v] : low;
      high = greatest[v] > high ? greatest[v] : high;
    }
    low = warp_least(low);
    high = warp_greatest(high);
    while (low < high) {
      auto const middle = static_cast<Bits>(low + (high - low) / 2 + 1);
      unsigned reach = 0;
#pragma unroll
      for (int v = 0; v < in_tile; ++v) reach += greatest[v] >= middle ? 1 : 0;
      int const count = static_cast<int>(warp_total(reach));
      if (count < m_k) {
        high = static_cast<Bits>(middle - 1);
        continue;
      }
      low = middle;
      if (count <= m_k + m_k / 4) break;
    }
    return low;
  }

  /// Returns whether the threshold has changed.
  /// \param place  of the lane's first vector
  __device__ bool keep(Loaded const& loaded, Test const& test, AlignedRow<Bits> const& row,
                       unsigned place) {
    OrderedBitsMap<Bits> const& rank = m_rows.map.rank;
    auto const vectors = static_cast<unsigned>(row.vectors);
    bool const nan_wins = rank.magnitude != 0 && rank.ordered_nan != 0;
    unsigned const passed = nan_wins ? passing<true>(loaded, test, place, vectors)
                                     : passing<false>(loaded, test, place, vectors);
    bool changed = false;
    for (unsigned left = passed; __any_sync(full_warp, left != 0); left &= left - 1) {
      bool const has_one = left != 0;
      auto const bit = static_cast<unsigned>(__ffs(static_cast<int>(left)) - 1);
      unsigned const at = (place + bit / width * 32 * m_rows.tiles) * width + bit % width;
      // The key is in L1. To pick it from registers by a number known at run time takes an instruction for each register.
      Bits const key = has_one ? row.keys[at] : Bits{0};
      changed |= offer(has_one, key, static_cast<unsigned>(row.head) + at);
    }
    return changed;
  }

  template <bool NanWins>
  __device__ unsigned passing(Loaded const& loaded, Test const& test, unsigned place,
                              unsigned vectors) const {
    unsigned passed = 0;
#pragma unroll
    for (int v = 0; v < in_tile; ++v) {
      unsigned const at = place + static_cast<unsigned>(v) * 32 * m_rows.tiles;
      unsigned const bits = test.template passing<NanWins>(m_rows.map.rank, loaded.vectors[v], at);
      passed |= (at < vectors ? bits : 0u) << (v * width);
    }
    return passed;
  }

  /// The keys before the first vector and behind the last.
  __device__ void keep_edges(Bits const* keys, unsigned head, unsigned tail) {
    auto const n = static_cast<unsigned>(m_rows.problem.shape.n);
    unsigned const place = lane() < 16 ? lane() : tail + lane() - 16;
    bool const is_there = lane() < 16 ? place < head : place < n;
    if (__any_sync(full_warp, is_there)) offer(is_there, is_there ? keys[place] : Bits{0}, place);
  }

  /// Keeps the key if it reaches the threshold, and returns whether that has changed. All lanes together.
  __device__ bool offer(bool has_one, Bits key, unsigned position) {
    CompositeKey const composite = m_rows.map(key, position);
    bool const wanted = has_one && composite >= m_threshold;
    unsigned const all = __ballot_sync(full_warp, wanted);
    if (wanted) m_list[m_size + __popc(all & ((1u << lane()) - 1))] = composite;
    m_size += __popc(all);
    if (m_size <= warp_tuning.list - 32) return false;
    __syncwarp();
    m_threshold = kth_of_list(m_list, m_size, m_k, m_threshold);
    m_size = shorten();
    return true;
  }

  /// Leaves what reaches the threshold in the list, and returns how many these are.
  __device__ int shorten() const {
    int kept = 0;
    for (int first = 0; first < m_size; first += 32) {
      int const i = first + static_cast<int>(lane());
      CompositeKey const composite = i < m_size ? m_list[i] : CompositeKey{0};
      bool const stays = i < m_size && composite >= m_threshold;
      unsigned const all = __ballot_sync(full_warp, stays);
      __syncwarp();
      if (stays) m_list[kept + __popc(all & ((1u << lane()) - 1))] = composite;
      kept += __popc(all);
      __syncwarp();
    }
    return kept;
  }

  __device__ void store(std::int64_t row) {
    __syncwarp();
    m_threshold = kth_of_list(m_list, m_size, m_k, m_threshold);
    shorten();
    bool const is_one = static_cast<int>(lane()) < m_k;
    CompositeKey const mine = is_one ? m_list[lane()] : CompositeKey{0};
    int slot = static_cast<int>(lane());
    if (m_rows.sorted == Sorted::yes) {
      slot = 0;
      for (int i = 0; i < m_k; ++i) slot += m_list[i] > mine ? 1 : 0;
    }
    if (is_one) store_composite_key(m_rows.problem, m_rows.map, row, slot, mine);
    __syncwarp();
  }

  WarpRows<Bits, CompositeKey> const& m_rows;
  CompositeKey* m_list;
  CompositeKey m_threshold;
  int m_k, m_size;
};

template <class Bits, class CompositeKey>
__global__ void __launch_bounds__(32 * warp_tuning.warps, warp_tuning.blocks)
    select_by_warps(__grid_constant__ WarpRows<Bits, CompositeKey> const rows) {
  __shared__ CompositeKey lists[warp_tuning.warps][warp_tuning.list];
  unsigned const warp = threadIdx.x / 32;
  WarpSelection<Bits, CompositeKey> selection(rows, lists[warp]);
  for (std::int64_t row = std::int64_t{blockIdx.x} + std::int64_t{gridDim.x} * warp;
       row < rows.problem.shape.rows; row += std::int64_t{gridDim.x} * warp_tuning.warps)
    selection.run(row);
}

// ---- host side

/// Near the golden section of the tiles, and without a factor in common with their number.
unsigned stride_of(unsigned tiles) {
  auto stride = std::max(1u, static_cast<unsigned>(0.618 * tiles));
  while (std::gcd(stride, tiles) != 1) ++stride;
  return stride;
}

}  // namespace

bool one_pass_warp_supports(int device, Shape const& shape) {
  return shape.packed && !shape.ragged && shape.n >= warp_tuning.least_row &&
         shape.n <= warp_tuning.most_row && shape.k <= warp_tuning.most_k &&
         shape.rows >= std::int64_t{processors(device)} * warp_tuning.rows_a_processor;
}

template <class Bits>
void one_pass_warp(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                   Options const& options) {
  using CompositeKey = CompositeKeyOf<Bits>;
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  constexpr unsigned tile_keys = 32 * vectors_in_tile<Bits> * Vector<Bits>::size;
  auto const tiles = (static_cast<unsigned>(shape.n) + tile_keys - 1) / tile_keys;
  WarpRows<Bits, CompositeKey> const rows{
      problem, make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      options.sorted, tiles, stride_of(tiles)};
  std::int64_t const blocks = (shape.rows + warp_tuning.warps - 1) / warp_tuning.warps;
  std::int64_t const most = std::int64_t{processors(device)} * warp_tuning.blocks;
  select_by_warps<<<static_cast<unsigned>(std::min(blocks, most)), 32 * warp_tuning.warps, 0,
                    stream>>>(rows);
  check(cudaGetLastError(), "launch");
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_warp(int, cudaStream_t, StoredProblem<Bits> const&, Options const&);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
