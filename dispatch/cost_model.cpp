// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cost_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <ktopk/core/one_pass_plan.hpp>
#include <ktopk/core/rank_request.hpp>
#include <ktopk/detail/instantiate.hpp>

namespace ktopk::detail {

KTOPK_INLINE MemberOfFigures figures_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_pass: return &Figures::one_pass;
    case Algorithm::heap: return &Figures::heap;
    case Algorithm::bisection: return &Figures::bisection;
    default: return &Figures::radix;
  }
}

KTOPK_INLINE std::array<Algorithm, 3> calibrated_algorithms(bool tuned_for_hosts) {
  return {Algorithm::one_pass, tuned_for_hosts ? Algorithm::heap : Algorithm::bisection,
          Algorithm::radix};
}

inline void add_named(std::vector<NamedFigure>& all, std::string const& of, WorkFigures& work) {
  all.emplace_back(of + ".row_us", &work.row_us);
  all.emplace_back(of + ".key_ns", &work.key_ns);
  all.emplace_back(of + ".selected_ns", &work.selected_ns);
}

KTOPK_INLINE std::vector<NamedFigure> named_figures(Figures& figures, bool tuned_for_hosts) {
  std::vector<NamedFigure> all{{"call_us", &figures.call_us}, {"launch_us", &figures.launch_us}};
  for (std::size_t i = 0; i < measured_bytes.size(); ++i)
    all.emplace_back("read_2^" + std::to_string(std::ilogb(measured_bytes[i])) + "_GB_per_s",
                     &figures.read_GB_per_s[i]);
  for (Algorithm const algorithm : calibrated_algorithms(tuned_for_hosts)) {
    AlgorithmFigures& of = figures.*figures_of(algorithm);
    add_named(all, std::string(name(algorithm)) + ".whole", of.whole);
    // The choice gives bisection short rows alone, which are never shared.
    if (algorithm != Algorithm::bisection)
      add_named(all, std::string(name(algorithm)) + ".shared", of.shared);
  }
  return all;
}

/// The keys of a row; the mean where rows are ragged.
inline double keys_in_row(Shape const& shape) {
  auto const keys = static_cast<double>(std::max<std::int64_t>(shape.keys(), 1));
  return keys / static_cast<double>(std::max<std::int64_t>(shape.rows, 1));
}

KTOPK_INLINE Shares shares_of(Device const& device, Shape const& shape) {
  constexpr double threads_of_team = 1024, keys_of_thread = 32768, keys_of_team = 16384;
  double const workers =
      std::max(1.0, device.host ? device.concurrency : device.concurrency / threads_of_team);
  auto const rows = static_cast<double>(std::max<std::int64_t>(shape.rows, 1));
  double const by_size = keys_in_row(shape) / (device.host ? keys_of_thread : keys_of_team);
  double const parts = std::max(1.0, std::floor(std::min(by_size, 4 * workers / rows)));
  return {workers, parts, std::min(workers, rows * parts)};
}

/// How many bits identify which k of n keys are selected, by a close bound.
inline double selection_bits(double n, double k) { return k * std::log2(2 * n / k); }

/// How many keys one_pass keeps: the k best, and those that its sample cannot distinguish from them.
inline double kept_keys(double n, double k) {
  auto const samples =
      static_cast<double>(sample_size(static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)));
  double const expected = k * samples / n;
  return std::min(n, (expected + 4 * std::sqrt(expected) + 6) * n / samples);
}

/// How many workers find the selected keys of all rows. On a device one of them ends one_pass for a row.
inline double workers_selecting(Algorithm algorithm, Device const& device, double rows,
                                Shares const& shares) {
  bool const by_row = algorithm == Algorithm::one_pass && !device.host;
  return by_row ? std::min(shares.workers, rows) : shares.busy;
}

/// What it takes to find the selected keys of a row.
inline double selection_effort(Algorithm algorithm, double n, double k, double parts) {
  k = std::clamp(k, 1.0, n);
  if (algorithm == Algorithm::one_pass && parts > 1) return kept_keys(n, k);
  if (algorithm != Algorithm::heap) return selection_bits(n, k);
  double const of_part = std::max(k, n / parts);
  return parts * selection_bits(of_part, k) * std::log2(2 * k);
}

/// How many kernels of a host select from rows that are shared. On a device they follow each other at little cost, which
/// is part of what a row takes.
inline double launches_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::one_pass: return 5;
    case Algorithm::heap: return 2;
    case Algorithm::bisection: return 1;
    default: return 4;
  }
}

KTOPK_INLINE Effort effort_of(Algorithm algorithm, Device const& device, Shape const& shape) {
  Shares const shares = shares_of(device, shape);
  auto const [workers, parts, busy] = shares;
  double const n = keys_in_row(shape);
  double const rows = std::max(1.0, static_cast<double>(shape.rows)), keys = n * rows;
  double const passes = algorithm == Algorithm::radix ? 3 : 1;
  bool const is_shared = parts > 1, wakes_others = !device.host || busy > 1;
  Effort effort;
  effort.is_shared = is_shared;
  effort.launches = !wakes_others ? 0 : is_shared && device.host ? launches_of(algorithm) : 1;
  effort.bytes = keys * shape.key_bytes;
  effort.read_GB = 1e-9 * passes * effort.bytes * (device.host ? workers / busy : 1);
  effort.rows = std::max(1.0, rows * parts / workers);
  effort.keys = keys / busy;
  effort.selected = rows * selection_effort(algorithm, n, static_cast<double>(shape.k), parts) /
                    workers_selecting(algorithm, device, rows, shares);
  return effort;
}

/// The rate at which so many bytes are read: between two measured sizes it is a straight line on logarithmic axes.
inline double read_rate(Figures const& figures, double bytes) {
  auto const above = std::upper_bound(measured_bytes.begin(), measured_bytes.end(), bytes);
  auto const i = static_cast<std::size_t>(above - measured_bytes.begin());
  if (i == 0) return figures.read_GB_per_s.front();
  if (above == measured_bytes.end()) return figures.read_GB_per_s.back();
  double const share =
      std::log(bytes / measured_bytes[i - 1]) / std::log(measured_bytes[i] / measured_bytes[i - 1]);
  return std::pow(figures.read_GB_per_s[i - 1], 1 - share) *
         std::pow(figures.read_GB_per_s[i], share);
}

KTOPK_INLINE double machine_us(Figures const& figures, Effort const& effort) {
  return figures.call_us + effort.launches * figures.launch_us +
         1e6 * effort.read_GB / read_rate(figures, effort.bytes);
}

KTOPK_INLINE double predicted_us(Algorithm algorithm, Device const& device, Shape const& shape,
                                 Figures const& figures) {
  Effort const effort = effort_of(algorithm, device, shape);
  AlgorithmFigures const& of = figures.*figures_of(algorithm);
  WorkFigures const& work = effort.is_shared ? of.shared : of.whole;
  return machine_us(figures, effort) + effort.rows * work.row_us +
         1e-3 * (effort.keys * work.key_ns + effort.selected * work.selected_ns);
}

/// Samples that bracket the k-th of n keys, and the share of the keys in the bracket.
struct SampledBracket {
  double samples, inside;
  /// Where few keys are inside, one read moves them to a buffer, for a quarter of the keys; else another read does.
  double keys_read(double n) const { return samples + (inside < 0.8 / 4 ? n : 2 * n); }
};

/// As portable/ranks lays it.
inline SampledBracket bracket_of_ranks(Shape const& shape, double n, double k) {
  if (n < 8192 || shape.key_bytes < 4) return {0, 1};
  double samples = 2048;
  while (samples > n / 256) samples /= 2;
  double const part = k / n, margin = 3.5 * std::sqrt(part * (1 - part) * samples) + 1.5;
  return {samples, 2 * margin / samples};
}

/// As portable/radix lays it.
inline SampledBracket bracket_of_radix(Shape const& shape, double n, double k) {
  double const samples = std::floor(std::min(n / 64, shape.key_bytes < 8 ? 2048.0 : 1024.0));
  double const expected = k / n * samples;
  double const margin = 4 + 4 * std::sqrt(expected * (1 - k / n));
  return {samples, (std::min(expected, margin) + margin + 1) / samples};
}

/// The sample, the row, and once more the keys that are kept.
inline double one_pass_keys_read(double n, double k) {
  auto const samples = sample_size(static_cast<std::int64_t>(n), static_cast<std::int64_t>(k));
  return n + static_cast<double>(samples) + kept_keys(n, k);
}

/// Of each sixteen ranks the sample, a read that counts in all their brackets, and another that moves the keys of the digits in
/// which they lie.
inline double ranks_keys_read(Shape const& shape, double n) {
  auto const ranks = static_cast<double>(shape.k);
  if (ranks == 1) return bracket_of_ranks(shape, n, n / 2).keys_read(n);
  return std::ceil(ranks / most_ranks) * (bracket_of_ranks(shape, n, n / 2).samples + 2 * n);
}

KTOPK_INLINE double keys_read(QuestionKind question, Algorithm algorithm, Shape const& shape,
                              double found) {
  double const n = keys_in_row(shape), k = static_cast<double>(shape.k);
  auto const rows = static_cast<double>(shape.rows);
  switch (question) {
    case QuestionKind::top_k:
      if (algorithm == Algorithm::radix) return rows * bracket_of_radix(shape, n, k).keys_read(n);
      return rows * one_pass_keys_read(n, k);
    case QuestionKind::kth: return rows * bracket_of_ranks(shape, n, k).keys_read(n);
    case QuestionKind::ranks: return rows * ranks_keys_read(shape, n);
    case QuestionKind::count: return rows * n;
    default: return rows * (found <= n / 16 ? n + found : 2 * n + found);
  }
}

}  // namespace ktopk::detail
