// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "bisection_work.cuh"

// The search for a row's k-th key. Every key gets a code, 15 bits that order as the keys do, read as a
// positive fp16 number: one instruction tests two codes, and the tensor cores add the results. Keys with
// the code of the k-th are told apart by rank and column; where these are many, their range gets codes
// of its own.

namespace ktopk::detail::cuda {

/// Maps ranks to codes, in order: 0 below the bracket, 1 to `most` from its low end up.
template <class Rank>
struct RankScale {
  static constexpr unsigned most = 0x7bfe;

  Rank base = 0, top = 0;
  int shift = 0;
  unsigned lift = 0;

  RankScale() = default;
  __device__ __forceinline__ RankScale(Rank low, Rank high) {
    int const bits = high == low ? 0 : highest_bit(Item64{high - low}) + 1;
    shift = bits > 15 ? bits - 15 : 0;
    if (((high - low) >> shift) > most - 2) ++shift;
    Rank const unit = Rank{1} << shift;
    lift = low < unit ? 1 : 0;
    base = low < unit ? 0 : low - unit;
    top = high + unit < high ? ~Rank{0} : high + unit;
  }
  __device__ __forceinline__ unsigned operator()(Rank rank) const {
    Rank const capped = rank < top ? rank : top;
    return static_cast<unsigned>(((capped > base ? capped : base) - base) >> shift) + lift;
  }
};

/// Maps floats to fp16 numbers between 2^-11 and 1; what is below the bracket to less.
struct LinearScale {
  float factor, offset;

  /// \return whether the bracket's keys can be told apart so
  __device__ __forceinline__ bool set(float low, float high) {
    float const range = high - low;
    unsigned const exponent = __float_as_uint(range) >> 23;
    factor = __uint_as_float((253 - exponent) << 23);
    offset = fmaf(-low, factor, 1.0f / 2048);
    return range > 1e-30f && range < 1e30f && fabsf(low) < 256 * range;
  }
  __device__ __forceinline__ float operator()(float key) const {
    return __saturatef(fmaf(key, factor, offset));
  }
};

/// How ranks are compared while the bracket is sought.
template <class Bits, class Rank>
struct RankReader {
  RankMap<Bits> const& map;
  static constexpr Rank least = 0, greatest = ~Rank{0};
  __device__ __forceinline__ Rank operator()(Bits key) const { return map(key); }
  __device__ __forceinline__ static Rank max(Rank a, Rank b) { return a > b ? a : b; }
  __device__ __forceinline__ static Rank min(Rank a, Rank b) { return a < b ? a : b; }
};

/// How floats are; a NaN is greater than all.
template <bool Negated>
struct FloatReader {
  static constexpr float least = -INFINITY, greatest = INFINITY;
  __device__ __forceinline__ float operator()(unsigned key) const {
    return Negated ? -__uint_as_float(key) : __uint_as_float(key);
  }
  __device__ __forceinline__ static float max(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
  }
  __device__ __forceinline__ static float min(float a, float b) { return fminf(a, b); }
};

template <class T>
struct Bracket {
  T low, high;
};

/// A code, and the keys of a row that reach it.
struct Cut {
  unsigned code;
  float reaching;
  QuadSum quad;  // of reaching
};

template <class Bits, int Lanes>
class RowSearch {
 public:
  using Rank = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int most_groups = bisection_tuning.keys_of_lane / 16;

  __device__ __forceinline__ RowSearch(Work<Bits> const& work, Bits const* row, int n, int k)
      : m_work(work),
        m_row(reinterpret_cast<Chunk<Bits> const*>(row)),
        m_lane(static_cast<int>(threadIdx.x) % Lanes),
        m_n(n),
        m_k(k),
        m_multiplier(QuadAdder::multiplier()) {
    int const longest =
        work.problem.offsets ? lanes_max<32>(static_cast<unsigned>(n)) : work.problem.shape.n;
    m_groups = divide_up(longest, 16 * Lanes);
    m_whole = __all_sync(full_warp, n == m_groups * 16 * Lanes);
    m_fold =
        work.is_uniform()
            ? work.fold
            : static_cast<int>(lanes_min<32>(static_cast<unsigned>(fold_for(n, k, Lanes) + 1))) - 1;
  }

  /// Finds the k-th key, or what it ties with.
  __device__ __forceinline__ void run() {
    if (m_whole)
      set_codes<true>();
    else
      set_codes<false>();
    while (true) {
      bisect();
      bool const crowded = is_crowded();
      if (!__any_sync(full_warp, crowded)) return;
      unsigned const narrowing = __ballot_sync(full_warp, crowded);
      bool const spread_anew = crowded && narrow(narrowing);
      m_equal |= crowded && !spread_anew;
      if (!__any_sync(full_warp, spread_anew)) return;
    }
  }

  /// Keys above the k-th key's ties, all of them winners, unless the cut is exact.
  __device__ __forceinline__ Cut sure() const {
    bool const exact = is_exact();
    return {
        exact ? m_low.code : m_high.code,
        exact ? m_low.reaching : m_high.reaching,
        {exact ? m_low.quad.before : m_high.quad.before, exact ? m_low.quad.all : m_high.quad.all}};
  }
  __device__ __forceinline__ bool is_exact() const { return m_low.reaching == m_k; }
  /// All keys that tie have one rank.
  __device__ __forceinline__ bool is_equal() const { return m_equal; }
  __device__ __forceinline__ Cut const& low() const { return m_low; }
  __device__ __forceinline__ Cut const& high() const { return m_high; }
  __device__ __forceinline__ int k() const { return m_k; }
  __device__ __forceinline__ int lane() const { return m_lane; }

  /// visit(pair of codes, column of the first): all keys of this lane, two at a time.
  template <class Visit>
  __device__ __forceinline__ void each_pair(Visit const& visit) const {
    each_chunk_number([&](int j) {
      int const column = 4 * (m_lane + j * Lanes);
      visit(m_codes[2 * j], column);
      visit(m_codes[2 * j + 1], column + 2);
    });
  }

  /// Keys of this lane with codes in [low, high), a bit each in the order of columns.
  __device__ __forceinline__ std::uint64_t tie_mask() const {
    unsigned const from = m_low.code, span = m_high.code - from;
    std::uint64_t mask = 0;
    each_chunk_number([&](int j) {
      unsigned nibble = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) nibble |= code(j, i) - from < span ? 1u << i : 0u;
      mask |= std::uint64_t{nibble} << (4 * j);
    });
    return mask;
  }

  /// Of the row, what the lanes before this one have in a cut.
  __device__ __forceinline__ static int before(Cut cut) {
    float before = cut.quad.before, all = cut.quad.all;
#pragma unroll
    for (int mask = 4; mask < Lanes; mask *= 2) {
      float const other = shuffle_xor(all, mask);
      if ((threadIdx.x & mask) != 0) before += other;
      all += other;
    }
    return static_cast<int>(before);
  }

 private:
  template <class Visit>
  __device__ __forceinline__ void each_chunk_number(Visit const& visit) const {
#pragma unroll
    for (int g = 0; g < most_groups; ++g)
      if (g < m_groups) {
#pragma unroll
        for (int j = 4 * g; j < 4 * g + 4; ++j) visit(j);
      }
  }

  /// visit(number, chunk, whether the row has it).
  template <bool Whole, class Visit>
  __device__ __forceinline__ void each_chunk(Visit const& visit) const {
    int const chunks = (m_n + 3) / 4;
    each_chunk_number([&](int j) {
      int const at = m_lane + j * Lanes;
      visit(j, m_row[Whole ? at : min(at, max(chunks - 1, 0))], Whole || at < chunks);
    });
  }

  __device__ __forceinline__ unsigned code(int j, int i) const {
    unsigned const pair = m_codes[2 * j + i / 2];
    return i % 2 == 0 ? pair & 0xffffu : pair >> 16;
  }

  template <bool Whole>
  __device__ __forceinline__ void set_codes() {
    if constexpr (sizeof(Bits) == 4)
      if (m_work.problem.rank.infinity == 0x7f800000u && set_linear_codes<Whole>()) return;
    Bracket<Rank> const bracket = find_bracket<Whole>(RankReader<Bits, Rank>{m_work.map.rank});
    set_rank_codes<Whole>(bracket);
  }

  template <bool Whole>
  __device__ __forceinline__ bool set_linear_codes() {
    bool const smallest = m_work.problem.rank.always == 0x7fffffffu;
    Bracket<float> const bracket = smallest ? find_bracket<Whole>(FloatReader<true>{})
                                            : find_bracket<Whole>(FloatReader<false>{});
    LinearScale scale;
    bool const can = scale.set(bracket.low, bracket.high);
    if (!__all_sync(full_warp, can || m_n == 0)) return false;
    unsigned const best = linear_pair(scale(bracket.high), 0) & 0xffffu;
    if (smallest) scale.factor = -scale.factor;
    store_codes<Whole>([&](Bits first, Bits second) {
      return linear_pair(scale(__uint_as_float(first)), scale(__uint_as_float(second)));
    });
    begin(best + 1);
    m_linear = true;
    return true;
  }

  __device__ __forceinline__ static unsigned linear_pair(float first, float second) {
    return bits_of_pair(__floats2half2_rn(first, second));
  }

  template <bool Whole>
  __device__ __forceinline__ void set_rank_codes(Bracket<Rank> const& bracket) {
    RankScale<Rank> const scale(bracket.low, bracket.high);
    store_codes<Whole>([&](Bits first, Bits second) {
      return scale(m_work.map.rank(first)) | scale(m_work.map.rank(second)) << 16;
    });
    begin(scale(scale.top) + 1);
    m_linear = false;
  }

  /// Between the k-th key and the best: the least maximum of at least k groups of keys, and the greatest.
  template <bool Whole, class Reader>
  __device__ __forceinline__ auto find_bracket(Reader const& read) const {
    auto low = Reader::greatest, high = Reader::least, group = Reader::least;
    bool is_empty = true;
    auto const close = [&] {
      if (is_empty) return;
      low = read.min(low, group);
      high = read.max(high, group);
      group = Reader::least;
      is_empty = true;
    };
    each_chunk<Whole>([&](int j, Chunk<Bits> const& chunk, bool exists) {
      auto const a = read(chunk.keys[0]), b = read(chunk.keys[1]), c = read(chunk.keys[2]),
                 d = read(chunk.keys[3]);
      auto const ab = read.max(a, b), cd = read.max(c, d), all = read.max(ab, cd);
      if (exists && m_fold > 0) {
        group = read.max(group, all);
        is_empty = false;
      } else if (exists) {
        high = read.max(high, all);
        low = read.min(low, m_fold == Fold::pair ? read.min(ab, cd)
                                                 : read.min(read.min(a, b), read.min(c, d)));
      }
      if (m_fold > 0 && ((j + 1) & (m_fold - 1)) == 0) close();
    });
    close();
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      low = read.min(low, shuffle_xor(low, mask));
      high = read.max(high, shuffle_xor(high, mask));
    }
    return Bracket<decltype(low)>{low, high};
  }

  template <bool Whole, class MakePair>
  __device__ __forceinline__ void store_codes(MakePair const& make) {
    each_chunk<Whole>([&](int j, Chunk<Bits> const& chunk, bool) {
      m_codes[2 * j] = make(chunk.keys[0], chunk.keys[1]);
      m_codes[2 * j + 1] = make(chunk.keys[2], chunk.keys[3]);
      if constexpr (!Whole) {
        int const left = m_n - 4 * (m_lane + j * Lanes);
        m_codes[2 * j] &= left > 1 ? ~0u : left > 0 ? 0xffffu : 0u;
        m_codes[2 * j + 1] &= left > 3 ? ~0u : left > 2 ? 0xffffu : 0u;
      }
    });
  }

  /// All codes are below `end`.
  __device__ __forceinline__ void begin(unsigned end) {
    m_low = {0, static_cast<float>(m_n + 1), {}};
    m_high = {end, 0, {}};
    m_stuck = false;
  }

  __device__ __forceinline__ Cut cut_at(unsigned code) const {
    unsigned const threshold = code * 0x10001u;
    QuadAdder even(m_multiplier), odd(m_multiplier);
#pragma unroll
    for (int g = 0; g < most_groups; ++g)
      if (g < m_groups) {
        unsigned first[4], second[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          first[i] = reaches(m_codes[8 * g + i], threshold);
          second[i] = reaches(m_codes[8 * g + 4 + i], threshold);
        }
        even.add(first);
        odd.add(second);
      }
    QuadSum const a = even.sum(), b = odd.sum();
    QuadSum const quad{a.before + b.before, a.all + b.all};
    float reaching = quad.all;
#pragma unroll
    for (int mask = 4; mask < Lanes; mask *= 2) reaching += shuffle_xor(reaching, mask);
    return {code, reaching, quad};
  }

  /// Of linear codes the one in the middle of the numbers they stand for.
  __device__ __forceinline__ unsigned middle() const {
    unsigned const between = (m_low.code + m_high.code) / 2;
    if (!m_linear) return between;
    float const sum = __half2float(__ushort_as_half(static_cast<unsigned short>(m_low.code))) +
                      __half2float(__ushort_as_half(static_cast<unsigned short>(m_high.code)));
    unsigned const mean = __half_as_ushort(__float2half_rn(0.5f * sum));
    return min(max(mean, min(m_low.code + 1, between)), m_high.code - 1);
  }

  /// Halves the interval of codes until k keys reach its low end, one code is left, or halving parts
  /// nothing.
  __device__ __forceinline__ void bisect() {
    int stale = 0;
    bool settled = is_settled();
    while (!__all_sync(full_warp, settled)) {
      float const width = m_low.reaching - m_high.reaching;
      bool const stalls = stale >= bisection_tuning.stale_rounds;
      Cut const cut = cut_at(stalls && m_low.code == 0 ? 1 : middle());
      if (cut.reaching >= m_k)
        m_low = cut;
      else
        m_high = cut;
      float const left = m_low.reaching - m_high.reaching;
      stale = left == width ? stale + 1 : 0;
      m_stuck =
          stale >= bisection_tuning.stale_rounds && left > bisection_tuning.ties && m_low.code > 0;
      settled = is_settled();
    }
  }

  __device__ __forceinline__ bool is_settled() const {
    return is_exact() || m_equal || m_stuck || m_high.code - m_low.code <= 1 || m_k == 0;
  }

  __device__ __forceinline__ bool is_crowded() const {
    return !is_exact() && !m_equal && m_k > 0 &&
           m_low.reaching - m_high.reaching > bisection_tuning.ties;
  }

  /// Spreads the codes over the ranks of the keys in the interval; false where these have one rank.
  /// \param lanes  those that come here, whole rows
  __device__ __forceinline__ bool narrow(unsigned lanes) {
    unsigned const from = max(m_low.code, 1u), span = m_high.code - from;
    Bracket<Rank> bracket{~Rank{0}, 0};
    each_chunk<false>([&](int j, Chunk<Bits> const& chunk, bool) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (code(j, i) - from < span) {
          Rank const rank = m_work.map.rank(chunk.keys[i]);
          bracket.low = min(bracket.low, rank);
          bracket.high = max(bracket.high, rank);
        }
    });
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      bracket.low = min(bracket.low, __shfl_xor_sync(lanes, bracket.low, mask));
      bracket.high = max(bracket.high, __shfl_xor_sync(lanes, bracket.high, mask));
    }
    if (bracket.low == bracket.high) return false;
    set_rank_codes<false>(bracket);
    return true;
  }

  Work<Bits> const& m_work;
  Chunk<Bits> const* m_row;
  int m_lane, m_n, m_k;
  int m_groups, m_fold;
  bool m_whole;
  bool m_linear = false, m_stuck = false, m_equal = false;
  unsigned m_multiplier;
  Cut m_low{}, m_high{};
  unsigned m_codes[2 * bisection_tuning.keys_of_lane / 4];
};

}  // namespace ktopk::detail::cuda
