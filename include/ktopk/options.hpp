// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <optional>
#include <string_view>

/// \file
/// The options of a selection. Needs no Kokkos.

namespace ktopk {

/// Whether the largest or the smallest keys are selected.
enum class Order { largest, smallest };

/// `yes`: the best key comes first. `no`: the k best keys come in any order, which is cheaper for large k.
enum class Sorted { no, yes };

/// Which of equal keys are selected, and in which order they come when the output is sorted.
/// `any` leaves that to the algorithm, which may choose differently from run to run.
enum class Ties { any, lowest_index, highest_index };

/// Where NaN stands among the keys. All NaNs are equal, whatever their sign and payload.
/// `greatest` is the order of NumPy and PyTorch: for Order::largest NaNs come first. For `skip` they are no keys: a row
/// that has fewer than k others is filled as a short row is, and counts say how many were selected.
enum class NaN { greatest, least, skip };

/// What is compared: the keys, or their absolute values, of which the largest is the best for Order::largest. A selected
/// key keeps its sign; a key and its negative are equal. The magnitude of the least signed integer is larger than that of
/// all others.
enum class By { value, magnitude };

/// What becomes of rows of one length that have fewer keys than k: the call is refused, or they are filled as short rows
/// of ragged() are.
enum class ShortRows { refuse, fill };

/// The selection algorithms. `automatic` picks one from the shape, the options and the device.
/// Radix runs in place of an algorithm that this build lacks or that does not support the shape.
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
  By by = By::value;
  ShortRows short_rows = ShortRows::refuse;
  Algorithm algorithm = Algorithm::automatic;
  /// For Algorithm::bisection alone: it stops after so many steps. Then it selects the keys above the interval that
  /// holds the threshold, and as many of the interval as are still wanted, in the order of positions. The result is
  /// approximate, so bisection must be asked for by name; 0 is exact. If another algorithm runs, the result is exact.
  /// RTop-K's table 2 states which part of the true k best its Algorithm 2 finds, for normal keys and n = 256;
  /// Algorithm 2 takes what is still wanted from all keys that reach the interval. Tests found that this library
  /// finds no less, but for one percentage point:
  /// 2 steps: 46, 38, 52, 70, 71 % for k = 16, 32, 64, 96, 128; 4 steps: 68, 74, 81, 84, 87 %;
  /// 6 steps: 82, 88, 92, 94, 95 %; 8 steps: 84, 90, 94, 96, 97 %.
  int max_iterations = 0;
  /// For Algorithm::bisection alone: it stops when the interval that holds the threshold is no wider than this part
  /// of the row's best key, and selects as above. The result is approximate; 0 is exact.
  double epsilon = 0;
  /// For Algorithm::delegate alone: the algorithm that selects among the delegates and among the candidates. It is
  /// radix, bucket or bitonic; automatic is radix, or what a tuned implementation prefers. Bitonic supports k up to
  /// 256; radix takes its place for a larger k. The choice changes workspace_bytes, never the result.
  Algorithm inner = Algorithm::automatic;
  /// For Algorithm::delegate alone: the part of the true k best that it is expected to find where keys come in random
  /// order, above 0 and at most 1. Below 1 the result may be approximate, and is the same in every run and on every
  /// backend: see recall_of in <ktopk/recall.hpp>. If another algorithm runs, the result is exact; `automatic` takes
  /// none that is not.
  double recall = 1;
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

/// The inverse of name(Algorithm); empty if no algorithm has this name.
constexpr std::optional<Algorithm> algorithm_from_name(std::string_view text) {
  for (std::size_t i = 0; i < detail::algorithm_names.size(); ++i)
    if (text == detail::algorithm_names[i]) return static_cast<Algorithm>(i);
  return std::nullopt;
}

namespace detail {

/// Whether bisection may not stop early: then all algorithms give the same answer.
constexpr bool is_exact(Options const& options) {
  return options.max_iterations == 0 && options.epsilon == 0;
}

}  // namespace detail

}  // namespace ktopk
