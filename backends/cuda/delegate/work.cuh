// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include <ktopk/core/problem.hpp>

#include "../common/block.cuh"
#include "../common/stream.cuh"
#include "tuning.hpp"

// What the kernels of delegate write for each other, and how they address a row.

namespace ktopk::detail::cuda {

/// The counters of one row, which start at zero.
struct DelegateCounters {
  unsigned long long rank_below;  // the complement of the least chosen rank
  unsigned long long rank_above;  // the greatest rank that a candidate can have
};

/// The arrays for the selection from one row, all of them in device memory.
template <class Bits>
struct DelegateLists {
  Bits* delegates;       // the greatest rank of each subrange
  unsigned* chosen;      // the subranges of the k best delegates, in any order
  Bits* chosen_ranks;    // the ranks of these delegates
  unsigned* in_order;    // the chosen subranges in the order of the row
  unsigned* is_chosen;   // a bit for every subrange
  unsigned* chunk_sums;  // how many subranges are chosen in each chunk
  DelegateCounters* counters;
  unsigned long long* block_sums;   // how many candidates each block of the concatenation has
  Bits* candidates;                 // the ranks of the candidates, in the order of the row
  IntegerArray positions;           // their positions in the row
  std::int64_t* candidate_offsets;  // 0, and how many candidates there are
  std::int64_t* selected;           // which candidates are selected
};

/// A row as 16-byte vectors from its first aligned key on. A subrange is 2^log_vectors of them.
template <class Bits>
struct DelegateRow {
  static constexpr int width = Vector<Bits>::size;
  OrderedBitsMap<Bits> rank;
  Bits const* keys;
  std::int64_t step, n, k;
  std::int64_t head;  // keys before the first vector
  std::int64_t vectors;
  std::int64_t subranges;  // fewer vectors than those of two subranges are left over
  int log_vectors;
  int chunk_words;  // a multiple of 32
  DelegateLists<Bits> lists;

  __device__ std::int64_t position(std::int64_t vector) const { return head + vector * width; }
  __device__ int chunks() const {
    std::int64_t const chunk = std::int64_t{chunk_words} * 32;
    return static_cast<int>((subranges + chunk - 1) / chunk);
  }
  /// Whether a vector is read once or again soon.
  enum class Use { once, again };
  template <bool Packed, Use Used>
  __device__ Vector<Bits> load(std::int64_t vector) const {
    if constexpr (!Packed) {
      return Vector<Bits>::gather(keys + position(vector) * step, step);
    } else if constexpr (Used == Use::once) {
      return Vector<Bits>::load_streaming(keys + position(vector));
    } else {
      uint4 const raw = *reinterpret_cast<uint4 const*>(keys + position(vector));
      return {{raw.x, raw.y, raw.z, raw.w}};
    }
  }
};

}  // namespace ktopk::detail::cuda
