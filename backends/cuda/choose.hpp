// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include <ktopk/core/problem.hpp>
#include <ktopk/options.hpp>

#include "one_pass/layouts.hpp"

// The choice among the tuned implementations, as data: the first line that fits the shape and whose algorithm serves it
// counts. If there is none, the portable choice does.

namespace ktopk::detail::cuda {

enum class Rows { any, uniform, ragged };
enum class Keys { any, packed, apart };

/// A set of shapes, the algorithm that is fastest for them, and the measurement.
struct ChoiceLine {
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

  Algorithm algorithm;
  std::int64_t least_n = 0, most_n = all;  ///< keys of a row; the mean if rows are ragged
  std::int64_t least_rows = 0, most_rows = all;
  std::int64_t least_k = 0, most_k = all;
  std::int64_t least_n_per_k = 0;
  Rows rows = Rows::any;
  Keys keys = Keys::any;
  char const* measured;  ///< the file in perf/results, or why there is none

  constexpr bool fits(Shape const& shape) const {
    std::int64_t const n = shape.ragged && shape.rows > 0 ? shape.n / shape.rows : shape.n;
    bool const rows_fit = rows == Rows::any || shape.ragged == (rows == Rows::ragged);
    bool const keys_fit = keys == Keys::any || shape.packed == (keys == Keys::packed);
    return rows_fit && keys_fit && least_n <= n && n <= most_n && least_rows <= shape.rows &&
           shape.rows <= most_rows && least_k <= shape.k && shape.k <= most_k &&
           (least_n_per_k == 0 || shape.k <= n / least_n_per_k);
  }
};

/// The length from which on all blocks of the device share a row, if there are few rows.
inline constexpr std::int64_t long_row = 1 << 20;

inline constexpr ChoiceLine choice[] = {
    {.algorithm = Algorithm::one_pass,
     .least_n = 2049,
     .most_n = 4096,
     .least_rows = 1024,
     .most_k = 128,
     .least_n_per_k = 32,
     .rows = Rows::uniform,
     .keys = Keys::apart,
     .measured = "h200-layout-left.csv"},
    {.algorithm = Algorithm::one_pass,
     .least_n = 2049,
     .most_n = 4096,
     .most_rows = 256,
     .rows = Rows::uniform,
     .keys = Keys::packed,
     .measured = "h200-cliffs.csv"},
    {.algorithm = Algorithm::one_pass,
     .most_n = 2048,
     .least_rows = 1,
     .most_rows = 512,
     .rows = Rows::ragged,
     .measured = "h200-cliffs-tried.csv"},
    {.algorithm = Algorithm::bisection,
     .measured = "h100-bisection.csv, h200-targets.csv, h100-ragged.csv"},
    {.algorithm = Algorithm::radix,
     .least_n = 1 << 17,
     .most_n = long_row - 1,
     .most_rows = 1,
     .least_k = 4608,
     .least_n_per_k = 16,
     .rows = Rows::uniform,
     .keys = Keys::packed,
     .measured = "h100-radix-device.csv"},
    {.algorithm = Algorithm::one_pass,
     .least_n = 257,
     .most_n = long_row - 1,
     .rows = Rows::uniform,
     .measured = "h100-few-rows.csv, h100-device-rows.csv, h100-warp-rows.csv, h100-batches.csv, "
                 "h100-batches-left.csv"},
    {.algorithm = Algorithm::one_pass,
     .least_n = long_row,
     .least_rows = 8,
     .rows = Rows::uniform,
     .measured = "h100-batches.csv"},
    {.algorithm = Algorithm::one_pass,
     .least_n = long_row,
     .most_rows = 7,
     .most_k = 1 << 18,
     .least_n_per_k = 512,
     .rows = Rows::uniform,
     .keys = Keys::packed,
     .measured = "h100-device-rows.csv, h200-many-winners.csv, h200-targets.csv"},
    {.algorithm = Algorithm::one_pass,
     .least_n = 512,
     .most_n = long_row / 2,
     .least_n_per_k = 1,
     .rows = Rows::ragged,
     .measured = "h100-ragged.csv"},
    {.algorithm = Algorithm::radix,
     .least_n = 8193,
     .measured = "h100-radix.csv, h200-many-winners.csv"},
};

/// \param serves  whether the tuned implementation of an algorithm supports the shape
template <class Serves>
constexpr std::optional<Algorithm> choose(Shape const& shape, Serves const& serves) {
  if (is_for_portable_one_pass(shape)) return std::nullopt;
  for (ChoiceLine const& line : choice)
    if (line.fits(shape) && serves(line.algorithm)) return line.algorithm;
  return std::nullopt;
}

}  // namespace ktopk::detail::cuda
