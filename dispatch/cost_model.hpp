// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <ktopk/core/backend.hpp>

// What a selection should take on a machine, from figures that were measured there: passes over the bytes of the keys,
// launches, and the work of each row, key and selected key. Pure functions.
// After section 7 of Shanbhag et al. (SIGMOD 2018) and equation 6 of Dr. Top-k (SC 2021); see perf/notebook/cost_model.md.

namespace ktopk::detail {

/// What an algorithm adds to the reading of its keys. Times are those of one worker.
struct WorkFigures {
  double row_us = 0;
  double key_ns = 0;
  double selected_ns = 0;
};

struct AlgorithmFigures {
  WorkFigures whole;   ///< rows that one worker selects from
  WorkFigures shared;  ///< rows that several workers share
};

/// From how many bytes the rates of reading were measured: between two of them the rate is interpolated.
inline constexpr std::array<double, 4> measured_bytes{1 << 18, 1 << 21, 1 << 24, 1 << 27};

/// All that was measured of the implementations of an execution space.
struct Figures {
  double call_us = 0;    ///< a call, whatever the shape
  double launch_us = 0;  ///< a kernel without work on all workers
  std::array<double, measured_bytes.size()> read_GB_per_s{};  ///< by all workers together
  AlgorithmFigures one_pass, heap, bisection, radix;
};

using MemberOfFigures = AlgorithmFigures Figures::*;

/// Where the figures of an algorithm are, of one that has some.
MemberOfFigures figures_of(Algorithm algorithm);

/// The algorithms that are chosen among: of tuned implementations for hosts one_pass, heap and radix, of others
/// one_pass, bisection and radix.
std::array<Algorithm, 3> calibrated_algorithms(bool tuned_for_hosts);

/// A figure by its name: "read_2^18_GB_per_s", "one_pass.shared.key_ns".
using NamedFigure = std::pair<std::string, double*>;

/// The figures that the choice among those algorithms needs.
std::vector<NamedFigure> named_figures(Figures& figures, bool tuned_for_hosts);

/// How a shape is shared out. A worker is a thread of a host, or 1024 of a device.
struct Shares {
  double workers;  ///< of the device
  double parts;    ///< of each row
  double busy;     ///< workers that have something to do
};
Shares shares_of(Device const& device, Shape const& shape);

/// What an algorithm does for a shape, in the units of its figures: the predicted time is the sum over their products.
struct Effort {
  bool is_shared;  ///< the figures of shared rows hold
  double launches;
  double read_GB;   ///< as all workers would read it in the same time
  double bytes;     ///< of all keys; they determine from which cache or memory these are read
  double rows;      ///< one behind the other
  double keys;      ///< of one worker
  double selected;  ///< of one worker, weighted by what it takes to find one
};
Effort effort_of(Algorithm algorithm, Device const& device, Shape const& shape);

/// The part of the prediction that is the same for all algorithms of such an effort: call, launches and reads.
double machine_us(Figures const& figures, Effort const& effort);

/// \param algorithm  one that the figures have
double predicted_us(Algorithm algorithm, Device const& device, Shape const& shape,
                    Figures const& figures);

/// What is asked of each row.
enum class QuestionKind { top_k, kth, ranks, count, reaching };

/// How many keys of all rows the portable kernels read, or make by a functor; of masked keys, whose mask they ask. What
/// they read again from their workspace is not counted.
/// \param algorithm  of top_k, one_pass or radix, for a row of 2048 keys or more
/// \param shape      of ranks and quantiles its k is how many are asked for; of rows of 2^20 keys and more, far apart
/// \param found      of reaching, how many keys of a row reach the threshold
double keys_read(QuestionKind question, Algorithm algorithm, Shape const& shape, double found = 0);

}  // namespace ktopk::detail
