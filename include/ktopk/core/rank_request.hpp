// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ktopk/core/integer_array.hpp>
#include <ktopk/core/macros.hpp>
#include <ktopk/core/ordered_bits.hpp>
#include <ktopk/core/rows.hpp>
#include <ktopk/float16.hpp>
#include <ktopk/problem.hpp>

// What order statistics are asked for, and where they go. Needs no Kokkos.

namespace ktopk {

/// What a quantile is whose rank q (n - 1) lies between two keys: the lower or the higher one, the nearest (if both are
/// as near, the one of even rank), the point between them that the rank says, or the middle. As in NumPy.
enum class Interpolation { lower, higher, nearest, linear, midpoint };

}  // namespace ktopk

namespace ktopk::detail {

/// How the bits of a number are read.
enum class NumberKind { unsigned_integer, signed_integer, float16, bfloat16, floating };

template <class T>
constexpr NumberKind number_kind() {
  using Traits = KeyTraits<T>;
  if constexpr (Traits::kind == KeyKind::unsigned_integer) return NumberKind::unsigned_integer;
  if constexpr (Traits::kind == KeyKind::signed_integer) return NumberKind::signed_integer;
  if constexpr (sizeof(T) > 2) return NumberKind::floating;
  return Traits::infinity == KeyTraits<bfloat16>::infinity ? NumberKind::bfloat16
                                                           : NumberKind::float16;
}

/// A key as a number.
template <class Bits>
KTOPK_FUNCTION double number_of(Bits bits, NumberKind kind) {
  if (kind == NumberKind::unsigned_integer) return static_cast<double>(bits);
  if (kind == NumberKind::signed_integer)
    return static_cast<double>(static_cast<std::make_signed_t<Bits>>(bits));
  if constexpr (sizeof(Bits) == 2)
    return kind == NumberKind::float16 ? half_bits_to_float(bits) : bfloat_bits_to_float(bits);
  if constexpr (sizeof(Bits) == 4) return std::bit_cast<float>(bits);
  if constexpr (sizeof(Bits) == 8) return std::bit_cast<double>(bits);
  return 0;
}

/// The most ranks that are found together.
inline constexpr int most_ranks = 16;

/// Which keys of each row are asked for: by a k that counts from 1, by ranks that count from 0, or by parts of the row.
/// What the host knows goes along with a kernel; else it is read on the device.
struct RankRequest {
  enum class Kind { kth, ranks, quantiles };
  Kind kind = Kind::kth;
  Interpolation interpolation = Interpolation::linear;
  bool known = true;      // by the host
  IntegerArray integers;  // else the k of each row, or ranks, the same for all rows
  double const* parts = nullptr;
  std::int64_t part_step = 1;
  std::int64_t given[most_ranks] = {};  // where known, those that are found together
  double given_parts[most_ranks] = {};

  KTOPK_FUNCTION bool is_between() const {
    return interpolation == Interpolation::linear || interpolation == Interpolation::midpoint;
  }
  /// How many keys make a value.
  KTOPK_FUNCTION int keys_of_value() const {
    return kind == Kind::quantiles && is_between() ? 2 : 1;
  }
  /// How many values are found together.
  KTOPK_FUNCTION int most_values() const { return most_ranks / keys_of_value(); }

  KTOPK_FUNCTION double part(std::int64_t first, int value) const {
    return known ? given_parts[value] : parts[(first + value) * part_step];
  }
  /// Which key is asked for, counted from 1 for the best; 0 if there is none.
  /// \param first  the first value of those that are found together
  /// \param key    among the keys of these
  KTOPK_FUNCTION std::int64_t nth(std::int64_t row, std::int64_t first, int key,
                                  std::int64_t keys_in_row) const {
    std::int64_t nth = 0;
    int const each = keys_of_value(), value = key / each;
    if (kind == Kind::kth) {
      nth = known ? given[0] : integers[row];
    } else if (kind == Kind::ranks) {
      nth = 1 + (known ? given[value] : integers[first + value]);
    } else {
      double const q = part(first, value);
      if (!(q >= 0 && q <= 1)) return 0;
      nth = 1 + static_cast<std::int64_t>(rounded(place_of(q, keys_in_row), key % each));
    }
    return nth >= 1 && nth <= keys_in_row ? nth : 0;
  }
  /// Where between its two keys a quantile lies.
  KTOPK_FUNCTION double weight(std::int64_t first, int value, std::int64_t keys_in_row) const {
    if (interpolation == Interpolation::midpoint) return 0.5;
    double const place = place_of(part(first, value), keys_in_row);
    return place - std::floor(place);
  }

 private:
  /// By fma, so that no compiler fuses the product with what follows: every backend is to round alike.
  KTOPK_FUNCTION static double place_of(double part, std::int64_t keys_in_row) {
    return std::fma(part, static_cast<double>(keys_in_row - 1), 0.0);
  }
  KTOPK_FUNCTION double rounded(double place, int second) const {
    switch (interpolation) {
      case Interpolation::higher: return std::ceil(place);
      case Interpolation::nearest: return std::rint(place);
      case Interpolation::lower: return std::floor(place);
      default: return second != 0 ? std::ceil(place) : std::floor(place);
    }
  }
};

/// Where the found values go, and of what type they are. All strides count elements.
struct RankOutput {
  void* values = nullptr;
  std::int64_t row_stride = 0, step = 1;
  bool as_keys = true;  // the values are keys; else numbers of 4 or 8 bytes, or of 2 as keys are
  int bytes = 0;
  NumberKind kind = NumberKind::floating;  // of the keys
};

/// Order statistics of rows, without Views.
template <Rows R>
struct RankCall {
  char const* function;
  Shape shape;  // k is how many values are asked for of each row
  R rows;
  OrderedBitsMap<typename R::Bits> rank;
  typename R::Bits worst;  // what takes the place of a key that a row does not have
  bool skips_nan;
  RankRequest request;
  RankOutput out;
  // Read by the host during the call:
  IntegerArray host_wanted;  // the k of each row, where only the host can read them
  IntegerArray host_ranks;
  double const* host_parts = nullptr;
  std::int64_t host_step = 1;

  /// The request for some of the values, beginning with `first`.
  RankRequest request_from(std::int64_t first) const {
    RankRequest part = request;
    for (std::int64_t v = 0; v < part.most_values() && first + v < shape.k; ++v) {
      if (host_ranks) part.given[v] = host_ranks[first + v];
      if (host_parts != nullptr) part.given_parts[v] = host_parts[(first + v) * host_step];
    }
    return part;
  }
};

}  // namespace ktopk::detail
