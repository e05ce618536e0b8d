// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <type_traits>

#include "../common/warp.cuh"
#include "tuning.hpp"

// The network: it sorts runs (local sort), keeps the better half of two runs (merge), and sorts it again (rebuild), all
// in shared memory, several steps at a time in registers. All runs descend: when two are merged, one is read backwards,
// so that no step has a direction. A word holds one rank, or two of 16 bits: then the network works on two tiles at
// once, and leaves their best runs side by side.

namespace ktopk::detail::cuda {

/// The place of key number e of a tile in shared memory, in words.
template <class Word, BitonicPlacement Placement>
struct BitonicPlaces {
  static constexpr bool is_permuted = Placement == BitonicPlacement::permuted;
  static constexpr int chunk = 16 / sizeof(Word);

  __host__ __device__ static constexpr int of(int e) {
    if constexpr (Placement == BitonicPlacement::padded)
      return e + (e >> 4);
    else if constexpr (is_permuted && sizeof(Word) == 4)
      return e ^ ((e >> 5 & 3) << 2) ^ ((e >> 8 & 1) << 4);
    else if constexpr (is_permuted)
      return e ^ ((e >> 4 & 7) << 1);
    else
      return e;
  }
  /// of(a | b) from of(a) and of(b), where a and b have no common bits.
  __host__ __device__ static constexpr int join(int of_a, int of_b) {
    return is_permuted ? of_a ^ of_b : of_a + of_b;
  }
  __host__ __device__ static constexpr int words(int keys) { return of(keys); }
};

enum class RowsOfBlock { one, several };

/// A barrier of the threads that have the same row as this one: those of the block, or of its part with the same y.
template <RowsOfBlock Rows>
__device__ __forceinline__ void sync_row() {
  if constexpr (Rows == RowsOfBlock::one)
    __syncthreads();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x) : "memory");
}

/// The same, and returns whether the argument is true in any of these threads.
template <RowsOfBlock Rows>
__device__ __forceinline__ bool any_of_row(bool says) {
  if constexpr (Rows == RowsOfBlock::one) {
    return __syncthreads_or(says) != 0;
  } else {
    unsigned any;
    asm volatile(
        "{ .reg .pred says, any;\n"
        "setp.ne.u32 says, %1, 0;\n"
        "bar.red.or.pred any, %2, %3, says;\n"
        "selp.u32 %0, 1, 0, any; }"
        : "=r"(any)
        : "r"(says ? 1u : 0u), "r"(threadIdx.y + 1), "r"(blockDim.x)
        : "memory");
    return any != 0;
  }
}

/// Two ranks of at most 16 bits, which are compared by one instruction of sm_90.
struct RankPair {
  unsigned bits;

  __device__ static RankPair of(unsigned low, unsigned high) { return {high << 16 | low}; }
  __device__ unsigned low() const { return bits & 0xffffu; }
  __device__ unsigned high() const { return bits >> 16; }
};

template <class Word>
__device__ __forceinline__ Word greater_of(Word a, Word b) {
  return a > b ? a : b;
}
template <class Word>
__device__ __forceinline__ Word less_of(Word a, Word b) {
  return a > b ? b : a;
}
__device__ __forceinline__ RankPair greater_of(RankPair a, RankPair b) {
  return {__vmaxu2(a.bits, b.bits)};
}
__device__ __forceinline__ RankPair less_of(RankPair a, RankPair b) {
  return {__vminu2(a.bits, b.bits)};
}

/// Finds the best run of a tile of 16 keys a thread; runs have 2^LogRun keys, and a tile at least one of them.
template <class Word, int LogRun, class Tuning, RowsOfBlock Rows>
class BitonicNetwork {
 public:
  using Places = BitonicPlaces<Word, Tuning::placement>;
  static constexpr int each = bitonic_words_of_thread;
  static constexpr int run = 1 << LogRun;

  __device__ explicit BitonicNetwork(Word* words) : m_words(words) {}

  __device__ Word* words() const { return m_words; }
  /// The key of this order in the best run; 0 is the best.
  __device__ Word best(int order) const { return m_words[Places::of(order)]; }
  /// The rank of this order in both best runs together, which are the halves of the words.
  __device__ unsigned best_of_halves(int order) const {
    int low = 0, high = order + 1;  // how many of order + 1 are the first run's
    while (low < high) {
      int const middle = (low + high) / 2;
      if (best(middle).low() > best(order - middle).high())
        low = middle + 1;
      else
        high = middle;
    }
    unsigned const one = low > 0 ? best(low - 1).low() : ~0u;
    unsigned const other = low <= order ? best(order - low).high() : ~0u;
    return one < other ? one : other;
  }

  /// Takes the keys with the numbers 16 t to 16 t + 15 from thread t and leaves the best run, best first. All threads
  /// of the block call it, and wait before they look.
  __device__ void operator()(Word (&keys)[each]) const {
    int const tile = each * static_cast<int>(blockDim.x);
    if constexpr (Tuning::combined_steps == log_each) {
      sort_registers(keys);
      store_own(keys);
      __syncwarp();
      sort_runs<log_each>(tile);
    } else {
      store_own(keys);
      sync_row<Rows>();
      sort_runs<0>(tile);
    }
#pragma unroll 1
    for (int half = tile / 2; half >= run; half /= 2) merge(half);
  }

  /// The rank of the tile's key number e. Of a pair the higher half is 16 keys behind the lower.
  template <class Bits>
  __device__ void put(int e, Bits rank) const {
    if constexpr (is_paired)
      half(e) = rank;
    else
      m_words[Places::of(e)] = rank;
  }
  template <class Bits>
  __device__ Bits rank(int e) const {
    if constexpr (is_paired)
      return static_cast<Bits>(half(e));
    else
      return m_words[Places::of(e)];
  }

  /// The thread's keys of a tile in shared memory.
  __device__ void load_own(Word (&keys)[each]) const { own().template load<0>(m_words, keys); }
  __device__ void store_own(Word const (&keys)[each]) const { own().store(m_words, keys); }

 private:
  static constexpr int log_each = 4;
  static_assert(1 << log_each == each);
  static constexpr bool is_paired = std::is_same_v<Word, RankPair>;

  __device__ std::uint16_t& half(int e) const {
    int const word = (e >> (log_each + 1) << log_each) | (e & (each - 1));
    return reinterpret_cast<std::uint16_t*>(m_words)[2 * Places::of(word) + (e >> log_each & 1)];
  }

  /// Keys whose numbers differ in `Steps` bits from bit `Low` on.
  template <int Steps, int Low>
  struct Window {
    static constexpr int size = 1 << Steps;
    static constexpr int below = (1 << Low) - 1;
    int first;
    int backwards;  // the same with the bits below the window flipped

    __device__ explicit Window(int number) {
      int const e = (number >> Low << (Low + Steps)) | (number & below);
      first = Places::of(e);
      backwards = Places::of(e ^ below);
    }
    /// The place of key r; from `Mirrored` on the keys run backwards.
    template <int Mirrored>
    __device__ int place(int r) const {
      return Places::join((r & Mirrored) != 0 ? backwards : first, Places::of(r << Low));
    }

    template <int Mirrored>
    __device__ void load(Word const* words, Word (&x)[size]) const {
      if constexpr (is_whole_chunks) {
#pragma unroll
        for (int r = 0; r < size; r += Places::chunk) {
          auto const loaded = *reinterpret_cast<Chunk const*>(words + place<Mirrored>(r));
#pragma unroll
          for (int i = 0; i < Places::chunk; ++i) x[r + i] = loaded.words[i];
        }
      } else {
#pragma unroll
        for (int r = 0; r < size; ++r) x[r] = words[place<Mirrored>(r)];
      }
    }
    template <int Mirrored = 0>
    __device__ void store(Word* words, Word const (&x)[size]) const {
      if constexpr (is_whole_chunks) {
#pragma unroll
        for (int r = 0; r < size; r += Places::chunk) {
          Chunk chunk;
#pragma unroll
          for (int i = 0; i < Places::chunk; ++i) chunk.words[i] = x[r + i];
          *reinterpret_cast<Chunk*>(words + place<Mirrored>(r)) = chunk;
        }
      } else {
#pragma unroll
        for (int r = 0; r < size; ++r) words[place<Mirrored>(r)] = x[r];
      }
    }

   private:
    static constexpr bool is_whole_chunks = Places::is_permuted && Low == 0 && size == each;
    struct alignas(16) Chunk {
      Word words[Places::chunk];
    };
  };

  __device__ static Window<log_each, 0> own() {
    return Window<log_each, 0>(static_cast<int>(threadIdx.x));
  }

  __device__ static void exchange(Word& a, Word& b) {
    Word const greater = greater_of(a, b), less = less_of(a, b);
    a = greater;
    b = less;
  }

  /// The steps of distance 2^Bit and less among registers; the first reads its other half backwards where `Mirror`.
  template <int Bit, bool Mirror, int Size>
  __device__ static void steps(Word (&x)[Size]) {
#pragma unroll
    for (int r = 0; r < Size; ++r)
      if ((r >> Bit & 1) == 0) exchange(x[r], x[Mirror ? r ^ ((2 << Bit) - 1) : r | 1 << Bit]);
    if constexpr (Bit > 0) steps<Bit - 1, false>(x);
  }
  template <int Bit = 0>
  __device__ static void sort_registers(Word (&x)[each]) {
    steps<Bit, true>(x);
    if constexpr (Bit + 1 < log_each) sort_registers<Bit + 1>(x);
  }

  /// The lowest bit of the window that begins with the step of distance 2^top.
  template <int Steps>
  __host__ __device__ static constexpr int lowest(int top) {
    if (top < Steps) return 0;
    return top - Steps + 1 > Steps ? top - Steps + 1 : Steps;
  }

  /// Where each thread has 16 keys, up to 2^9 are exchanged within a warp; and always where one warp has all.
  template <int Steps>
  __device__ static void sync(int keys) {
    if ((Steps == log_each && LogRun <= 9) || keys <= 32 << Steps)
      __syncwarp();
    else
      sync_row<Rows>();
  }

  /// The steps of distance 2^Top and less for all of so many keys.
  template <int Steps, int Top, bool Mirror>
  __device__ void run_steps(int keys) const {
    constexpr int low = lowest<Steps>(Top), mirrored = Mirror ? 1 << (Top - low) : 0;
#pragma unroll 1
    for (int w = threadIdx.x; w < keys >> Steps; w += blockDim.x) {
      Window<Steps, low> const window(w);
      Word x[1 << Steps];
      window.template load<mirrored>(m_words, x);
      steps<Top - low, Mirror>(x);
      window.template store<mirrored>(m_words, x);
    }
    sync<Steps>(keys);
    if constexpr (low > 0) run_steps<Steps, low - 1, false>(keys);
  }

  /// Makes runs of 2^LogRun of runs of 2^Phase.
  template <int Phase>
  __device__ void sort_runs(int keys) const {
    run_steps<Tuning::combined_steps, Phase, true>(keys);
    if constexpr (Phase + 1 < LogRun) sort_runs<Phase + 1>(keys);
  }

  /// Whether one warp has written and now reads so many keys.
  __device__ static bool is_first_warps_alone(int keys) {
    return Tuning::reassigned_partitions && Tuning::combined_steps == log_each && keys <= 32 * each;
  }

  /// Merges the runs of the first and of the second `half` of the keys: keeps the better halves, sorted, in the first.
  /// It takes fewer threads, or in a warp's last merges fewer keys a thread.
  __device__ void merge(int half) const {
    int const threads = Tuning::reassigned_partitions ? 32 : static_cast<int>(blockDim.x);
    int const share = half / threads;
    if (Tuning::combined_steps >= 4 && share >= 16)
      merge_by<4>(half);
    else if (Tuning::combined_steps >= 3 && share >= 8)
      merge_by<3>(half);
    else if (Tuning::combined_steps >= 2 && share >= 4)
      merge_by<2>(half);
    else
      merge_by<1>(half);
  }
  template <int Steps>
  __device__ void merge_by(int half) const {
    constexpr int top = LogRun - 1, low = LogRun - Steps, flipped = (1 << Steps) - 1;
    int const other = Places::of(half);
    if (is_first_warps_alone(2 * half))
      __syncwarp();
    else
      sync_row<Rows>();
#pragma unroll 1
    for (int w = threadIdx.x; w < half >> Steps; w += blockDim.x) {
      Window<Steps, low> const window(w);
      Word x[1 << Steps];
      window.template load<0>(m_words, x);
#pragma unroll
      for (int r = 0; r < 1 << Steps; ++r) {
        int const place = Places::join(window.backwards, Places::of((r ^ flipped) << low));
        Word const y = m_words[Places::join(other, place)];
        x[r] = greater_of(y, x[r]);
      }
      steps<top - low, false>(x);
      window.template store<0>(m_words, x);
    }
    sync<Steps>(half);
    if constexpr (low > 0) run_steps<Steps, low - 1, false>(half);
  }

  Word* m_words;
};

}  // namespace ktopk::detail::cuda
