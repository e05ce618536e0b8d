// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "codes.cuh"

// The search for the k-th key of a row. One instruction tests the codes of two keys, and the tensor cores add up the
// results. Rank and column distinguish keys that share the code of the k-th; if these are many, they get new codes.

namespace ktopk::detail::cuda {

/// A code, twice in a register, and how many keys of a row reach it.
struct Cut {
  unsigned pair;
  float reaching;
  QuadSum quad;  // the same number for a quad of lanes

  __device__ __forceinline__ unsigned code() const { return pair & 0xffffu; }
};

__device__ __forceinline__ unsigned twice(unsigned code) { return code * 0x10001u; }

template <class Bits, int Lanes, int Keys, Form form>
class RowSearch {
 public:
  using OrderedBits = OrderedBitsOf<Bits>;
  static constexpr int chunks = Keys / 4, length = Lanes * Keys;
  static constexpr int ties = bisection_tuning.ties(Lanes);

  /// \param n  the number of keys; used only if rows are ragged
  __device__ __forceinline__ RowSearch(Work<Bits> const& work, Bits const* row, int n, int k)
      : m_work(work),
        m_row(reinterpret_cast<Chunk<Bits> const*>(row)),
        m_lane(kept(static_cast<int>(threadIdx.x) % Lanes)),
        m_n(n),
        m_k(k),
        m_multiplier(kept(QuadAdder::multiplier<Lanes>())) {
    m_first[0] = m_lane;
    int const row_of_warp = static_cast<int>(threadIdx.x) % 32 / Lanes;
    if constexpr (turns > 1)
#pragma unroll
      for (int i = 0; i < turns; ++i)
        m_first[i] = kept(m_lane + ((i ^ row_of_warp) % turns - i) * Lanes);
  }

  /// Finds the k-th key, or the few keys that share its code. Whatever the keys, the loop ends after a dozen rounds of 64-bit
  /// keys: every other of 16 cuts at least halves the interval of codes, so that a round leaves ranks that span 2^7 times
  /// less, or equal ones, whose columns the next round parts. (A counter would cost the registers that are left.)
  __device__ __forceinline__ void run() {
    set_codes();
    bisect();
    while (__any_sync(full_warp, is_crowded())) {
      narrow(is_crowded());
      m_high = cut_at(m_high.pair);
      bisect_again();
    }
  }

  /// The cut whose keys are all selected: those above the ties of the k-th key, or all k if the low cut is exact.
  __device__ __forceinline__ Cut sure() const {
    bool const exact = is_exact();
    return {
        m_k == 0 ? twice(greatest_code + 1)
        : exact  ? m_low.pair
                 : m_high.pair,
        exact ? m_low.reaching : m_high.reaching,
        {exact ? m_low.quad.before : m_high.quad.before, exact ? m_low.quad.all : m_high.quad.all}};
  }
  __device__ __forceinline__ bool is_exact() const { return m_low.reaching == m_k; }
  __device__ __forceinline__ Cut const& low() const { return m_low; }
  __device__ __forceinline__ Cut const& high() const { return m_high; }

  /// Calls visit(pair, column) for all keys of this lane, two at a time: their codes and the column of the first.
  /// \param zero  0, but not a constant: otherwise the compiler keeps all columns in registers between calls
  template <class Visit>
  __device__ __forceinline__ void each_pair(int zero, Visit const& visit) const {
    int first[turns];
#pragma unroll
    for (int i = 0; i < turns; ++i) first[i] = 4 * m_first[i] + zero;
#pragma unroll
    for (int j = 0; j < chunks; ++j) {
      int const column = first[j % turns] + 4 * Lanes * j;
      visit(m_codes[2 * j], column);
      visit(m_codes[2 * j + 1], column + 2);
    }
  }

  /// Calls visit(column) for each of the few keys of this lane whose codes pass, two at a time.
  /// \param passing  returns all bits of each half whose code passes, otherwise none
  template <class Passing, class Visit>
  __device__ __forceinline__ void each_of_few(Passing const& passing, Visit const& visit) const {
#pragma unroll
    for (int word = 0; word < Keys / 2; word += 16) {
      unsigned left = 0;
#pragma unroll
      for (int p = word; p < word + 16 && p < Keys / 2; ++p)
        left |= passing(m_codes[p]) & (0x10001u << (p - word));
      while (left != 0) {
        int const bit = 31 - __clz(static_cast<int>(left)), p = word + bit % 16;
        left ^= 1u << bit;
        visit(4 * place_of_any(p / 2) + p % 2 * 2 + bit / 16);
      }
    }
  }

  /// How many keys of a cut the lanes before this one have.
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
  /// Rows that begin in the same bank each start with another chunk, so that their lanes access different banks.
  static constexpr int turns = form == Form::regular && Lanes < 8 ? 8 / Lanes : 1;

  __device__ __forceinline__ int n() const { return keys_of_row<Lanes * Keys, form>(m_work, m_n); }

  /// The place of a lane's chunk in its row.
  __device__ __forceinline__ int place_of(int chunk) const {
    return m_first[chunk % turns] + chunk * Lanes;
  }
  /// The same for a chunk that is not a constant.
  __device__ __forceinline__ int place_of_any(int chunk) const {
    int const turn = static_cast<int>(threadIdx.x) / Lanes % turns;
    return m_lane + (chunk ^ turn) * Lanes;
  }
  __device__ __forceinline__ int column_of(int chunk) const { return 4 * place_of(chunk); }
  __device__ __forceinline__ bool first_wins() const { return m_work.map.flip != 0; }

  /// Calls visit(number, chunk) for each chunk. It reads the keys again: there are no registers to keep them in.
  template <class Visit>
  __device__ __forceinline__ void each_chunk(Visit const& visit) const {
    asm volatile("" ::: "memory");
#pragma unroll
    for (int j = 0; j < chunks; ++j) visit(j, load_chunk(m_row + place_of(j)));
  }
  /// The same for rare steps, by narrow loads, which need fewer registers.
  template <class Visit>
  __device__ __forceinline__ void each_chunk_by_key(Visit const& visit) const {
    asm volatile("" ::: "memory");
#pragma unroll
    for (int j = 0; j < chunks; ++j) visit(j, m_row[place_of(j)]);
  }
  /// The same in a loop that is not unrolled.
  template <class Visit>
  __device__ __forceinline__ void each_chunk_in_turn(Visit const& visit) const {
#pragma unroll 2
    for (int j = 0; j < chunks; ++j) visit(j, m_row[place_of(j)]);
  }

  /// Makes the compiler keep x in a register instead of computing it again.
  template <class T>
  __device__ __forceinline__ static T kept(T x) {
    asm volatile("" : "+r"(x));
    return x;
  }

  __device__ __forceinline__ void set_codes() {
    if (form == Form::regular || m_work.map.rank.magnitude != 0)
      set_codes_of_floats();
    else if constexpr (sizeof(Bits) <= 2)
      set_pair_codes(PairReader<Bits, PairKind::integer>(m_work.map.rank));
    else
      set_ordered_codes(FlipReader<Bits>(m_work.map.rank));
  }
  __device__ __forceinline__ void set_codes_of_floats() {
    auto const& rank = m_work.map.rank;
    if constexpr (sizeof(Bits) == 8) {
      set_double_codes();
    } else if constexpr (sizeof(Bits) == 4) {
      set_float_codes();
    } else if constexpr (sizeof(Bits) == 2) {
      if (rank.infinity == 0x7c00)
        set_pair_codes(PairReader<Bits, PairKind::half>(rank));
      else
        set_pair_codes(PairReader<Bits, PairKind::bfloat>(rank));
    }
  }

  // ---- the bracket

  /// The bracket: the least and the greatest maximum of at least k groups of keys. The least bounds the k-th key from
  /// below.
  template <class Reader>
  __device__ __forceinline__ auto find_bracket(Reader const& read) const {
    using T = typename Reader::T;
    int const fold = fold_of_warp();
    int const behind = divide_up(n(), 4) - m_lane;
    auto const exists = [&](int j) { return form == Form::regular || j * Lanes < behind; };
    T best[chunks], low = read.none();
    each_chunk([&](int j, Chunk<Bits> const& chunk) {
      T keys[4];
      read(chunk, keys);
      best[j] = read.max(read.max(keys[0], keys[1]), read.max(keys[2], keys[3]));
    });
    constexpr int quarter = (1 << log2_up(chunks)) / 4;
    T next = best[0];
#pragma unroll
    for (int size = 1; size < 2 * chunks; size *= 2) {
      if (fold == size) {
#pragma unroll
        for (int j = 0; j < chunks; j += size)
          low = read.min(low, exists(j) ? best[j] : read.none());
      }
      if (size == quarter)
        next = second_of_four(
            read, best[0], best[quarter], best[2 * quarter],
            3 * quarter < chunks ? best[3 * quarter % chunks] : read.min(best[0], best[quarter]));
#pragma unroll
      for (int j = 0; j + size < chunks; j += 2 * size) best[j] = read.max(best[j], best[j + size]);
    }
    if (fold <= Fold::pair) low = least_of_small_groups(read, fold);
    T high = best[0];
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      low = read.min(low, shuffle_xor(low, mask));
      high = read.max(high, shuffle_xor(high, mask));
      next = read.max(next, shuffle_xor(next, mask));
    }
    bool const stretched = read.is_stretched(low, high, next), tied = next == high && low < high;
    T const end = stretched ? low + (next - low) * 4 : high;
    return Bracket<T>{low, end, high, stretched || tied};
  }

  /// The second of the best keys of a lane's four quarters: the best key if the first is an outlier. Where there are only
  /// three, the last is none that is better than both of the first.
  template <class Reader, class T>
  __device__ __forceinline__ static T second_of_four(Reader const& read, T a, T b, T c, T d) {
    return read.max(read.min(read.max(a, b), read.max(c, d)),
                    read.max(read.min(a, b), read.min(c, d)));
  }

  __device__ __forceinline__ int fold_of_warp() const {
    if (form != Form::ragged && !m_work.problem.wanted) return m_work.fold;
    unsigned const fold = fold_for(n(), m_work.groups_for(m_k), Lanes, chunks) + 1;
    return static_cast<int>(lanes_min<32>(fold)) - 1;
  }

  /// The least maximum of groups of one or two neighboring keys.
  template <class Reader>
  __device__ __forceinline__ auto least_of_small_groups(Reader const& read, int fold) const {
    typename Reader::T low = read.none();
    each_chunk_in_turn([&](int j, Chunk<Bits> const& chunk) {
      typename Reader::T keys[4];
      read(chunk, keys);
      int const left = n() - column_of(j), together = fold == Fold::pair ? 2 : 1;
      if (fold == Fold::pair) {
        keys[0] = read.max(keys[0], keys[1]);
        keys[2] = read.max(keys[2], keys[3]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (left > i && i % together == 0) low = read.min(low, keys[i]);
    });
    return low;
  }

  // ---- codes

  __device__ __forceinline__ void set_float_codes() {
    bool const smallest = m_work.map.rank.always == 0x7fffffffu;
    Bracket<float> bracket =
        smallest ? find_bracket(FloatReader<true>{}) : find_bracket(FloatReader<false>{});
    if (m_k == 0) bracket = {0, 1, INFINITY};
    float const sign = smallest ? -1 : 1;
    if (__any_sync(full_warp, bracket.probes)) take_probe(bracket, sign);
    bool const nan_first = m_work.map.rank.ordered_nan != 0;
    bool const is_nan = bracket.low != bracket.low && nan_first;
    bool const known = bracket.low == bracket.high || is_nan;
    bool const finite = fabsf(bracket.low) < INFINITY && fabsf(bracket.high) < INFINITY;
    bool const special = !known && !finite;
    unsigned const first_cut = !special                       ? 0
                               : !(bracket.low > -INFINITY)   ? 1
                               : bracket.high == bracket.high ? LinearScale::most
                               : nan_first                    ? nan_code
                                                              : 0;
    if (__any_sync(full_warp, special)) {
      Bracket<float> const inner = finite_bracket(sign);
      if (special) bracket = inside(bracket, inner);
    }
    LinearScale const scale(bracket, sign);
    if (__all_sync(full_warp, finite && !known && scale.is_simple)) {
      each_chunk([&](int j, Chunk<Bits> const& chunk) {
        m_codes[2 * j] = scale.pair(scale(chunk.keys[0]), scale(chunk.keys[1]));
        m_codes[2 * j + 1] = scale.pair(scale(chunk.keys[2]), scale(chunk.keys[3]));
      });
      begin(LinearScale::least, scale.code(scale(__float_as_uint(sign * bracket.best))) + 1);
    } else {
      set_careful_codes(scale, sign, is_nan ? NAN : bracket.high, known);
      begin(finite ? LinearScale::least : 1, nan_code + 1);
      cut_off_ends(known, first_cut, nan_first);
    }
    m_linear = true;
  }

  /// Begins the bracket at its high end if k keys reach that: many equal the best key, or what seemed outliers are many.
  __device__ __forceinline__ void take_probe(Bracket<float>& bracket, float sign) const {
    float const minus_high =
        0.0f - bracket.high;  // of a zero +0, to which -0 adds up to no negative number
    unsigned below = 0;
#pragma unroll 4
    for (int j = 0; j < chunks; ++j) {
      Chunk<Bits> const chunk = load_chunk(m_row + place_of(j));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        below += __float_as_uint(fmaf(__uint_as_float(chunk.keys[i]), sign, minus_high)) >> 31;
    }
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) below += shuffle_xor(below, mask);
    if (bracket.probes && length - static_cast<int>(below) >= m_k) {
      bracket.low = bracket.high;
      bracket.high = bracket.best;
    }
  }

  /// If the k-th key is known, or is one of those outside of the bracket, the interval becomes the keys that equal it.
  __device__ __forceinline__ void cut_off_ends(bool known, unsigned first_cut, bool nan_first) {
    unsigned const at = known ? nan_code : first_cut;
    if (!__any_sync(full_warp, at != 0)) return;
    part(at != 0 ? twice(at) : middle());
    m_equal = (at == nan_code && m_low.pair == twice(nan_code)) ||
              (at == 1 && nan_first && m_high.pair == twice(1));
  }

  /// NaNs get a code of their own. If the k-th key is known, the keys that reach it get the greatest code.
  __device__ __forceinline__ void set_careful_codes(LinearScale const& scale, float sign,
                                                    float high, bool known) {
    constexpr float greatest = 1.0009765625f;  // nan_code
    float const of_nan = m_work.map.rank.ordered_nan != 0 ? greatest : 0;
    each_chunk_by_key([&](int j, Chunk<Bits> const& chunk) {
      float numbers[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float const key = __uint_as_float(chunk.keys[i]);
        float const careful = scale.careful(chunk.keys[i]);
        float const exact = sign * key >= high ? greatest : 0;
        numbers[i] = key != key ? of_nan : known ? exact : careful;
      }
      m_codes[2 * j] = scale.pair(numbers[0], numbers[1]);
      m_codes[2 * j + 1] = scale.pair(numbers[2], numbers[3]);
    });
  }

  /// The bracket of all finite numbers of a row, or 0 ... 1 if there are none.
  __device__ __forceinline__ Bracket<float> finite_bracket(float sign) const {
    float low = INFINITY, high = -INFINITY;
    each_chunk_in_turn([&](int, Chunk<Bits> const& chunk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float const number = sign * __uint_as_float(chunk.keys[i]);
        if (fabsf(number) < INFINITY) {
          low = fminf(low, number);
          high = fmaxf(high, number);
        }
      }
    });
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      low = fminf(low, shuffle_xor(low, mask));
      high = fmaxf(high, shuffle_xor(high, mask));
    }
    return low <= high ? Bracket<float>{low, high, high} : Bracket<float>{0, 1, 1};
  }

  __device__ __forceinline__ static Bracket<float> inside(Bracket<float> const& bracket,
                                                          Bracket<float> const& inner) {
    float const low = fminf(fmaxf(bracket.low, inner.low), inner.high);
    float const high = fabsf(bracket.high) < INFINITY ? bracket.high : inner.high;
    return {low, fmaxf(low, high), high};
  }

  __device__ __forceinline__ void set_double_codes() {
    auto const& rank = m_work.map.rank;
    bool const smallest = rank.always == ~std::uint64_t{0} >> 1;
    bool const done = smallest ? set_high_word_codes<true>() : set_high_word_codes<false>();
    if (!done) set_ordered_codes(HighWordReader(rank));
  }

  /// Codes from doubles' high words as floats. Returns false if these do not serve a row of the warp.
  template <bool Smallest>
  __device__ __forceinline__ bool set_high_word_codes() {
    using Reader = HighFloatReader<Smallest>;
    Bracket<float> bracket = find_bracket(Reader{});
    if (m_k == 0) bracket = {0, 1, 1};
    bool const finite = fabsf(bracket.low) < INFINITY && fabsf(bracket.high) < INFINITY;
    if (__any_sync(full_warp, !finite || bracket.low == bracket.high)) return false;
    LinearScale const scale(bracket, Smallest ? -1 : 1);
    bool in_order = true;
    each_chunk([&](int j, Chunk<Bits> const& chunk) {
      float numbers[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        in_order = in_order && Reader::is_in_order(chunk.keys[i]);
        numbers[i] = scale.careful(Reader::high_word(chunk.keys[i]));
      }
      m_codes[2 * j] = scale.pair(numbers[0], numbers[1]);
      m_codes[2 * j + 1] = scale.pair(numbers[2], numbers[3]);
    });
    begin(LinearScale::least, LinearScale::most + 1);
    m_linear = true;
    return __all_sync(full_warp, in_order || m_k == 0);
  }

  template <class Reader>
  __device__ __forceinline__ void set_ordered_codes(Reader const& read) {
    auto const bracket = find_bracket(read);
    OrderedBitsScale<typename Reader::T> const scale(bracket.low, bracket.high);
    each_chunk_by_key([&](int j, Chunk<Bits> const& chunk) {
      typename Reader::T keys[4];
      read(chunk, keys);
      m_codes[2 * j] = scale(keys[0]) | scale(keys[1]) << 16;
      m_codes[2 * j + 1] = scale(keys[2]) | scale(keys[3]) << 16;
    });
    if (n() < length) clear_padding();
    begin(1, scale(scale.top) + 1);
  }

  /// Two ranks fit a register, so that the row is read once.
  template <class Reader>
  __device__ __forceinline__ void set_pair_codes(Reader const& read) {
    each_chunk([&](int j, Chunk<Bits> const& chunk) {
      unsigned pairs[2];
      read(chunk, pairs);
      m_codes[2 * j] = pairs[0];
      m_codes[2 * j + 1] = pairs[1];
    });
    if (unsigned const turn = read.turn(); turn != 0)
#pragma unroll
      for (unsigned& pair : m_codes) pair = __vadd2(pair, turn);
    unsigned low, high;
    find_pair_bracket(low, high);
    if constexpr (sizeof(Bits) == 2) leave_out_small(low, high);
    PairScale<Lanes, Keys> const scale(low, high, first_wins(), m_lane);
    if (__any_sync(full_warp, scale.is_wide()))
      each_code([&](unsigned& pair, int j, int half) { pair = scale.careful(pair, j, half); });
    else
      each_code([&](unsigned& pair, int j, int half) { pair = scale(pair, j, half); });
    auto const& rank = m_work.map.rank;
    bool const pads_may_win = !first_wins() || (rank.magnitude != 0 && rank.ordered_nan == 0);
    if (n() < length && pads_may_win) clear_padding();
    begin(scale.least(), scale.end());
  }
  template <class Visit>
  __device__ __forceinline__ void each_code(Visit const& visit) {
#pragma unroll
    for (int p = 0; p < Keys / 2; ++p) visit(m_codes[p], p / 2, p % 2);
  }

  /// The bracket of ranks, two in a register; each half has groups of its own.
  __device__ __forceinline__ void find_pair_bracket(unsigned& low, unsigned& high) const {
    int const fold = fold_of_warp(), behind = divide_up(n(), 4) - m_lane;
    unsigned best[chunks], lows = ~0u;
#pragma unroll
    for (int j = 0; j < chunks; ++j) best[j] = __vmaxu2(m_codes[2 * j], m_codes[2 * j + 1]);
#pragma unroll
    for (int size = 1; size < 2 * chunks; size *= 2) {
      if (fold == size) {
#pragma unroll
        for (int j = 0; j < chunks; j += size)
          lows = __vminu2(lows, j * Lanes < behind ? best[j] : ~0u);
      }
#pragma unroll
      for (int j = 0; j + size < chunks; j += 2 * size) best[j] = __vmaxu2(best[j], best[j + size]);
    }
    if (fold <= Fold::pair) lows = 0;
    unsigned highs = best[0];
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      lows = __vminu2(lows, shuffle_xor(lows, mask));
      highs = __vmaxu2(highs, shuffle_xor(highs, mask));
    }
    high = max(highs & 0xffffu, highs >> 16);
    low = m_k == 0 ? high : min(lows & 0xffffu, lows >> 16);
  }

  /// Most ranks are those of small numbers. If k keys reach an eighth of the best key, a wide bracket begins there.
  __device__ __forceinline__ void leave_out_small(unsigned& low, unsigned high) const {
    unsigned const octave = m_work.map.rank.infinity & (0u - m_work.map.rank.infinity);
    unsigned const eighth = high > 3 * octave ? high - 3 * octave : 1;
    bool const wide = octave != 0 && eighth > low + 5 * octave;
    if (!__any_sync(full_warp, wide)) return;
    int const reaching = ranks_from(eighth);
    if (wide && reaching >= m_k) low = eighth;
  }
  /// How many ranks of the row reach one that is not 0.
  __device__ __forceinline__ int ranks_from(unsigned rank) const {
    unsigned const below = twice(rank - 1);
    unsigned pairs = 0;
#pragma unroll
    for (unsigned pair : m_codes) pairs += __vminu2(__vmaxu2(pair, below) - below, 0x00010001u);
    unsigned count = (pairs & 0xffffu) + (pairs >> 16);
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) count += shuffle_xor(count, mask);
    return static_cast<int>(count);
  }

  __device__ __forceinline__ void clear_padding() {
#pragma unroll
    for (int p = 0; p < Keys / 2; ++p) {
      int const left = n() - column_of(p / 2) - p % 2 * 2;
      m_codes[p] &= left > 1 ? ~0u : left > 0 ? 0xffffu : 0u;
    }
  }

  __device__ __forceinline__ unsigned code_of_column(int column) const {
    int const keys = n();
    return column >= keys ? 0 : static_cast<unsigned>(first_wins() ? keys - column : column + 1);
  }

  /// Begins a search in codes below `end`; at least k keys reach `least`.
  __device__ __forceinline__ void begin(unsigned least, unsigned end) {
    m_low = all_keys();
    m_high = {twice(end), 0, {}};
    if (m_k == 0) m_low.pair = m_high.pair;
    m_linear = m_equal = false;
    m_least = twice(least);
  }
  __device__ __forceinline__ Cut all_keys() const {
    constexpr int together = Lanes < 4 ? Lanes : 4;
    return {0,
            static_cast<float>(length),
            {static_cast<float>(m_lane % together * Keys), together * Keys}};
  }

  // ---- the search in codes

  __device__ __forceinline__ Cut cut_at(unsigned pair) const {
    QuadAdder even(m_multiplier), odd(m_multiplier);
#pragma unroll
    for (int g = 0; g < Keys / 16; ++g) {
      unsigned first[4], second[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        first[i] = reaches(m_codes[8 * g + i], pair);
        second[i] = reaches(m_codes[8 * g + 4 + i], pair);
      }
      even.add(first);
      odd.add(second);
    }
    QuadSum const a = even.sum(), b = odd.sum();
    QuadSum const quad{a.before + b.before, a.all + b.all};
    float reaching = quad.all;
#pragma unroll
    for (int mask = 4; mask < Lanes; mask *= 2) reaching += shuffle_xor(reaching, mask);
    return {pair, reaching, quad};
  }

  /// The code in the middle of the interval; of linear codes, the code of the middle number.
  __device__ __forceinline__ unsigned middle() const {
    unsigned const between = ((m_low.pair + m_high.pair) >> 1) & 0x7fff7fffu;
    __half2 const sum = __hadd2_rn(pair_of_bits(m_low.pair), pair_of_bits(m_high.pair));
    unsigned const mean = bits_of_pair(__hmul2_rn(sum, __float2half2_rn(0.5f)));
    return m_linear ? mean : between;
  }

  /// Halves the interval of codes until exactly k keys reach its low end or one code is left, for some rounds.
  __device__ __forceinline__ void bisect() {
    halve(bisection_tuning.rounds);
    find_low();
  }
  /// The same for new codes. Every other cut is interpolated, because codes of columns are spread evenly.
  __device__ __forceinline__ void bisect_again() {
    find_low();
#pragma unroll 1
    for (int round = 0; round < 16; ++round) {
      if (__all_sync(full_warp, is_settled())) return;
      part(m_linear || round % 2 != 0 ? middle() : between_counts());
    }
  }
  __device__ __forceinline__ unsigned between_counts() const {
    auto const low = static_cast<float>(m_low.code()), high = static_cast<float>(m_high.code());
    float const share =
        (m_low.reaching - static_cast<float>(m_k)) / fmaxf(m_low.reaching - m_high.reaching, 1);
    auto const code = static_cast<unsigned>(low + (high - low) * share + 0.5f);
    return twice(max(min(code, m_high.code() - 1),
                     m_low.code() + (m_low.code() < m_high.code() - 1 ? 1 : 0)));
  }
  /// If no cut yet is reached by k keys, makes one at the least code, which is.
  __device__ __forceinline__ void find_low() {
    bool const unknown = m_low.pair == 0 && m_least != 0 && !is_settled();
    if (__any_sync(full_warp, unknown)) part(unknown ? m_least : middle());
  }
  __device__ __forceinline__ void halve(int rounds) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      if (__all_sync(full_warp, is_settled())) return;
      part(middle());
    }
  }
  __device__ __forceinline__ void part(unsigned pair) {
    Cut const cut = cut_at(pair);
    if (cut.reaching >= m_k)
      m_low = cut;
    else
      m_high = cut;
  }

  __device__ __forceinline__ bool is_settled() const {
    return is_exact() || m_high.pair - m_low.pair <= twice(1);
  }

  __device__ __forceinline__ bool is_crowded() const {
    return !is_exact() && m_k > 0 && m_low.reaching - m_high.reaching > ties;
  }

  // ---- many keys in the interval

  /// Calls visit(key, column) for the keys with codes in [low, high).
  template <class Visit>
  __device__ __forceinline__ void each_in_interval(Visit const& visit) const {
    unsigned const from = m_low.pair, end = m_high.pair;
    each_chunk_by_key([&](int j, Chunk<Bits> const& chunk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        unsigned const pair = m_codes[2 * j + i / 2];
        unsigned const in = reaches(pair, from) & ~reaches(pair, end);
        int const column = column_of(j) + i;
        if ((in & (i % 2 == 0 ? 0xffffu : 0xffff0000u)) != 0 && column < n())
          visit(chunk.keys[i], column);
      }
    });
  }

  /// Gives the keys in the interval new codes: by their columns if the keys are equal, otherwise by their ranks. Keys above
  /// it have a code of their own, at its high end, where they are to be counted anew.
  __device__ __forceinline__ void narrow(bool crowded) {
    bool equal = m_equal;
    unsigned lanes = __ballot_sync(full_warp, crowded && !equal);
    if (crowded && !equal) equal = is_one_key(lanes);
    lanes = __ballot_sync(full_warp, crowded && !equal);
    if (crowded && !equal) equal = !spread_ranks(lanes);
    if (crowded && equal) spread_columns();
    __syncwarp();
  }

  /// \param lanes  the lanes that call it, those of whole rows
  /// \return false if all ranks are equal
  __device__ __forceinline__ bool spread_ranks(unsigned lanes) {
    OrderedBitsReader<Bits> const read(m_work.map.rank);
    OrderedBits low = ~OrderedBits{0}, high = 0;
    each_in_interval([&](Bits key, int) {
      low = min(low, read.rank(key));
      high = max(high, read.rank(key));
    });
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      low = min(low, __shfl_xor_sync(lanes, low, mask));
      high = max(high, __shfl_xor_sync(lanes, high, mask));
    }
    if (low == high) return false;
    IntervalScale<OrderedBits> const scale(low, high);
    each_chunk_by_key([&](int j, Chunk<Bits> const& chunk) {
      OrderedBits ranks[4];
      read(chunk, ranks);
      m_codes[2 * j] = scale(ranks[0]) | scale(ranks[1]) << 16;
      m_codes[2 * j + 1] = scale(ranks[2]) | scale(ranks[3]) << 16;
    });
    if (n() < length) clear_padding();
    begin(1, scale.end);
    return true;
  }

  /// Whether all keys in the interval have the same bits.
  __device__ __forceinline__ bool is_one_key(unsigned lanes) const {
    Bits all = static_cast<Bits>(~Bits{0}), any = 0;
    each_in_interval([&](Bits key, int) {
      all &= key;
      any |= key;
    });
#pragma unroll
    for (int mask = 1; mask < Lanes; mask *= 2) {
      all &= __shfl_xor_sync(lanes, all, mask);
      any |= __shfl_xor_sync(lanes, any, mask);
    }
    return all == any;
  }

  /// Keys above the interval stay above it. Padding, which may be in the interval, goes below.
  __device__ __forceinline__ void spread_columns() {
    unsigned const from = m_low.code(), end = m_high.code(), above = n() + 1;
#pragma unroll
    for (int p = 0; p < Keys / 2; ++p) {
      unsigned codes[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        unsigned const code = i == 0 ? m_codes[p] & 0xffffu : m_codes[p] >> 16;
        unsigned const of_column = code_of_column(column_of(p / 2) + p % 2 * 2 + i);
        codes[i] = code >= end ? above : code >= from ? of_column : 0;
      }
      m_codes[p] = codes[0] | codes[1] << 16;
    }
    if (from > 0 && n() == length)
      m_low.pair = twice(1);
    else
      m_low = all_keys();
    m_high.pair = twice(above);
    m_least = twice(1);
    m_linear = m_equal = false;
  }

  static constexpr unsigned nan_code = LinearScale::most + 1;

  Work<Bits> const& m_work;
  Chunk<Bits> const* m_row;
  int m_lane, m_n, m_k, m_first[turns];
  bool m_linear = false, m_equal = false;
  unsigned m_least = 0;
  unsigned m_multiplier;
  Cut m_low{}, m_high{};
  unsigned m_codes[Keys / 2];
};

}  // namespace ktopk::detail::cuda
