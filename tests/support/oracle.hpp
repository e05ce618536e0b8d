// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// An independent implementation of the contract on the host: the answer of a top-k call, and the validation of an
/// answer. It does not use ordered bits (include/ktopk/core/ordered_bits.hpp), so an error there cannot hide here.
/// Compiled once, for every key type.

#include <ktopk/float16.hpp>
#include <ktopk/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

/// X(T) for every key type: what tests share is compiled once, for all of them.
#define KTOPK_TESTS_FOR_EACH_KEY_TYPE(X) \
  X(std::int8_t)                         \
  X(std::uint8_t)                        \
  X(std::int16_t)                        \
  X(std::uint16_t)                       \
  X(::ktopk::float16)                    \
  X(::ktopk::bfloat16)                   \
  X(std::int32_t)                        \
  X(std::uint32_t)                       \
  X(float)                               \
  X(std::int64_t)                        \
  X(std::uint64_t)                       \
  X(double)

namespace ktopk::testing {

template <class T>
inline constexpr bool is_float_key =
    std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// The number that a 16-bit pattern stands for: one sign bit, then exponent, then fraction.
inline float decode16(std::uint16_t bits, int exponent_bits) {
  int const fraction_bits = 15 - exponent_bits;
  int const bias = (1 << (exponent_bits - 1)) - 1;
  int const exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  int const fraction = bits & ((1 << fraction_bits) - 1);
  float const sign = (bits >> 15) != 0 ? -1.0F : 1.0F;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(static_cast<float>(fraction), 1 - bias - fraction_bits);
  return sign * std::ldexp(static_cast<float>(fraction + (1 << fraction_bits)),
                           exponent - bias - fraction_bits);
}

/// A key as a C++ number with the same order.
template <class T>
auto number(T key) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    std::uint16_t bits;
    std::memcpy(&bits, &key, sizeof bits);
    return decode16(bits, std::is_same_v<T, float16> ? 5 : 8);
  } else {
    return key;
  }
}

template <class Number>
bool is_nan(Number x) {
  if constexpr (std::is_floating_point_v<Number>)
    return x != x;
  else
    return false;
}

/// Whether a is the greater number.
template <class Number>
bool is_greater(Number a, Number b, By by) {
  if constexpr (std::is_signed_v<Number>) {
    if (by == By::magnitude && std::is_floating_point_v<Number>) return std::abs(a) > std::abs(b);
    // Of the least integer the magnitude is no number of its type, but its negative always is.
    if (by == By::magnitude) return (a > 0 ? -a : a) < (b > 0 ? -b : b);
  }
  return a > b;
}

/// Whether a is wanted before b, whatever their positions; NaNs are equal to each other and stand above or below all else.
template <class Number>
bool is_better(Number a, Number b, Options const& options) {
  bool const largest = options.order == Order::largest;
  if (is_nan(a) || is_nan(b)) {
    bool const nan_first = options.nan != NaN::skip && (options.nan == NaN::greatest) == largest;
    return is_nan(a) != is_nan(b) && is_nan(a) == nan_first;
  }
  return largest ? is_greater(a, b, options.by) : is_greater(b, a, options.by);
}

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// The key that pads a short row.
template <class T>
T worst_key(Options const& options) {
  Order const order = options.order;
  if (options.by == By::magnitude && order == Order::largest) return T{};
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
    if (options.by == By::magnitude) return std::numeric_limits<T>::lowest();
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    std::uint16_t const infinity = std::is_same_v<T, float16> ? 0x7c00 : 0x7f80;
    return T::from_bits(order == Order::largest ? static_cast<std::uint16_t>(infinity | 0x8000)
                                                : infinity);
  } else if constexpr (std::is_floating_point_v<T>) {
    auto const infinity = std::numeric_limits<T>::infinity();
    return order == Order::largest ? -infinity : infinity;
  } else {
    return order == Order::largest ? std::numeric_limits<T>::lowest()
                                   : std::numeric_limits<T>::max();
  }
}

/// Rows of keys, one behind the other, and how many keys are wanted of each.
template <class T>
struct Question {
  std::vector<T> keys;
  std::vector<std::int64_t> begins;  ///< rows + 1 offsets into keys
  std::vector<std::int64_t> ks;      ///< one per row
  std::int64_t width = 0;            ///< places per row in the output

  std::int64_t rows() const { return static_cast<std::int64_t>(begins.size()) - 1; }
  std::int64_t length(std::int64_t row) const { return begins[row + 1] - begins[row]; }
  T const* row(std::int64_t row) const { return keys.data() + begins[row]; }
  std::int64_t count(std::int64_t row) const {
    return std::clamp<std::int64_t>(ks[row], 0, std::min(width, length(row)));
  }
};

template <class T>
Question<T> uniform_question(std::vector<T> keys, std::int64_t rows, std::int64_t n,
                             std::int64_t k) {
  Question<T> question{std::move(keys), {}, std::vector<std::int64_t>(rows, k), k};
  for (std::int64_t row = 0; row <= rows; ++row) question.begins.push_back(row * n);
  return question;
}

/// rows x width slots, row by row; an output that was not requested is empty. The index -1 marks padding.
template <class T>
struct Answer {
  std::vector<T> values;
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> counts;
};

/// Positions of the k best keys of a row, best first, equal keys in the order of the tie rule (any: lowest first).
template <class T>
std::vector<std::int64_t> best_positions(T const* keys, std::int64_t n, std::int64_t k,
                                         Options const& options);

/// The answer that the contract defines for a tie rule and sorted output.
template <class T>
Answer<T> solve(Question<T> const& question, Options const& options);

/// What is wrong with an answer, in words; empty when nothing is. `truth` is solve() of the same question.
/// Sorted::no is checked as a set, Ties::any by ranks.
template <class T>
std::string check(Question<T> const& question, Answer<T> const& truth, Answer<T> const& answer,
                  Options const& options);

/// All ways to order keys by rank.
inline std::vector<Options> orders() {
  std::vector<Options> all;
  for (Order order : {Order::largest, Order::smallest})
    for (NaN nan : {NaN::greatest, NaN::least}) all.push_back({.order = order, .nan = nan});
  return all;
}

/// The same for a key type: floating-point keys also by magnitude, and where NaN is skipped.
template <class T>
std::vector<Options> orders_of() {
  auto all = orders();
  if (!is_float_key<T>) return all;
  for (Order order : {Order::largest, Order::smallest}) {
    all.push_back({.order = order, .nan = NaN::skip});
    for (NaN nan : {NaN::greatest, NaN::least})
      all.push_back({.order = order, .nan = nan, .by = By::magnitude});
  }
  return all;
}

}  // namespace ktopk::testing
