// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "work.cuh"

// How keys become codes: 15 bits in the order of the keys, which are read as a positive fp16 number.

namespace ktopk::detail::cuda {

/// The greatest code. The end of an interval of codes may be one more, and must not be fp16's infinity.
inline constexpr unsigned greatest_code = 0x7bfe;

/// The interval in which the k-th key of a row should be, and the best key of the row.
template <class T>
struct Bracket {
  T low, high, best;
  bool probes = false;  // whether a count of the keys that reach `high` is worth it: keys equal the
                        // best one, or are outliers
};

// ---- readers: they turn chunks into numbers that compare as the keys do

/// Floats as they are, or negated. NaN stays NaN.
template <bool Negated>
struct FloatReader {
  using T = float;

  __device__ __forceinline__ static float none() { return __uint_as_float(0x7fffffffu); }
  __device__ __forceinline__ static float number(std::uint32_t key) {
    return Negated ? -__uint_as_float(key) : __uint_as_float(key);
  }
  __device__ __forceinline__ void operator()(Chunk<std::uint32_t> const& chunk,
                                             float (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = number(chunk.keys[i]);
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
  /// Whether the best keys are outliers. Without them the best is `next`.
  __device__ __forceinline__ static bool is_stretched(float low, float best, float next) {
    return next > low && (best - low) * (1.0f / bisection_tuning.stretch) > next - low;
  }
};

/// The high words of doubles, or negated ones, read as floats. They are in the order of the doubles below 2^1017, but for
/// NaN. Minus infinity is NaN here and never a maximum; a group of nothing else makes the least maximum NaN.
template <bool Negated>
struct HighFloatReader {
  using T = float;

  __device__ __forceinline__ static float none() { return INFINITY; }
  __device__ __forceinline__ static std::uint32_t high_word(std::uint64_t key) {
    return static_cast<std::uint32_t>(key >> 32);
  }
  /// Whether the key, which is negated if the smallest are wanted, has its place among the others here.
  __device__ __forceinline__ static bool is_in_order(std::uint64_t key) {
    double const number = __longlong_as_double(static_cast<long long>(key));
    return Negated ? number > -0x1p1017 : number < 0x1p1017;
  }
  __device__ __forceinline__ void operator()(Chunk<std::uint64_t> const& chunk,
                                             float (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = FloatReader<Negated>::number(high_word(chunk.keys[i]));
  }
  __device__ __forceinline__ static float max(float a, float b) { return fmaxf(a, b); }
  __device__ __forceinline__ static float min(float a, float b) {
    return -FloatReader<Negated>::max(-a, -b);
  }
  __device__ __forceinline__ static bool is_stretched(float low, float best, float next) {
    return FloatReader<Negated>::is_stretched(low, best, next);
  }
};

template <class Bits>
using OrderedBitsOf = std::conditional_t<sizeof(Bits) == 8, std::uint64_t, std::uint32_t>;

template <class OrderedBits>
struct OrderedBitsComparison {
  using T = OrderedBits;
  __device__ __forceinline__ static OrderedBits none() { return ~OrderedBits{0}; }
  __device__ __forceinline__ static OrderedBits max(OrderedBits a, OrderedBits b) {
    return a > b ? a : b;
  }
  __device__ __forceinline__ static OrderedBits min(OrderedBits a, OrderedBits b) {
    return a < b ? a : b;
  }
  __device__ __forceinline__ static bool is_stretched(OrderedBits low, OrderedBits best,
                                                      OrderedBits next) {
    return next > low && (best - low) / bisection_tuning.stretch > next - low;
  }
};

/// Ranks of any keys.
template <class Bits>
struct OrderedBitsReader : OrderedBitsComparison<OrderedBitsOf<Bits>> {
  OrderedBitsMap<Bits> const& map;
  __device__ explicit OrderedBitsReader(OrderedBitsMap<Bits> const& map_) : map(map_) {}
  __device__ __forceinline__ OrderedBitsOf<Bits> rank(Bits key) const { return map(key); }
  __device__ __forceinline__ void operator()(Chunk<Bits> const& chunk,
                                             OrderedBitsOf<Bits> (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = rank(chunk.keys[i]);
  }
};

/// Ranks of integers.
template <class Bits>
struct FlipReader : OrderedBitsComparison<OrderedBitsOf<Bits>> {
  Bits always;
  __device__ explicit FlipReader(OrderedBitsMap<Bits> const& map) : always(map.always) {}
  __device__ __forceinline__ void operator()(Chunk<Bits> const& chunk,
                                             OrderedBitsOf<Bits> (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = chunk.keys[i] ^ always;
  }
};

/// The high words of doubles' ranks.
struct HighWordReader : OrderedBitsComparison<std::uint32_t> {
  unsigned always, of_nan;
  __device__ explicit HighWordReader(OrderedBitsMap<std::uint64_t> const& map)
      : always(static_cast<unsigned>(map.always >> 32)),
        of_nan(static_cast<unsigned>(map.ordered_nan >> 32)) {}
  __device__ __forceinline__ unsigned rank(std::uint64_t key) const {
    auto const high = static_cast<unsigned>(key >> 32), low = static_cast<unsigned>(key);
    unsigned const magnitude = high & 0x7fffffffu, sticky = magnitude + (low != 0 ? 1 : 0);
    unsigned const flip = high >> 31 != 0 && sticky != 0 ? 0x7fffffffu : 0u;
    unsigned const plain = sticky == 0 ? 0u : high;
    return sticky > 0x7ff00000u ? of_nan : plain ^ flip ^ always;
  }
  __device__ __forceinline__ void operator()(Chunk<std::uint64_t> const& chunk,
                                             unsigned (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = rank(chunk.keys[i]);
  }
};

enum class PairKind { integer, half, bfloat };

/// Ranks of keys of 8 and 16 bits, two in a register.
template <class Bits, PairKind Kind>
struct PairReader {
  OrderedBitsMap<Bits> const& map;
  unsigned always, factor;

  __device__ explicit PairReader(OrderedBitsMap<Bits> const& map_)
      : map(map_), always(map_.always * (sizeof(Bits) == 1 ? 0x01010101u : 0x00010001u)) {
    bool const negate = always == 0x7fff7fffu;
    factor = (Kind == PairKind::half ? 0x3c003c00u : 0x3f803f80u) ^ (negate ? 0x80008000u : 0u);
  }
  __device__ __forceinline__ void operator()(Chunk<Bits> const& chunk, unsigned (&out)[2]) const {
    if constexpr (sizeof(Bits) == 1) {
      unsigned const four = *reinterpret_cast<unsigned const*>(chunk.keys) ^ always;
      out[0] = __byte_perm(four, 0, 0x4140);
      out[1] = __byte_perm(four, 0, 0x4342);
    } else {
      uint2 const two = *reinterpret_cast<uint2 const*>(chunk.keys);
      out[0] = rank_pair(two.x);
      out[1] = rank_pair(two.y);
    }
  }
  /// What is to be added to the ranks of a pair: 1, or 0 if NaN is the best key.
  __device__ __forceinline__ unsigned turn() const {
#if __CUDA_ARCH__ >= 800
    return Kind != PairKind::integer && map.ordered_nan == 0 ? 0x00010001u : 0u;
#else
    return 0;
#endif
  }

 private:
  /// Multiplies by 1 or -1, which maps all NaNs to one, whose rank is the greatest, and both zeros to one.
  __device__ __forceinline__ unsigned product(unsigned pair) const {
#if __CUDA_ARCH__ >= 800
    if constexpr (Kind == PairKind::half)
      asm("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(factor), "r"(0u));
    else
      asm("fma.rn.bf16x2 %0, %0, %1, %2;" : "+r"(pair) : "r"(factor), "r"(0u));
#endif
    return pair;
  }
  __device__ __forceinline__ unsigned rank_pair(unsigned pair) const {
    if constexpr (Kind == PairKind::integer) return pair ^ always;
#if __CUDA_ARCH__ >= 800
    unsigned const number = product(pair);
    return number ^ (signs(number) | 0x80008000u);
#else
    return map(static_cast<Bits>(pair)) | static_cast<unsigned>(map(static_cast<Bits>(pair >> 16)))
                                              << 16;
#endif
  }
  /// All bits of a half if its top bit is set, otherwise none.
  __device__ __forceinline__ static unsigned signs(unsigned pair) {
    unsigned result;
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(result) : "r"(pair));
    return result;
  }
};

// ---- scales: they turn these numbers into codes

/// Maps floats, negated if the smallest are wanted, to fp16 numbers: those in the bracket to 2^-11 ... 1, those below
/// it to less. `careful` also serves a bracket that is narrow, absolutely or relative to its ends.
struct LinearScale {
  static constexpr unsigned least = 0x1000;  // 2^-11, the code of the bracket's low end
  static constexpr unsigned most = 0x3c00;   // 1

  float factor, offset;
  float unit, careful_factor, careful_offset;
  bool is_simple;

  __device__ __forceinline__ LinearScale(Bracket<float> const& bracket, float sign) {
    bool const big = fmaxf(fabsf(bracket.low), fabsf(bracket.high)) > 0x1p120f;
    bool const tiny = bracket.high - bracket.low < 0x1p-60f && fabsf(bracket.low) < 1;
    float const zoom = big ? 0x1p-8f : tiny ? 0x1p64f : 1;
    float const range = bracket.high * zoom - bracket.low * zoom;
    careful_factor = power_for(range);
    careful_offset = -bracket.low * zoom;
    unit = sign * zoom;
    factor = sign * careful_factor;
    offset = fmaf(-bracket.low, careful_factor, lowest);
    is_simple = fabsf(bracket.low) < 256 * range && zoom == 1;
  }
  __device__ __forceinline__ float operator()(std::uint32_t key) const {
    return __saturatef(fmaf(__uint_as_float(key), factor, offset));
  }
  __device__ __forceinline__ float careful(std::uint32_t key) const {
    return __saturatef(
        fmaf(fmaf(__uint_as_float(key), unit, careful_offset), careful_factor, lowest));
  }
  __device__ __forceinline__ static unsigned pair(float first, float second) {
    return bits_of_pair(__floats2half2_rn(first, second));
  }
  __device__ __forceinline__ static unsigned code(float number) {
    return __half_as_ushort(__float2half_rn(number));
  }

 private:
  static constexpr float lowest = 1.0f / 2048;

  /// The power of two that scales x to between 1/2 and 1.
  __device__ __forceinline__ static float power_for(float x) {
    return __uint_as_float((253 - min(__float_as_uint(x) >> 23, 252u)) << 23);
  }
};

/// How many bits the ranks of a range lose, so that their codes, from 1 on, and an end behind them fit.
template <class OrderedBits>
__device__ __forceinline__ int code_shift(OrderedBits range) {
  int const bits = range == 0 ? 0 : highest_bit(CompositeKey64{range}) + 1;
  int const shift = bits > 15 ? bits - 15 : 0;
  return range >> shift > greatest_code - 2 ? shift + 1 : shift;
}

/// Maps ranks to codes in their order: ranks below the bracket to 0, the others to 1 ... `most`.
template <class OrderedBits>
struct OrderedBitsScale {
  OrderedBits base = 0, top = 0;
  int shift = 0;
  unsigned lift = 0;

  __device__ __forceinline__ OrderedBitsScale(OrderedBits low, OrderedBits high) {
    shift = code_shift(static_cast<OrderedBits>(high - low));
    OrderedBits const unit = OrderedBits{1} << shift;
    lift = low < unit ? 1 : 0;
    base = low < unit ? 0 : low - unit;
    top = high + unit < high ? ~OrderedBits{0} : high + unit;
  }
  __device__ __forceinline__ unsigned operator()(OrderedBits rank) const {
    OrderedBits const capped = rank < top ? rank : top;
    return static_cast<unsigned>(((capped > base ? capped : base) - base) >> shift) + lift;
  }
};

/// Maps the ranks from `low` to `high` to codes in their order, from 1 on and below `end`. Better ranks share the code
/// `end` and others 0: a rank never joins those of the interval.
template <class OrderedBits>
struct IntervalScale {
  OrderedBits low, high;
  int shift;
  unsigned end;

  __device__ __forceinline__ IntervalScale(OrderedBits low_, OrderedBits high_)
      : low(low_), high(high_), shift(code_shift(static_cast<OrderedBits>(high_ - low_))) {
    end = (static_cast<unsigned>((high - low) >> shift)) + 2;
  }
  __device__ __forceinline__ unsigned operator()(OrderedBits rank) const {
    unsigned const code = static_cast<unsigned>((rank - low) >> shift) + 1;
    return rank < low ? 0 : rank > high ? end : code;
  }
};

constexpr int log2_up(int n) {
  int bits = 0;
  while ((1 << bits) < n) ++bits;
  return bits;
}

/// Maps two ranks of 16 bits at once. Bits of a code that the bracket does not need hold a part of the column, so that
/// few keys share a code.
template <int Lanes, int Keys>
class PairScale {
 public:
  static constexpr int column_bits = log2_up(Lanes * Keys);
  static constexpr unsigned most = greatest_code - 4;

  /// The keys of the bracket and better ones get larger codes than all others.
  __device__ __forceinline__ PairScale(unsigned low, unsigned high, bool first_wins, int lane) {
    unsigned const base = low > 0 ? low - 1 : 0, range = high - base;
    int const used = highest_bit(CompositeKey64{range | 1}) + 1;
    m_shift = range > 2 * most ? 2 : range > most ? 1 : 0;
    m_bits = m_shift > 0 ? 0 : min(max(14 - used, 0), column_bits);
    if (column_bits - m_bits > log2_up(4 * Lanes)) m_bits = 0;
    m_base = base * both;
    m_end = (((range >> m_shift) + 1) << m_bits) + 1;
    m_first[0] = m_first[1] = both;
    if (m_bits > 0) place_columns(first_wins, lane);
    m_factor = 1u << m_bits;
    m_first[0] -= m_base * m_factor;
    m_first[1] -= m_base * m_factor;
  }
  __device__ __forceinline__ bool is_wide() const { return m_shift > 0; }
  /// The codes of two ranks, if the bracket is not wide. The halves of the sum fit, so that one product serves both.
  __device__ __forceinline__ unsigned operator()(unsigned ranks, int chunk, int half) const {
    return __vmaxu2(ranks, m_base) * m_factor + (m_first[half] + chunk * m_step);
  }
  /// The same for any bracket.
  __device__ __forceinline__ unsigned careful(unsigned ranks, int chunk, int half) const {
    unsigned const above = __vmaxu2(ranks, m_base) - m_base, mask = (0xffffu >> m_shift) * both;
    return (*this)(((above >> m_shift) & mask) + m_base, chunk, half);
  }
  /// The code of the bracket's low end, or a smaller one.
  __device__ __forceinline__ unsigned least() const {
    return m_base == 0 || m_shift > 0 ? 1 : (1u << m_bits) + 1;
  }
  /// All codes are below it.
  __device__ __forceinline__ unsigned end() const { return m_end; }

 private:
  static constexpr unsigned both = 0x10001u;

  __device__ __forceinline__ void place_columns(bool first_wins, int lane) {
    int const drop = column_bits - m_bits;
    m_step = ((4u * Lanes) >> drop) * both;
    unsigned at[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) at[i] = static_cast<unsigned>(4 * lane + i) >> drop;
    m_first[0] = at[0] | at[1] << 16;
    m_first[1] = at[2] | at[3] << 16;
    if (first_wins) {
      unsigned const last = ((1u << m_bits) - 1) * both;
      m_step = 0u - m_step;
      m_first[0] = last - m_first[0];
      m_first[1] = last - m_first[1];
    }
    m_first[0] += both;
    m_first[1] += both;
  }

  unsigned m_base, m_end, m_factor, m_first[2], m_step = 0;
  int m_shift, m_bits;
};

}  // namespace ktopk::detail::cuda
