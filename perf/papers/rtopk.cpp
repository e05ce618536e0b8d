// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "papers.hpp"

// RTop-K: how many halvings Algorithm 1 takes, and what is missed when it stops early. Both are run here
// on 32-bit floats, as printed and as the tables must have been made; the implementation bisection counts its own.

namespace ktopk::papers {
namespace {

constexpr int most_iterations = 32;

struct Vector {
  float const* begin;
  int size;
  int reaching(float threshold) const {
    int count = 0;
    for (int i = 0; i < size; ++i) count += begin[i] >= threshold ? 1 : 0;
    return count;
  }
  float least() const { return *std::min_element(begin, begin + size); }
  float most() const { return *std::max_element(begin, begin + size); }
};

/// What must exceed epsilon: thres - min as Algorithm 1 is printed, or max - min, which is twice that.
enum class Width { of_half, of_whole };

/// Algorithm 1: at which midpoint the loop ends. The first threshold, max(v) itself, is not counted: by
/// the first rows of Table 5 neither does the paper.
int exit_iteration(Vector v, int k, float precision, Width width) {
  float low = v.least(), high = v.most();
  float const epsilon = precision * high;
  float threshold = high;
  int iteration = 0;
  while ((width == Width::of_half || iteration == 0 ? threshold : high) - low > epsilon) {
    int const count = v.reaching(threshold);
    if (count == k) break;
    (count < k ? high : low) = threshold;
    float const middle = (low + high) / 2;
    if (middle == threshold) break;
    threshold = middle;
    ++iteration;
  }
  return std::min(iteration, most_iterations - 1);
}

/// How many of the rows exit at each iteration.
std::vector<double> exits(Rows<float> const& rows, int k, float precision,
                          Width width = Width::of_half) {
  auto const count = static_cast<std::int64_t>(rows.extent(0));
  int const size = static_cast<int>(rows.extent(1));
  Kokkos::View<int*, Kokkos::HostSpace> const at("ktopk::papers::exits", count);
  Kokkos::parallel_for(
      "ktopk::papers::exits", Kokkos::RangePolicy<Exec>(0, count),
      [=](std::int64_t r) { at(r) = exit_iteration({&rows(r, 0), size}, k, precision, width); });
  Exec().fence();
  std::vector<double> out(most_iterations);
  for (std::int64_t r = 0; r < count; ++r) out[static_cast<std::size_t>(at(r))] += 1;
  return out;
}

double average(std::vector<double> const& exits) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < exits.size(); ++i) {
    sum += static_cast<double>(i) * exits[i];
    all += exits[i];
  }
  return sum / all;
}

double cumulative(std::vector<double> const& exits, int iteration) {
  double const all = std::accumulate(exits.begin(), exits.end(), 0.0);
  return 100 * std::accumulate(exits.begin(), exits.begin() + iteration + 1, 0.0) / all;
}

Rows<float> normal_rows(std::int64_t rows, std::int64_t n) {
  return make_rows<float>(rows, n,
                          [](std::int64_t i) { return normal(1, static_cast<std::uint64_t>(i)); });
}

double implementation_iterations(Rows<float> const& rows, int k, double epsilon) {
  Options options;
  options.algorithm = Algorithm::bisection;
  options.epsilon = epsilon;
  return select(rows, k, options).counted[Count::iterations] / static_cast<double>(rows.extent(0));
}

void table_1(Report& report, Rows<float> const& rows) {
  report.section(
      "RTop-K, Table 1: iteration of exit in per cent of 10^5 rows, M = 256, epsilon = 1e-4, k = "
      "16 32 64 96 128");
  std::vector<int> const ks{16, 32, 64, 96, 128};
  std::vector<std::vector<double>> const paper{
      {4.13, 2.71, 1.96, 1.34, 1.58},      {8.98, 5.32, 3.52, 3.00, 2.81},
      {17.90, 10.64, 6.92, 5.84, 5.59},    {33.86, 21.40, 13.87, 11.72, 11.15},
      {54.43, 38.84, 27.12, 23.29, 22.11}, {72.38, 59.17, 46.64, 41.35, 39.93},
      {84.53, 76.00, 66.21, 61.48, 60.35}, {91.88, 86.81, 80.68, 77.37, 76.62},
      {95.81, 93.03, 89.79, 87.64, 87.18}, {97.89, 96.45, 94.70, 93.57, 93.31},
      {98.97, 98.21, 97.35, 96.70, 96.60}, {99.52, 99.12, 98.67, 98.34, 98.25},
      {99.76, 99.53, 99.34, 99.20, 99.17}, {100, 100, 100, 100, 100}};
  std::vector<std::vector<double>> all;
  for (int k : ks) all.push_back(exits(rows, k, 1e-4f, Width::of_whole));
  for (std::size_t line = 0; line < paper.size(); ++line) {
    std::vector<double> ours;
    for (auto const& each : all) ours.push_back(cumulative(each, static_cast<int>(line) + 3));
    report.compare(text("by iteration %zu", line + 3), paper[line], ours, 0.75);
  }
  std::vector<double> printed;
  for (int k : ks) printed.push_back(cumulative(exits(rows, k, 1e-4f), 15));
  report.compare("by iteration 15, Algorithm 1 as printed", paper[12], printed, 0.1, 2,
                 "the table fits max - min > epsilon, as the lines above, not thres - min");
  std::vector<double> ours, implied, implementation;
  for (std::size_t c = 0; c < ks.size(); ++c) {
    ours.push_back(average(all[c]));
    double rest = 3;  // nobody of note exits before the third
    for (auto const& line : paper) rest += 1 - line[c] / 100;
    implied.push_back(rest - cumulative(all[c], 1) / 100 - cumulative(all[c], 2) / 100);
    if (has_implementation(Algorithm::bisection))
      implementation.push_back(implementation_iterations(rows, ks[c], 1e-4));
  }
  report.compare("average exit, as printed", {7.60, 8.29, 8.95, 9.52, 9.60}, ours, 0.05, 2,
                 "the row contradicts the column above it, see the next line, and Table 5");
  report.compare("average exit, as the column implies", implied, ours, 0.05);
  if (!implementation.empty())
    report.compare(
        "average of the implementation bisection", implied, implementation, 0.5, 2,
        "the implementation ends a step sooner or later, where its interval of ranks does");
}

struct Early {
  double e1 = 0, e2 = 0, hit = 0;
};

/// Whether the loop is left when exactly k reach the threshold, min unmoved, as in Algorithm 1.
enum class AtK { goes_on, leaves };

/// Algorithm 2 against the truth. The errors are relative to the row's maximum: so they fit.
Early stop_early(Vector v, int k, int most_steps, AtK at_k, float* work) {
  float low = v.least(), high = v.most();
  for (int step = 0; step < most_steps; ++step) {
    float const threshold = (low + high) / 2;
    int const count = v.reaching(threshold);
    if (count == k && at_k == AtK::leaves) break;
    (count < k ? high : low) = threshold;
  }
  std::copy(v.begin, v.begin + v.size, work);
  std::nth_element(work, work + k - 1, work + v.size, std::greater<float>());
  float const kth = work[k - 1], best = v.most();
  float taken_most = low, taken_least = best;
  int taken = 0, hits = 0;
  for (int i = 0; i < v.size && taken < k; ++i) {
    if (v.begin[i] < low) continue;
    ++taken;
    hits += v.begin[i] >= kth ? 1 : 0;
    taken_most = std::max(taken_most, v.begin[i]);
    taken_least = std::min(taken_least, v.begin[i]);
  }
  return {100 * std::abs(taken_most - best) / best, 100 * std::abs(taken_least - kth) / best,
          100.0 * hits / k};
}

Early average_early(Rows<float> const& rows, int k, int steps, AtK at_k) {
  auto const count = static_cast<std::int64_t>(rows.extent(0));
  int const size = static_cast<int>(rows.extent(1));
  Rows<double> const each("ktopk::papers::early", count, 3);
  Kokkos::parallel_for("ktopk::papers::early", Kokkos::RangePolicy<Exec>(0, count),
                       [=](std::int64_t r) {
                         float work[256];
                         Early const early = stop_early({&rows(r, 0), size}, k, steps, at_k, work);
                         each(r, 0) = early.e1;
                         each(r, 1) = early.e2;
                         each(r, 2) = early.hit;
                       });
  auto const mean = [=](int c) {
    return parallel_sum(count, [=](std::int64_t r) { return each(r, c); }) /
           static_cast<double>(count);
  };
  return {mean(0), mean(1), mean(2)};
}

/// The implementation's hits: the number of its k keys that reach the true k-th.
double implementation_hits(Rows<float> const& rows, int k, int steps) {
  Options options;
  auto const truth = select(rows, k, options);
  options.algorithm = Algorithm::bisection;
  options.max_iterations = steps;
  auto const taken = select(rows, k, options);
  return parallel_sum(static_cast<std::int64_t>(rows.extent(0)),
                      [=](std::int64_t r) {
                        float const* const best = &truth.values(r, 0);
                        float const kth = *std::min_element(best, best + k);
                        return 100.0 * Vector{&taken.values(r, 0), k}.reaching(kth) / k;
                      }) /
         static_cast<double>(rows.extent(0));
}

void table_2(Report& report, Rows<float> const& rows) {
  report.section("RTop-K, Table 2: early stop on 10^5 rows, M = 256, k = 16 32 64 96 128");
  std::vector<int> const ks{16, 32, 64, 96, 128};
  struct Line {
    std::vector<double> e1, e2, hit;
  };
  std::vector<Line> const paper{{{12.6, 13.46, 7.12, 4.42, 4.6},
                                 {20.17, 30.68, 25.03, 17.80, 24.73},
                                 {45.85, 37.81, 51.78, 69.59, 70.93}},
                                {{8.01, 6.22, 4.44, 3.39, 2.78},
                                 {13.13, 13.19, 12.40, 12.94, 13.23},
                                 {54.29, 60.32, 69.04, 74.41, 79.33}},
                                {{4.93, 3.47, 2.47, 1.99, 1.6},
                                 {7.64, 7.05, 6.55, 6.82, 7.24},
                                 {68.35, 74.46, 80.51, 84.33, 87.34}},
                                {{3.52, 2.20, 1.47, 1.18, 0.97},
                                 {5.20, 4.31, 3.70, 3.91, 4.29},
                                 {77.36, 83.19, 87.88, 90.49, 92.34}},
                                {{2.90, 1.62, 0.99, 0.77, 0.62},
                                 {4.33, 3.17, 2.39, 2.57, 2.90},
                                 {81.57, 87.62, 91.83, 93.77, 95.03}},
                                {{2.67, 1.38, 0.79, 0.61, 0.47},
                                 {4.10, 2.79, 1.87, 2.00, 2.30},
                                 {83.17, 89.51, 93.68, 95.33, 96.35}},
                                {{2.61, 1.31, 0.71, 0.55, 0.41},
                                 {4.06, 2.69, 1.72, 1.82, 2.11},
                                 {83.68, 90.19, 94.35, 95.94, 96.86}}};
  std::vector<double> printed;
  for (std::size_t line = 0; line < paper.size(); ++line) {
    int const steps = static_cast<int>(line) + 2;
    Line ours;
    std::vector<double> implementation;
    for (int k : ks) {
      Early const early = average_early(rows, k, steps, AtK::leaves);
      ours.e1.push_back(early.e1);
      ours.e2.push_back(early.e2);
      ours.hit.push_back(early.hit);
      if (has_implementation(Algorithm::bisection))
        implementation.push_back(implementation_hits(rows, k, steps));
      if (steps == 8) printed.push_back(average_early(rows, k, steps, AtK::goes_on).hit);
    }
    report.compare(text("E1 %%, max_iter = %d", steps), paper[line].e1, ours.e1, 0.5);
    report.compare(text("E2 %%, max_iter = %d", steps), paper[line].e2, ours.e2, 0.5);
    report.compare(text("hit rate %%, max_iter = %d", steps), paper[line].hit, ours.hit, 0.75);
    if (!implementation.empty())
      report.line(text("hit rate %%, implementation bisection, %d", steps), row(paper[line].hit, 2),
                  row(implementation, 2),
                  std::equal(implementation.begin(), implementation.end(), paper[line].hit.begin(),
                             std::greater_equal<>())
                      ? "no worse"
                      : "worse for some k");
  }
  report.compare("hit rate %, max_iter = 8, Algorithm 2 as printed", paper.back().hit, printed,
                 0.75, 2, "the table fits a loop that is left at cnt = k without moving min");
}

/// Equation 4.
double expected_iterations(int n, int k) {
  double const pi = 3.141592653589793, quantile = normal_quantile(1 - static_cast<double>(k) / n);
  return std::log2(2.0 * n * std::sqrt(std::log(static_cast<double>(n)) / pi)) -
         quantile * quantile / (2 * std::log(2.0));
}

void table_5(Report& report) {
  report.section(
      "RTop-K, Table 5: average iteration of exit of 10^4 rows, epsilon = 0, and E(n) of equation "
      "4");
  struct Block {
    int n;
    std::vector<int> ks;
    std::vector<double> averages, expected;
  };
  std::vector<Block> const blocks{
      {256, {64, 128}, {8.72, 9}, {9.08, 9.41}},
      {1024, {64, 128, 256, 512}, {9.53, 10.31, 10.87, 11.24}, {9.87, 10.62, 11.24, 11.57}},
      {4096, {64, 128, 256, 512}, {10.07, 10.95, 11.73, 12.46}, {10.36, 11.2, 12, 12.75}},
      {8192, {64, 128, 256, 512}, {10.3, 11.14, 12.02, 12.8}, {10.54, 11.41, 12.26, 13.06}}};
  for (auto const& block : blocks) {
    auto const rows = normal_rows(10000, block.n);
    std::vector<double> averages, expected, implementation;
    for (int k : block.ks) {
      averages.push_back(average(exits(rows, k, 0)));
      expected.push_back(expected_iterations(block.n, k));
      if (has_implementation(Algorithm::bisection))
        implementation.push_back(implementation_iterations(rows, k, 0));
    }
    std::string const ks = block.n == 256 ? "k = 64 128" : "k = 64 .. 512";
    report.compare(text("average, M = %d, %s", block.n, ks.c_str()), block.averages, averages,
                   0.08);
    report.compare(text("E(n), M = %d, %s", block.n, ks.c_str()), block.expected, expected, 0.011);
    if (!implementation.empty())
      report.compare(text("implementation bisection, M = %d, %s", block.n, ks.c_str()),
                     block.averages, implementation, 0.5);
  }
}

}  // namespace

void rtopk(Report& report) {
  auto const rows = normal_rows(100000, 256);
  table_1(report, rows);
  table_2(report, rows);
  table_5(report);
}

}  // namespace ktopk::papers
