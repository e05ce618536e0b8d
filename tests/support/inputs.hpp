// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Hostile inputs by name, for every key type. Key i of an input depends on (name, n, i, seed) alone,
/// so that rows can be filled in any order and by any number of threads, on a device too. No libm is used except in
/// `normal`, so all others are the same on every machine.

#include <ktopk/core/macros.hpp>
#include <ktopk/float16.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ktopk::testing {

enum class Input {
  uniform,  ///< floats in [0, 1), integers over their whole range
  normal,   ///< mean 0 (unsigned: middle of the range), deviation 1 (integers: 1/16 of the range)
  all_equal,
  ascending,
  descending,
  leading_bits,   ///< 20 equal leading bits (10 of 16, 5 of 8), the rest random
  bucket_killer,  ///< exponentially spread: between min and max, buckets peel a key or two a round
  few_values,     ///< four values
  outliers,       ///< a narrow cluster and a few keys far away on both sides
  winners_last,   ///< the last 1/64 of the row stands above all the rest
  random_bits,    ///< any pattern: for floats NaNs, infinities, denormals among them
  extremes,       ///< the ends of the type's range and their neighbors
  ties1000,       ///< 1000 values, or as many as there are
  nans,         ///< uniform, every eighth a NaN: both signs, quiet and signaling, several payloads
  mostly_nans,  ///< seven of eight are NaNs
  infinities,   ///< uniform, with infinities of both signs
  zeros,        ///< both zeros and the smallest denormals
  denormals,
  rectified,      ///< what a rectifier leaves: half are zeros of either sign, and nothing is less
  rectified_low,  ///< the same below zero: nothing is greater
  invalid,        ///< the NaN that x86 gives for 0/0, its sign set, and one number in 512
  // What applications select from.
  quantized,   ///< 256 values, those in the middle most often: scores of 8 bits
  clustered,   ///< floats in [1, 1.00003]; integers within a 32768th of their range
  zipf,        ///< counts: at least v with probability 1/v
  masked,      ///< three of four are minus infinity, or the lowest integer; the rest uniform
  magnitudes,  ///< distances from zero of bell-shaped numbers; of integers, from the lowest
  sparse,  ///< each bit is set with probability 1/8: integers of all magnitudes, most of them small
};

inline constexpr std::array<std::pair<Input, char const*>, 27> input_table{{
    {Input::uniform, "uniform"},
    {Input::normal, "normal"},
    {Input::all_equal, "all_equal"},
    {Input::ascending, "ascending"},
    {Input::descending, "descending"},
    {Input::leading_bits, "leading_bits"},
    {Input::bucket_killer, "bucket_killer"},
    {Input::few_values, "few_values"},
    {Input::outliers, "outliers"},
    {Input::winners_last, "winners_last"},
    {Input::random_bits, "random_bits"},
    {Input::extremes, "extremes"},
    {Input::ties1000, "ties1000"},
    {Input::nans, "nans"},
    {Input::mostly_nans, "mostly_nans"},
    {Input::infinities, "infinities"},
    {Input::zeros, "zeros"},
    {Input::denormals, "denormals"},
    {Input::rectified, "rectified"},
    {Input::rectified_low, "rectified_low"},
    {Input::invalid, "invalid"},
    {Input::quantized, "quantized"},
    {Input::clustered, "clustered"},
    {Input::zipf, "zipf"},
    {Input::masked, "masked"},
    {Input::magnitudes, "magnitudes"},
    {Input::sparse, "sparse"},
}};

inline char const* name(Input input) {
  for (auto const& [each, text] : input_table)
    if (each == input) return text;
  return "?";
}

inline std::optional<Input> input_from_name(std::string_view text) {
  for (auto const& [each, its_name] : input_table)
    if (text == its_name) return each;
  return std::nullopt;
}

/// 64 well-mixed bits out of a counter (SplitMix64's finalizer, twice).
KTOPK_FUNCTION inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  auto const mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
  };
  return mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + counter * UINT64_C(0x9e3779b97f4a7c15));
}

namespace detail {

template <std::size_t Bytes>
using BitsOf = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// The properties of a float format that the generators use.
template <class T>
struct FloatFormat;
template <>
struct FloatFormat<float16> {
  static constexpr int exponent_bits = 5;
};
template <>
struct FloatFormat<bfloat16> {
  static constexpr int exponent_bits = 8;
};
template <>
struct FloatFormat<float> {
  static constexpr int exponent_bits = 8;
};
template <>
struct FloatFormat<double> {
  static constexpr int exponent_bits = 11;
};

template <class T>
class KeySource {
 public:
  using Bits = BitsOf<sizeof(T)>;
  static constexpr int width = 8 * static_cast<int>(sizeof(T));
  static constexpr bool floating =
      std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

  KTOPK_FUNCTION KeySource(Input input, std::int64_t n, std::uint64_t seed)
      : m_input(input), m_n(n), m_seed(seed) {}

  KTOPK_FUNCTION T operator()(std::int64_t i) const {
    std::uint64_t const r = random_bits(m_seed, static_cast<std::uint64_t>(i));
    switch (m_input) {
      case Input::uniform: return uniform(r);
      case Input::normal: return normal(i);
      case Input::all_equal: return in_range(0.625);
      case Input::ascending: return in_range(fraction_of(i));
      case Input::descending: return in_range(fraction_of(m_n - 1 - i));
      case Input::leading_bits: return leading_bits(r);
      case Input::bucket_killer: return bucket_killer(i);
      case Input::few_values: return in_range(0.25 * static_cast<double>(r >> 62));
      case Input::outliers: return in_range(r % 256 == 0 ? unit(r) : 0.5 + unit(r) / 1024);
      case Input::winners_last:
        return in_range(i >= m_n - m_n / 64 - 1 ? 0.75 + unit(r) / 4 : unit(r) / 2);
      case Input::random_bits: return from_bits(static_cast<Bits>(r));
      case Input::extremes: return extreme(r);
      case Input::ties1000: return in_range(static_cast<double>(r % 1000) / 1000);
      case Input::quantized: return in_range(static_cast<double>(sum_of_four(r, 6)) / 256);
      case Input::clustered: return clustered(r);
      case Input::zipf: return zipf(r);
      case Input::masked: return r % 4 != 0 ? lowest() : uniform(r);
      case Input::magnitudes: return magnitude(r);
      case Input::sparse: return from_bits(static_cast<Bits>(r & r >> 7 & r >> 17));
      default: return special(r);
    }
  }

 private:
  KTOPK_FUNCTION static T from_bits(Bits bits) { return std::bit_cast<T>(bits); }

  KTOPK_FUNCTION static double unit(std::uint64_t r) {
    return static_cast<double>(r >> 11) * 0x1p-53;
  }

  KTOPK_FUNCTION double fraction_of(std::int64_t i) const {
    return static_cast<double>(i) / static_cast<double>(m_n);
  }

  KTOPK_FUNCTION static T from_double(double x) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(x);
    else
      return T(static_cast<float>(x));
  }

  /// x in [0, 1] to [-1, 1], or to the integers' whole range, keeping the order.
  KTOPK_FUNCTION static T in_range(double x) {
    if constexpr (floating) {
      return from_double(2 * x - 1);
    } else {
      double const steps = x * std::ldexp(1.0, width);
      double const limit = std::ldexp(1.0, width) - 1;
      Bits const up = steps >= limit ? static_cast<Bits>(~Bits{0}) : static_cast<Bits>(steps);
      return from_ordered(up);
    }
  }

  /// 0 is the lowest integer of the type, all ones the highest.
  KTOPK_FUNCTION static T from_ordered(Bits up) {
    constexpr Bits sign = std::is_signed_v<T> ? static_cast<Bits>(Bits{1} << (width - 1)) : Bits{0};
    return from_bits(static_cast<Bits>(up ^ sign));
  }

  KTOPK_FUNCTION static T uniform(std::uint64_t r) {
    if constexpr (std::is_same_v<T, double>)
      return unit(r);
    else if constexpr (floating)
      return from_double(static_cast<double>(r >> 40) * 0x1p-24);
    else
      return from_bits(static_cast<Bits>(r));
  }

  KTOPK_FUNCTION T normal(std::int64_t i) const {
    double const u = 1 - unit(random_bits(m_seed, 2 * static_cast<std::uint64_t>(i)));
    double const v = unit(random_bits(m_seed, 2 * static_cast<std::uint64_t>(i) + 1));
    double const z = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
    if constexpr (floating)
      return from_double(z);
    else
      return in_range(std::clamp(0.5 + z / 16, 0.0, 1.0));
  }

  KTOPK_FUNCTION static T leading_bits(std::uint64_t r) {
    constexpr int equal = width >= 32 ? 20 : width * 5 / 8;
    Bits const pattern = static_cast<Bits>(UINT64_C(0x3f9d4b6a5c3e1d78) >> (64 - width));
    Bits const tail = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> equal);
    return from_bits(static_cast<Bits>((pattern & ~tail) | (static_cast<Bits>(r) & tail)));
  }

  /// The largest keys, scattered over the row, each many times farther from zero than the next.
  KTOPK_FUNCTION T bucket_killer(std::int64_t i) const {
    std::uint64_t const n = static_cast<std::uint64_t>(m_n);
    std::uint64_t const place = (static_cast<std::uint64_t>(i) * 7919 + m_seed % n) % n;
    if constexpr (floating) {
      constexpr int exponent_bits = FloatFormat<T>::exponent_bits;
      constexpr int fraction_bits = width - 1 - exponent_bits;
      constexpr int step = exponent_bits == 5 ? 1 : 4;
      constexpr int top = (1 << exponent_bits) - 2;
      int const exponent =
          std::max(1, top - step * static_cast<int>(std::min<std::uint64_t>(place, top)));
      return from_bits(static_cast<Bits>(static_cast<Bits>(exponent) << fraction_bits));
    } else {
      return from_ordered(static_cast<Bits>(static_cast<Bits>(~Bits{0}) >>
                                            std::min<std::uint64_t>(place, width - 1)));
    }
  }

  KTOPK_FUNCTION static T extreme(std::uint64_t r) {
    if constexpr (floating) {
      constexpr Bits one = Bits{1};
      constexpr Bits sign = static_cast<Bits>(one << (width - 1));
      constexpr Bits infinity = infinity_bits();
      constexpr Bits smallest = static_cast<Bits>(one << fraction_bits());
      constexpr std::array<Bits, 7> table{
          infinity, static_cast<Bits>(infinity - 1), static_cast<Bits>(infinity - 2),
          smallest, static_cast<Bits>(smallest - 1), one,
          Bits{0}};
      return from_bits(
          static_cast<Bits>(table[r % table.size()] | ((r >> 32) % 2 != 0 ? sign : Bits{0})));
    } else {
      constexpr Bits all = static_cast<Bits>(~Bits{0});
      constexpr Bits middle = static_cast<Bits>(Bits{1} << (width - 1));
      constexpr std::array<Bits, 9> table{Bits{0},
                                          Bits{1},
                                          Bits{2},
                                          static_cast<Bits>(middle - 1),
                                          middle,
                                          static_cast<Bits>(middle + 1),
                                          static_cast<Bits>(all - 2),
                                          static_cast<Bits>(all - 1),
                                          all};
      return from_bits(table[r % table.size()]);
    }
  }

  KTOPK_FUNCTION static constexpr int fraction_bits() {
    if constexpr (floating)
      return width - 1 - FloatFormat<T>::exponent_bits;
    else
      return 0;
  }

  KTOPK_FUNCTION static constexpr Bits infinity_bits() {
    return static_cast<Bits>(static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1) &
                             ~static_cast<Bits>((Bits{1} << fraction_bits()) - 1));
  }

  /// Four numbers of so many bits: their sum is bell-shaped, without libm.
  KTOPK_FUNCTION static std::int64_t sum_of_four(std::uint64_t r, int bits) {
    std::uint64_t sum = 0;
    for (int part = 0; part < 4; ++part) sum += (r >> (16 * part)) & ((1U << bits) - 1);
    return static_cast<std::int64_t>(sum);
  }

  KTOPK_FUNCTION static T clustered(std::uint64_t r) {
    if constexpr (floating)
      return from_double(1 + 3e-5 * unit(r));
    else
      return in_range(0.75 + unit(r) / 32768);
  }

  KTOPK_FUNCTION static T zipf(std::uint64_t r) {
    constexpr int largest_power = width >= 32 ? 30 : width - 1;
    double const most = std::ldexp(1.0, largest_power) - 1;
    auto const count = static_cast<std::int64_t>(std::min(1 / (1 - unit(r)), most));
    if constexpr (floating)
      return from_double(static_cast<double>(count));
    else
      return static_cast<T>(count);
  }

  KTOPK_FUNCTION static T lowest() {
    if constexpr (floating)
      return minus(from_bits(infinity_bits()));
    else
      return from_ordered(Bits{0});
  }

  KTOPK_FUNCTION static T magnitude(std::uint64_t r) {
    double const x = static_cast<double>(sum_of_four(r, 16)) * 0x1p-17 - 1;
    double const distance = x < 0 ? -x : x;
    if constexpr (floating)
      return from_double(distance);
    else
      return in_range(distance);
  }

  /// The inputs that only floats have; an integer key gets few_values in their place.
  KTOPK_FUNCTION T special(std::uint64_t r) const {
    if constexpr (floating) {
      Bits const sign = static_cast<Bits>((r >> 63) << (width - 1));
      switch (m_input) {
        case Input::nans: return r % 8 == 0 ? nan(r) : uniform(r);
        case Input::mostly_nans: return r % 8 != 0 ? nan(r) : uniform(r);
        case Input::infinities:
          return r % 8 == 0 ? from_bits(static_cast<Bits>(infinity_bits() | sign)) : uniform(r);
        case Input::rectified: return r % 2 == 0 ? from_bits(sign) : uniform(r);
        case Input::rectified_low: return r % 2 == 0 ? from_bits(sign) : minus(uniform(r));
        case Input::invalid: return r % 512 != 0 ? minus(quiet_nan()) : uniform(r);
        case Input::zeros: return from_bits(static_cast<Bits>((r % 4 == 0 ? 1 : 0) | sign));
        default:
          return from_bits(static_cast<Bits>(
              (static_cast<Bits>(r) & ((Bits{1} << fraction_bits()) - 1)) | sign));
      }
    } else {
      return in_range(0.25 * static_cast<double>(r >> 62));
    }
  }

  KTOPK_FUNCTION static T minus(T key) {
    return from_bits(static_cast<Bits>(std::bit_cast<Bits>(key) ^ (Bits{1} << (width - 1))));
  }

  KTOPK_FUNCTION static T quiet_nan() {
    return from_bits(static_cast<Bits>(infinity_bits() | (Bits{1} << (fraction_bits() - 1))));
  }

  KTOPK_FUNCTION static T nan(std::uint64_t r) {
    constexpr Bits quiet = static_cast<Bits>(Bits{1} << (fraction_bits() - 1));
    constexpr std::array<Bits, 4> payloads{quiet, static_cast<Bits>(quiet | 1), Bits{1},
                                           static_cast<Bits>((quiet << 1) - 1)};
    Bits const sign = static_cast<Bits>((r >> 63) << (width - 1));
    return from_bits(
        static_cast<Bits>(infinity_bits() | payloads[(r >> 32) % payloads.size()] | sign));
  }

  Input m_input;
  std::int64_t m_n;
  std::uint64_t m_seed;
};

}  // namespace detail

/// Key i of n.
template <class T>
T key_at(Input input, std::int64_t n, std::int64_t i, std::uint64_t seed) {
  return detail::KeySource<T>(input, n, seed)(i);
}

template <class T>
void fill(T* keys, Input input, std::int64_t n, std::uint64_t seed) {
  detail::KeySource<T> const source(input, n, seed);
  for (std::int64_t i = 0; i < n; ++i) keys[i] = source(i);
}

template <class T>
std::vector<T> make_keys(Input input, std::int64_t n, std::uint64_t seed) {
  std::vector<T> keys(n);
  fill(keys.data(), input, n, seed);
  return keys;
}

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool under_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool under_sanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool under_sanitizer = false;
#endif

/// The inputs that differ for a key type: integers have no NaNs, infinities, zeros of two signs or denormals. Under a
/// sanitizer, which is slow and whose findings depend on shapes more than on keys, every third of them, starting at
/// one that depends on the width. What applications select from is milder than these, and is measured.
template <class T>
std::vector<Input> inputs_for() {
  std::vector<Input> inputs;
  for (auto const& [input, text] : input_table) {
    if (input >= Input::quantized) continue;
    if (under_sanitizer && (static_cast<std::size_t>(input) + std::bit_width(sizeof(T))) % 3 != 0)
      continue;
    if (detail::KeySource<T>::floating || input < Input::nans) inputs.push_back(input);
  }
  return inputs;
}

/// Whether an input is the same bits on every machine (normal uses libm's log and cos).
inline bool portable(Input input) { return input != Input::normal; }

}  // namespace ktopk::testing
