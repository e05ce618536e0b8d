// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ktopk/core/ordered_bits.hpp>

// How a row is read once: by loads of 16 bytes, several in flight, and with a quick test for keys that may reach a
// threshold.

namespace ktopk::detail::cuda {

/// A well-mixed number: the finalizer of SplitMix64.
__device__ inline std::uint64_t scatter(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// 16 bytes of keys, which stay packed: there are not enough registers to give each key of 8 or 16 bits its own.
template <class Bits>
struct Vector {
  static constexpr int size = 16 / sizeof(Bits);
  unsigned word[4];

  __device__ static Vector load_streaming(Bits const* keys) {
    uint4 const raw = __ldcs(reinterpret_cast<uint4 const*>(keys));
    return {{raw.x, raw.y, raw.z, raw.w}};
  }

  /// Loads keys that will be read again.
  __device__ static Vector load(Bits const* keys) {
    uint4 const raw = __ldg(reinterpret_cast<uint4 const*>(keys));
    return {{raw.x, raw.y, raw.z, raw.w}};
  }

  __device__ static Vector of(uint4 const& raw) { return {{raw.x, raw.y, raw.z, raw.w}}; }
  __device__ uint4 words() const { return {word[0], word[1], word[2], word[3]}; }

  /// Calls visit(key, i) for all keys.
  template <class Visit>
  __device__ void visit(Visit const& visit) const {
    if constexpr (sizeof(Bits) == 8) {
      visit(static_cast<Bits>(word[1]) << 32 | word[0], 0);
      visit(static_cast<Bits>(word[3]) << 32 | word[2], 1);
    } else {
      constexpr int in_word = 4 / sizeof(Bits);
#pragma unroll
      for (int w = 0; w < 4; ++w)
#pragma unroll 1
        for (int i = 0; i < in_word; ++i)
          visit(static_cast<Bits>(word[w] >> (i * 8 * sizeof(Bits))), w * in_word + i);
    }
  }

  /// Key i; i must be known at compile time.
  __device__ Bits key(int i) const {
    if constexpr (sizeof(Bits) == 8) {
      return static_cast<Bits>(word[2 * i + 1]) << 32 | word[2 * i];
    } else {
      constexpr int in_word = 4 / sizeof(Bits);
      return static_cast<Bits>(word[i / in_word] >> (i % in_word * 8 * sizeof(Bits)));
    }
  }

  /// Loads keys that are `step` apart.
  __device__ static Vector gather(Bits const* keys, std::int64_t step) {
    Vector packed{};
    if constexpr (sizeof(Bits) == 8) {
      for (int i = 0; i < size; ++i) {
        packed.word[2 * i] = static_cast<unsigned>(keys[i * step]);
        packed.word[2 * i + 1] = static_cast<unsigned>(keys[i * step] >> 32);
      }
    } else {
      constexpr int in_word = 4 / sizeof(Bits);
#pragma unroll
      for (int i = 0; i < size; ++i)
        packed.word[i / in_word] |= static_cast<unsigned>(keys[i * step])
                                    << (i % in_word * 8 * sizeof(Bits));
    }
    return packed;
  }

  /// Returns a mask: bit i is pass(key i).
  template <class Pass>
  __device__ unsigned passing(Pass const& pass) const {
    unsigned bits = 0;
    if constexpr (sizeof(Bits) == 8) {
      bits = static_cast<unsigned>(pass(static_cast<Bits>(word[1]) << 32 | word[0])) |
             static_cast<unsigned>(pass(static_cast<Bits>(word[3]) << 32 | word[2])) << 1;
    } else {
      constexpr int in_word = 4 / sizeof(Bits);
#pragma unroll
      for (int i = 0; i < size; ++i) {
        auto const key = static_cast<Bits>(word[i / in_word] >> (i % in_word * 8 * sizeof(Bits)));
        bits |= static_cast<unsigned>(pass(key)) << i;
      }
    }
    return bits;
  }

  /// The greatest of all keys with `flip` applied to their bits of `kept`, by one operation each.
  __device__ Bits greatest(Bits flip, Bits kept = std::numeric_limits<Bits>::max()) const {
    if constexpr (sizeof(Bits) == 8) {
      Bits const low = ((static_cast<Bits>(word[1]) << 32 | word[0]) & kept) ^ flip;
      Bits const high = ((static_cast<Bits>(word[3]) << 32 | word[2]) & kept) ^ flip;
      return low > high ? low : high;
    } else if constexpr (sizeof(Bits) == 4) {
      return max(max((word[0] & kept) ^ flip, (word[1] & kept) ^ flip),
                 max((word[2] & kept) ^ flip, (word[3] & kept) ^ flip));
    } else {
      unsigned const halves = greatest_halves(flip, kept);
      return static_cast<Bits>(max(halves >> 16, halves & 0xffffu));
    }
  }

 private:
  /// The greatest key in the upper halves of the words, and in the lower halves.
  __device__ unsigned greatest_halves(Bits flip, Bits kept) const {
    constexpr bool bytes = sizeof(Bits) == 1;
    unsigned const flips = flip * (bytes ? 0x01010101u : 0x00010001u);
    unsigned const all_kept = kept * (bytes ? 0x01010101u : 0x00010001u);
    unsigned best = 0;
    for (unsigned const w : word) {
      unsigned const keys = (w & all_kept) ^ flips;
      if constexpr (bytes)
        best = __vmaxu2(best, __vmaxu2(keys & 0x00ff00ffu, keys >> 8 & 0x00ff00ffu));
      else
        best = __vmaxu2(best, keys);
    }
    return best;
  }
};

/// The stream's test, of two operations a key, which is exact except for NaNs. Flipped keys with the sign of the
/// threshold compare in order; those with the other sign all pass or all fail. By magnitude all compare without their sign.
template <class Bits>
struct QuickTest {
  Bits kept;   // the bits of a key that are compared
  Bits flip;   // what is kept XOR flip has unsigned order near the threshold
  Bits least;  // the least flipped key that passes

  __device__ bool operator()(Bits key) const {
    return static_cast<Bits>((key & kept) ^ flip) >= least;
  }

  __device__ QuickTest(OrderedBitsMap<Bits> const& rank, Bits least_rank)
      : kept(kept_of(rank)), least(least_rank) {
    if (rank.magnitude != 0) {
      Bits const minus_zero = rank.ordered(rank.minus_zero);
      if (least == rank(0) && minus_zero < least) least = minus_zero;
      if (least == minus_zero && rank(0) < least) least = static_cast<Bits>(least + 1);
      Bits const best = rank.ordered(best_number(rank));
      if (least > best) least = static_cast<Bits>(best + 1);
    }
    flip = rank.is_by_magnitude() ? rank.always : static_cast<Bits>(rank.key_of(least) ^ least);
  }

  /// One of two tests, without a branch.
  __device__ static QuickTest either(bool first, QuickTest const& a, QuickTest const& b) {
    QuickTest chosen = b;
    chosen.flip = first ? a.flip : b.flip;
    chosen.least = first ? a.least : b.least;
    return chosen;
  }

  __device__ static Bits kept_of(OrderedBitsMap<Bits> const& rank) {
    return rank.is_by_magnitude() ? rank.magnitude : std::numeric_limits<Bits>::max();
  }
  /// Of floating point: whether the largest keys are the best.
  __device__ static bool wants_largest(OrderedBitsMap<Bits> const& rank) {
    return (rank.always & static_cast<Bits>(rank.magnitude + 1)) != 0;
  }
  __device__ static Bits best_number(OrderedBitsMap<Bits> const& rank) {
    if (wants_largest(rank)) return rank.infinity;
    return rank.is_by_magnitude() ? Bits{0} : static_cast<Bits>(rank.infinity | rank.minus_zero);
  }
};

/// If NaN is the best key, finds the NaNs whose sign makes them fail the quick test, by two more operations; by magnitude
/// all NaNs.
template <class Bits>
struct NanTest {
  Bits kept, flip;
  Bits above;

  __device__ explicit NanTest(OrderedBitsMap<Bits> const& rank)
      : kept(QuickTest<Bits>::kept_of(rank)) {
    Bits const sign = static_cast<Bits>(rank.magnitude + 1);
    bool const flips = rank.is_by_magnitude() || !QuickTest<Bits>::wants_largest(rank);
    flip = flips ? sign : Bits{0};
    above = static_cast<Bits>(rank.infinity | sign);
  }
  __device__ bool operator()(Bits key) const {
    return static_cast<Bits>((key & kept) ^ flip) > above;
  }
  __device__ bool operator()(Vector<Bits> const& vector) const {
    return vector.greatest(flip, kept) > above;
  }
};

/// Whether numbers of the CUDA device compare as the keys do: the largest are wanted, with their sign, and NaN is the best.
template <class Bits>
__device__ bool compare_as_numbers(OrderedBitsMap<Bits> const& rank) {
  return rank.magnitude != 0 && rank.ordered_nan != 0 && !rank.is_by_magnitude() &&
         QuickTest<Bits>::wants_largest(rank);
}

/// The quick tests of keys against a threshold, one for vectors whose positions win a tie with it and one for the others.
/// In the threshold's own vector all keys that tie with it win.
template <class Bits>
struct ThresholdTest {
  QuickTest<Bits> with_ties, without;
  bool ties_alone;  // no rank is better
  bool low_wins;
  unsigned cut;  // vectors before it win ties, or those from it on

  /// \param head  keys before the first vector
  template <class CompositeKey>
  __device__ ThresholdTest(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold,
                           unsigned head)
      : with_ties(map.rank, map.ordered_bits_of(threshold)),
        without(map.rank, static_cast<Bits>(map.ordered_bits_of(threshold) + 1)),
        ties_alone(map.ordered_bits_of(threshold) == std::numeric_limits<Bits>::max()),
        low_wins(map.flip != 0) {
    constexpr unsigned width = Vector<Bits>::size;
    auto const position = static_cast<unsigned>(map.position(threshold));
    cut = position < head ? 0 : (position - head) / width + (low_wins ? 1 : 0);
  }

  __device__ bool wins_ties(unsigned place) const { return (place < cut) == low_wins; }
  /// Whether one of `size` vectors from `first` on may win a tie.
  __device__ bool may_win_ties(unsigned first, unsigned size) const {
    return low_wins ? first < cut : first + size > cut;
  }
  __device__ QuickTest<Bits> quick(bool ties) const {
    return QuickTest<Bits>::either(ties, with_ties, without);
  }
  /// A bit for each key that passes; what passes may miss the threshold still.
  template <bool NanWins>
  __device__ unsigned passing(OrderedBitsMap<Bits> const& rank, Vector<Bits> const& vector,
                              unsigned place) const {
    bool const ties = wins_ties(place);
    QuickTest<Bits> const test = quick(ties);
    unsigned const bits = vector.passing([&](Bits key) {
      return test(key) || (NanWins && static_cast<Bits>(key & rank.magnitude) > rank.infinity);
    });
    return ties || !ties_alone ? bits : 0;
  }
};

/// Whether a vector may hold a key that passes the quick test or is a NaN that wins.
template <class Bits, bool NanWins>
struct BitsTest {
  static constexpr bool nan_wins = NanWins;
  QuickTest<Bits> quick;
  NanTest<Bits> nan;

  __device__ BitsTest(OrderedBitsMap<Bits> const& rank, QuickTest<Bits> const& quick_)
      : quick(quick_), nan(rank) {}
  __device__ bool operator()(Vector<Bits> const& vector) const {
    return vector.greatest(quick.flip, quick.kept) >= quick.least || (NanWins && nan(vector));
  }
};

/// The same for floats if NaN is the best key and the largest are wanted: no NaN is less than a number.
template <class Bits>
struct FloatTest {
  static constexpr bool nan_wins = true;
  float least;

  __device__ FloatTest(OrderedBitsMap<Bits> const& rank, QuickTest<Bits> const& quick)
      : least(__uint_as_float(quick.least <= rank.ordered(rank.infinity) ? quick.least ^ quick.flip
                                                                         : rank.infinity)) {}
  __device__ bool operator()(Vector<Bits> const& vector) const {
    bool passes = false;
#pragma unroll
    for (Bits const key : vector.word) passes = passes || !(__uint_as_float(key) < least);
    return passes;
  }
};

/// The same for floats of 16 bits, two at a time.
template <class Pair>
struct PairTest {
  static constexpr bool nan_wins = true;
  Pair least;

  __device__ PairTest(OrderedBitsMap<std::uint16_t> const& rank,
                      QuickTest<std::uint16_t> const& quick) {
    unsigned const key = quick.least <= rank.ordered(rank.infinity)
                             ? static_cast<unsigned>(quick.least ^ quick.flip)
                             : rank.infinity;
    least = pair_of(key << 16 | key);
  }
  __device__ bool operator()(Vector<std::uint16_t> const& vector) const {
    unsigned passing = 0;
#pragma unroll
    for (unsigned const word : vector.word) passing |= __hgeu2_mask(pair_of(word), least);
    return passing != 0;
  }

 private:
  __device__ static Pair pair_of(unsigned word) { return *reinterpret_cast<Pair const*>(&word); }
};

#if __CUDA_ARCH__ >= 900
inline constexpr bool has_pair_tests = true;
#else
inline constexpr bool has_pair_tests = false;  // those of bfloat16 are emulated
#endif

/// Whether floats of 16 bits are bfloat16, not IEEE's.
__device__ inline bool is_bfloat16(OrderedBitsMap<std::uint16_t> const& rank) {
  return rank.infinity == 0x7f80;
}

/// Which positions of a row win a tie with the threshold.
template <class CompositeKey>
struct TieCut {
  std::uint64_t cut;
  bool low_positions_win;

  template <class Bits>
  __device__ TieCut(CompositeKeyMap<Bits, CompositeKey> const& map, CompositeKey threshold)
      : cut(map.position(threshold)), low_positions_win(map.flip != 0) {}
  __device__ bool in(std::int64_t begin, std::int64_t end) const {
    return low_positions_win ? static_cast<std::uint64_t>(begin) <= cut
                             : static_cast<std::uint64_t>(end) > cut;
  }
  __device__ bool covers(std::int64_t begin, std::int64_t end) const {
    return low_positions_win ? static_cast<std::uint64_t>(end) <= cut + 1
                             : static_cast<std::uint64_t>(begin) >= cut;
  }
};

/// A row as the stream reads it: 16-byte vectors, with a few keys before and behind them.
template <class Bits>
struct AlignedRow {
  static constexpr int width = Vector<Bits>::size;
  Bits const* keys;
  std::int64_t head;
  std::int64_t vectors;

  __device__ AlignedRow(Bits const* row_keys, std::int64_t n) {
    auto const misaligned = reinterpret_cast<std::uintptr_t>(row_keys) % 16;
    head = misaligned == 0 ? 0 : static_cast<std::int64_t>((16 - misaligned) / sizeof(Bits));
    head = head < n ? head : n;
    vectors = (n - head) / width;
    keys = row_keys + head;
  }

  /// A row whose keys have gaps between them. A vector of them is gathered, so none needs alignment.
  __device__ static AlignedRow with_gaps(Bits const* row_keys, std::int64_t n) {
    return {row_keys, 0, n / width};
  }

 private:
  __device__ AlignedRow(Bits const* keys_, std::int64_t head_, std::int64_t vectors_)
      : keys(keys_), head(head_), vectors(vectors_) {}
};

/// A thread's share of a tile of `Threads` times `InFlight` vectors. All its loads are in flight together.
template <class Bits, int Threads, int InFlight>
struct Tile {
  static constexpr int in_flight = InFlight;
  static constexpr int width = Vector<Bits>::size;
  static constexpr int size = Threads * InFlight;

  Vector<Bits> vectors[in_flight];

  template <class Place>
  __device__ static Place place(Place first, int v) {
    return first + v * Threads + static_cast<int>(threadIdx.x);
  }

  /// Loads a tile that ends no later than the row.
  template <class Place>
  __device__ void load(Bits const* keys, Place first) {
    Bits const* const own = keys + std::int64_t{place(first, 0)} * width;
#pragma unroll
    for (int v = 0; v < in_flight; ++v)
      vectors[v] = Vector<Bits>::load_streaming(own + v * Threads * width);
  }

  /// Loads the vectors of a tile that come before `end`; the others are zeros.
  template <class Place>
  __device__ void load(Bits const* keys, Place first, Place end) {
#pragma unroll
    for (int v = 0; v < in_flight; ++v)
      vectors[v] = place(first, v) < end
                       ? Vector<Bits>::load_streaming(keys + std::int64_t{place(first, v)} * width)
                       : Vector<Bits>{};
  }

  /// The same for keys that are `step` apart.
  template <class Place>
  __device__ void gather(Bits const* keys, std::int64_t step, Place first, Place end) {
#pragma unroll
    for (int v = 0; v < in_flight; ++v)
      vectors[v] =
          place(first, v) < end
              ? Vector<Bits>::gather(keys + std::int64_t{place(first, v)} * width * step, step)
              : Vector<Bits>{};
  }

  /// Vector v, without an array that is indexed at run time.
  __device__ Vector<Bits> pick(int v) const {
    Vector<Bits> picked = vectors[0];
#pragma unroll
    for (int i = 1; i < in_flight; ++i)
#pragma unroll
      for (int w = 0; w < 4; ++w) picked.word[w] = v == i ? vectors[i].word[w] : picked.word[w];
    return picked;
  }

  /// Returns a mask: bit v is set if a key of vector v passes. Bits of vectors behind the end of the row mean nothing.
  template <bool NanWins>
  __device__ unsigned hits(QuickTest<Bits> const& test, NanTest<Bits> const& nan_test) const {
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < in_flight; ++v) {
      bool const hit = vectors[v].greatest(test.flip, test.kept) >= test.least ||
                       (NanWins && nan_test(vectors[v]));
      bits |= static_cast<unsigned>(hit) << v;
    }
    return bits;
  }
};

}  // namespace ktopk::detail::cuda
