// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/float16.hpp>

#include "case.hpp"
#include "random.hpp"

/// The keys and the rows of a case, each a function of the case and its position.

namespace ktopk::fuzz {

/// The bits of a floating-point key near a number.
KTOPK_FUNCTION inline std::uint64_t from_double(KeyType type, double x) {
  if (type == KeyType::float64) return std::bit_cast<std::uint64_t>(x);
  auto const narrow = static_cast<float>(x);
  if (type == KeyType::float32) return std::bit_cast<std::uint32_t>(narrow);
  return type == KeyType::float16 ? float16(narrow).bits() : bfloat16(narrow).bits();
}

KTOPK_FUNCTION inline std::uint64_t whole_number(KeyType type, std::int64_t x) {
  if (is_float(type)) return from_double(type, static_cast<double>(x));
  return static_cast<std::uint64_t>(x) & all_bits(type);
}

/// Rises with x over the whole range of integers, or from -1 to 1.
KTOPK_FUNCTION inline std::uint64_t rising(KeyType type, std::uint64_t x) {
  if (is_float(type)) return from_double(type, static_cast<double>(x) * 0x1p-63 - 1);
  std::uint64_t const bits = x >> (64 - width_of(type));
  return is_signed(type) ? bits ^ sign_bit(type) : bits;
}

KTOPK_FUNCTION inline std::uint64_t special_float(KeyType type, std::uint64_t h) {
  std::uint64_t const sign = (h >> 63) != 0 ? sign_bit(type) : 0;
  std::uint64_t const fractions = (std::uint64_t{1} << fraction_bits(type)) - 1;
  std::uint64_t const infinity = infinity_bits(type);
  switch ((h >> 32) % 8) {
    case 0: return infinity | sign;
    case 1: return infinity | sign | (1 + h % fractions);  // a NaN of any payload
    case 2: return sign;
    case 3: return (h & fractions) | sign;
    case 4: return (infinity - 1) | sign;
    default: return h & all_bits(type);
  }
}

KTOPK_FUNCTION inline std::uint64_t special(KeyType type, std::uint64_t h) {
  if (is_float(type)) return special_float(type, h);
  std::uint64_t const near = h % 3;
  switch ((h >> 32) % 5) {
    case 0: return near;
    case 1: return all_bits(type) - near;
    case 2: return sign_bit(type) + near;
    case 3: return sign_bit(type) - 1 - near;
    default: return h & all_bits(type);
  }
}

/// A sign, then every power of two as often as the next.
KTOPK_FUNCTION inline std::uint64_t of_any_power(KeyType type, std::uint64_t h) {
  if (is_float(type)) return h & all_bits(type);
  std::uint64_t const magnitude = (h & all_bits(type)) >> ((h >> 58) % width_of(type));
  return magnitude ^ (is_signed(type) && (h >> 57) % 2 != 0 ? all_bits(type) : 0);
}

/// Position i of n.
KTOPK_FUNCTION inline std::uint64_t part(std::int64_t i, std::int64_t n) {
  return static_cast<std::uint64_t>(i) * (~std::uint64_t{0} / static_cast<std::uint64_t>(n));
}

/// The bits of key i in a row of n keys.
KTOPK_FUNCTION inline std::uint64_t key_bits(Case const& c, std::int64_t row, std::int64_t i) {
  KeyType const type = c.type;
  std::uint64_t const seed = mix(c.key_seed, static_cast<std::uint64_t>(row));
  std::uint64_t const h = mix(seed, static_cast<std::uint64_t>(i)), all = all_bits(type);
  std::uint64_t const half = all >> (width_of(type) / 2);
  switch (c.keys) {
    case Keys::sparse: return h & (h >> 7) & (h >> 17) & all;
    case Keys::few: return mix(c.key_seed, h % (2 + c.key_seed % 30)) & all;
    case Keys::equal: return mix(c.key_seed) & all;
    case Keys::ascending: return rising(type, part(i, c.n));
    case Keys::descending: return rising(type, part(c.n - 1 - i, c.n));
    case Keys::blocks: return rising(type, part(i % 97, 97));
    case Keys::exponents: return of_any_power(type, h);
    case Keys::small: return whole_number(type, static_cast<std::int64_t>(h % 100));
    case Keys::outliers: return rising(type, h % 500 == 0 ? h : (h >> 12) + (UINT64_C(5) << 61));
    case Keys::special: return special(type, h);
    case Keys::one_huge:
      return i == static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(c.n))
                 ? rising(type, ~UINT64_C(0xfffff))
                 : whole_number(type, static_cast<std::int64_t>(h % 16));
    case Keys::prefix: return ((c.key_seed & all) & ~half) | (h & half);
    case Keys::suffix: return ((h & all) & ~half) | (c.key_seed & half);
    default: return h & all;
  }
}

/// offsets(r) of ragged rows, for r up to the number of rows.
KTOPK_FUNCTION inline std::int64_t offset(Case const& c, std::int64_t r) {
  std::int64_t const even = c.rows == 0 ? 0 : c.n * r / c.rows,
                     mean = c.rows == 0 ? 0 : c.n / c.rows;
  std::uint64_t const h = mix(c.seed + 1, static_cast<std::uint64_t>(r));
  auto const within = [h](std::int64_t end) {
    return static_cast<std::int64_t>(h % static_cast<std::uint64_t>(end));
  };
  switch (c.kind_of_rows) {
    case Rows::jittered: return r == 0 || r == c.rows ? even : even + within(mean + 1);
    case Rows::skewed: {
      std::int64_t const x = c.rows == 0 ? 0 : (r << 16) / c.rows, square = (x * x) >> 16;
      return (c.n * ((square * square) >> 16)) >> 16;
    }
    case Rows::mostly_empty: return r == c.rows ? c.n : mean * (r - r % 13);
    case Rows::one_full: return r <= c.rows / 2 ? 0 : c.n;
    case Rows::all_empty: return c.n / 2;
    case Rows::beyond: return 3 * even - c.n;
    case Rows::descending: return c.n - even;
    case Rows::wild: return within(3 * c.n + 1) - c.n;
    default: return even;
  }
}

/// Where a row of a matrix begins and ends, as it is told: often beyond the columns.
KTOPK_FUNCTION inline std::int64_t begin_in_matrix(Case const& c, std::int64_t r) {
  std::uint64_t const h = mix(c.seed + 4, static_cast<std::uint64_t>(r));
  if (h % 4 != 0) return 0;
  return static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(c.n + 3)) - 2;
}
KTOPK_FUNCTION inline std::int64_t end_in_matrix(Case const& c, std::int64_t r) {
  std::uint64_t const h = mix(c.seed + 5, static_cast<std::uint64_t>(r));
  if (h % 8 == 0) return c.n + static_cast<std::int64_t>(h >> 40);
  return static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(c.n + 3)) - 2;
}

/// How many keys a row asks for.
KTOPK_FUNCTION inline std::int64_t wanted(Case const& c, std::int64_t r) {
  std::uint64_t const h = mix(c.seed + 2, static_cast<std::uint64_t>(r));
  if (h % 16 == 0) return -1 - static_cast<std::int64_t>(h >> 40);
  if (h % 16 == 1) return c.k + 1 + static_cast<std::int64_t>(h >> 40);
  return static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(c.k + 1));
}

/// Whether a mask leaves a key: of eight about `cut % 9`.
KTOPK_FUNCTION inline bool passes(std::uint64_t cut, std::int64_t row, std::int64_t i) {
  std::uint64_t const h = mix(cut + static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(i));
  return h % 8 < cut % 9;
}

/// The parts that a row is cut into, and where each begins.
KTOPK_FUNCTION inline std::int64_t part_count(Case const& c) {
  return 1 + static_cast<std::int64_t>(c.cut % 6);
}
KTOPK_FUNCTION inline std::int64_t begin_of_part(Case const& c, std::int64_t part) {
  std::int64_t const even = c.n * part / part_count(c), length = c.n / part_count(c);
  if (part == 0 || part == part_count(c)) return even;
  return even + static_cast<std::int64_t>(mix(c.cut, static_cast<std::uint64_t>(part)) %
                                          static_cast<std::uint64_t>(length + 1));
}

/// The rank that is asked for, the same for all rows unless each has its own k. A row may have fewer keys.
KTOPK_FUNCTION inline std::int64_t rank_asked(Case const& c, std::int64_t r, std::int64_t j) {
  std::uint64_t const of_row = c.ask == Ask::kth && c.on_device ? static_cast<std::uint64_t>(r) : 0;
  std::uint64_t const h = mix(mix(c.seed + 6, of_row), static_cast<std::uint64_t>(j));
  std::int64_t const mean = c.is_ragged() ? c.n / c.rows : c.n;
  std::int64_t const most = h % 4 == 0 || mean == 0 ? c.n : mean;
  return static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(most));
}

/// A quantile that is asked for, so that a product with a number of keys is exact.
KTOPK_FUNCTION inline double quantile_asked(Case const& c, std::int64_t j) {
  return static_cast<double>(mix(c.seed + 7, static_cast<std::uint64_t>(j)) % 1025) / 1024;
}
/// The rank of quantile j among so many keys.
KTOPK_FUNCTION inline std::int64_t rank_of_quantile(Case const& c, std::int64_t j,
                                                    std::int64_t keys) {
  double const place = quantile_asked(c, j) * static_cast<double>(keys - 1);
  auto const lower = static_cast<std::int64_t>(place);
  bool const is_next = !c.is_shared && static_cast<double>(lower) < place;
  std::int64_t const ascending = lower + (is_next ? 1 : 0);
  return c.options.order == Order::smallest ? ascending : keys - 1 - ascending;
}

/// A threshold or bound: mostly one of the keys.
KTOPK_FUNCTION inline std::uint64_t bound_bits(Case const& c, std::int64_t r, std::int64_t j) {
  std::uint64_t const of_row = c.is_shared ? 0 : static_cast<std::uint64_t>(r);
  std::uint64_t const h = mix(mix(c.key_seed + 8, of_row), static_cast<std::uint64_t>(j));
  std::int64_t const at = static_cast<std::int64_t>((h >> 8) % static_cast<std::uint64_t>(c.n));
  std::uint64_t const bits =
      h % 8 == 0 ? special(c.type, h)
                 : key_bits(c, c.is_ragged() ? 0 : static_cast<std::int64_t>(of_row), at);
  return c.skips_nan() && is_nan(c.type, bits) ? 0 : bits;
}

KTOPK_FUNCTION inline std::int64_t clipped(std::int64_t x, std::int64_t most) {
  return x < 0 ? 0 : x > most ? most : x;
}

/// Where a row begins among all keys, or in a row of a matrix, how many keys it has, and how many of them are selected.
struct Row {
  std::int64_t begin = 0, length = 0, selected = 0;
};

KTOPK_FUNCTION inline Row row_of(Case const& c, std::int64_t r) {
  Row row{r * c.n, c.n, 0};
  if (c.kind_of_rows != Rows::uniform) {
    row.begin = clipped(c.is_ragged() ? offset(c, r) : begin_in_matrix(c, r), c.n);
    std::int64_t const end = clipped(c.is_ragged() ? offset(c, r + 1) : end_in_matrix(c, r), c.n);
    row.length = end > row.begin ? end - row.begin : 0;
  }
  std::int64_t const asked = c.has_wanted() ? clipped(wanted(c, r), c.k) : c.k;
  row.selected = asked < row.length ? asked : row.length;
  return row;
}

}  // namespace ktopk::fuzz
