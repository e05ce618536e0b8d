// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <optional>
#include <string_view>

/// \file
/// What a caller may ask for. Needs no Kokkos.

namespace ktopk {

/// Which end of the order is wanted.
enum class Order { largest, smallest };

/// `yes`: the best key comes first. `no`: the k best in any order, which is cheaper for large k.
enum class Sorted { no, yes };

/// Which of equal keys are taken, and in which order they stand when the output is sorted.
/// `any` lets the algorithm choose, and may choose differently from run to run.
enum class Ties { any, lowest_index, highest_index };

/// Where NaN stands among the keys. All NaNs are equal in rank, whatever their sign and payload.
/// `greatest` is the order of NumPy and PyTorch: for Order::largest NaNs come first.
enum class NaN { greatest, least };

/// The selection algorithms. `automatic` picks one from the shape, the options and the device.
/// An algorithm that this build does not hold, or that does not serve a shape, gives way to radix.
enum class Algorithm {
  automatic,
  one_pass,
  radix,
  bitonic,
  heap,
  bucket,
  sample,
  quick,
  sort,
  bisection,
  queue,
  delegate
};

/// How to select. The default is deterministic: the same bits on every backend and in every run.
struct Options {
  Order order = Order::largest;
  Sorted sorted = Sorted::yes;
  Ties ties = Ties::lowest_index;
  NaN nan = NaN::greatest;
  Algorithm algorithm = Algorithm::automatic;
  /// For Algorithm::bisection alone: stop after so many steps and take what is above the interval that
  /// then holds the threshold, filled up from the interval in the order of positions. Approximate, and so
  /// asked for by name; 0 is exact. Where another algorithm serves, the answer is exact.
  /// For normal keys and n = 256, RTop-K's table 2 states which part of the true winners Algorithm 2,
  /// which fills up from all keys that reach the interval, finds; this library was tested to find
  /// no less but for one percentage point:
  /// 2 steps: 46, 38, 52, 70, 71 % for k = 16, 32, 64, 96, 128; 4 steps: 68, 74, 81, 84, 87 %;
  /// 6 steps: 82, 88, 92, 94, 95 %; 8 steps: 84, 90, 94, 96, 97 %.
  int max_iterations = 0;
  /// For Algorithm::bisection alone: stop when the interval that holds the threshold is no wider than this
  /// part of the row's best key, and fill up as above. Approximate; 0 is exact.
  double epsilon = 0;
  /// For Algorithm::delegate alone: what selects among the delegates and among the candidates, one of radix,
  /// bucket and bitonic; automatic is radix, or what a tuned implementation prefers. Bitonic serves k up to 256,
  /// radix a larger one. It changes workspace_bytes, never the answer.
  Algorithm inner = Algorithm::automatic;
};

namespace detail {
inline constexpr std::array<char const*, 12> algorithm_names{
    "automatic", "one_pass", "radix", "bitonic",   "heap",  "bucket",
    "sample",    "quick",    "sort",  "bisection", "queue", "delegate"};
}

/// The algorithm's name as it is written in code: `name(Algorithm::one_pass)` is "one_pass".
constexpr char const* name(Algorithm algorithm) {
  return detail::algorithm_names[static_cast<std::size_t>(algorithm)];
}

/// The inverse of name(Algorithm); empty where no algorithm is called so.
constexpr std::optional<Algorithm> algorithm_from_name(std::string_view text) {
  for (std::size_t i = 0; i < detail::algorithm_names.size(); ++i)
    if (text == detail::algorithm_names[i]) return static_cast<Algorithm>(i);
  return std::nullopt;
}

}  // namespace ktopk
