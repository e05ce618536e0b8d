// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstdint>

#include <ktopk/problem.hpp>

#include "block.cuh"
#include "delegate_tuning.hpp"
#include "stream.cuh"

// What the kernels of delegate hand on, and how they see a row.

namespace ktopk::detail::cuda {

/// What is counted from zero for one row.
struct DelegateCounters {
  unsigned long long rank_below;  // the complement of the least chosen rank
  unsigned long long rank_above;  // the greatest rank that a candidate can have
};

/// What one row's selection works in, all of it in device memory.
template <class Bits>
struct DelegateLists {
  Bits* delegates;       // the greatest rank of each subrange
  unsigned* chosen;      // subranges of the k best delegates, in any order
  Bits* chosen_ranks;    // their ranks
  unsigned* in_order;    // the chosen subranges by position
  unsigned* is_chosen;   // a bit for every subrange
  unsigned* chunk_sums;  // chosen subranges of each chunk
  DelegateCounters* counters;
  unsigned long long* block_sums;   // candidates of each block of the concatenation
  Bits* candidates;                 // ranks of keys that may be selected, in the order of the row
  IntegerArray positions;           // where they stand in it
  std::int64_t* candidate_offsets;  // 0 and how many they are
  std::int64_t* selected;           // numbers of the selected among them
};

/// A row as 16-byte vectors from its first aligned key on, of which 2^log_vectors make a subrange.
template <class Bits>
struct DelegateRow {
  static constexpr int width = Vector<Bits>::size;
  OrderedBitsMap<Bits> rank;
  Bits const* keys;
  std::int64_t step, n, k;
  std::int64_t head;  // keys before the first vector
  std::int64_t vectors;
  std::int64_t subranges;  // of the vectors; fewer than two subranges' vectors are left over
  int log_vectors;
  int chunk_words;  // a multiple of 32
  DelegateLists<Bits> lists;

  __device__ std::int64_t position(std::int64_t vector) const { return head + vector * width; }
  __device__ int chunks() const {
    std::int64_t const chunk = std::int64_t{chunk_words} * 32;
    return static_cast<int>((subranges + chunk - 1) / chunk);
  }
  /// Of a vector that is not read again, or is soon.
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
